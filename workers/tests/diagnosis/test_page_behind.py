"""A largest picture among others: when it is one that waits for them, and when nobody can say so."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.finding import FindingId, Severity
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType, RowFlag
from workers.tests.diagnosis.page_sketch import MAIN, evidence_of, picture, sketch, told

BEHIND = FindingId.PAGE_LCP_BEHIND
TAGGED = {"initiator_url": f"https://{MAIN}/", "priority": "Low", "first_ms": 400}


def small(number: int, **changes: Any) -> Request:
    return picture(number, 310, 1_200, **(TAGGED | {"initiator_at": (1, 100 + number)} | changes))


def hero(**changes: Any) -> Request:
    return picture(20, 310, 1_200, **(TAGGED | {"initiator_at": (1, 300)} | changes))


def page(largest: Request, *ahead: Request) -> PageMeasurement:
    vitals = {"lcp_us": 1_220_000, "lcp_url": largest.url}
    return sketch(*(ahead or map(small, range(2, 11))), largest, fcp_ms=340, vitals=vitals)


def test_a_largest_picture_that_is_asked_for_among_others_that_are_named_ahead_is_told_of() -> None:
    """In the lab a repair gains 260 to 1,460 ms by nginx, Caddy, h2o and Apache; which of that nobody can tell."""
    found = told(page(hero()), BEHIND)
    assert found is not None
    assert (found.saving_us, found.severity) == (None, Severity.MEDIUM)
    assert found.rows == (20, *range(2, 11))
    evidence = evidence_of(found)
    assert (evidence["pictures_ahead"], evidence["ahead_bytes"], evidence["priority"]) == (9, 9 * 40_200, "Low")


@pytest.mark.parametrize(
    "changes",
    [
        # Chromium takes it for one of the first five large ones, or was told that it is urgent.
        {"priority": "Medium"},
        {"priority": "High"},
        {"priority": None},
        {"flags": (RowFlag.PRELOAD,)},
        # A style sheet or a script names it: there is no tag to be given a word.
        {"initiator_at": None},
        {"initiator_url": f"https://{MAIN}/a.css"},
        # Those stand behind it.
        {"initiator_at": (1, 50)},
        {"host": "pictures.example.org"},
    ],
)
def test_nothing_is_told_where_a_word_on_its_urgency_may_change_nothing(changes: dict[str, Any]) -> None:
    assert told(page(hero(**changes)), BEHIND) is None


@pytest.mark.parametrize("changes", [{"priority": "High"}, {"transferred_bytes": 400, "body_bytes": 300}])
def test_it_does_not_wait_for_what_is_urgent_or_small(changes: dict[str, Any]) -> None:
    assert told(page(hero(), *(small(number, **changes) for number in range(2, 11))), BEHIND) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type": ResourceType.SCRIPT},
        {"initiator_url": f"https://{MAIN}/a.css"},
        {"timing": picture(2, 320, 1_200, first_ms=400).timing},
    ],
)
def test_only_pictures_that_the_document_names_and_that_were_asked_for_no_later_are_ahead(
    changes: dict[str, Any],
) -> None:
    assert told(page(hero(), *(replace(small(number), **changes) for number in range(2, 11))), BEHIND) is None


def test_the_first_large_pictures_of_the_document_are_ahead_too() -> None:
    assert told(page(hero(), *(small(number, priority="Medium") for number in range(2, 11))), BEHIND) is not None


def test_what_came_later_than_the_picture_did_not_hold_it_up() -> None:
    later = [picture(n, 310, 2_000, **(TAGGED | {"initiator_at": (1, n), "first_ms": 1_201})) for n in range(2, 11)]
    assert told(page(hero(first_ms=1_180), *later), BEHIND) is None


def test_one_that_is_found_late_is_told_of_so_alone() -> None:
    late = picture(20, 700, 1_200, **(TAGGED | {"initiator_at": (1, 300), "first_ms": 800}))
    assert told(page(late), BEHIND) is None
