"""Which user timings of a page can be followed."""

from dataclasses import replace

import pytest

from backend.analysis.user_timings import KINDS, is_user_timing, label_of
from backend.sites.followed import MAX_FOLLOWED, MAX_TIMING_CHARS, followed_fault, timings_in
from backend.sites.models import MonitorKind
from backend.sites.monitor_settings import InvalidMonitorError, defaults, validate
from workers.measurement.messages import Kind
from workers.measurement.vitals import TimingKind, UserTiming

LONGEST = f"measure:{'n' * 100}"


def test_what_is_followed_is_named_by_what_it_is_and_by_its_name() -> None:
    assert tuple(TimingKind) == KINDS
    assert [timing for timing in ("mark:a", "mark:", "hero", "a:mark", ":a", "Mark:a") if is_user_timing(timing)] == [
        "mark:a"
    ]
    assert label_of("mark:a:b") == "mark a:b"


@pytest.mark.parametrize(
    "timings",
    [
        [],
        ["mark:hero-painted", "measure:hero-painted", "element:hero-painted"],
        [LONGEST],
        ["mark:\u05d0", "mark:<b>\"'&", "mark:100%s %(x)s", "mark:a__b", "mark:a:b"],
    ],
)
def test_any_name_that_a_page_can_tell_can_be_followed(timings: list[str]) -> None:
    assert followed_fault(timings) is None


@pytest.mark.parametrize(
    ("timings", "told"),
    [
        (["hero-painted"], "Write what it is and its name"),
        (["mark:"], "Write what it is and its name"),
        (["mark: a"], "must not begin or end with a space"),
        (["mark:a "], "must not begin or end with a space"),
        (["mark:a\nb"], "must be one line"),
        (["mark:a\u202eb"], "must be one line"),
        (["mark:a\0"], "must be one line"),
        ([LONGEST + "n"], "at most 100 characters"),
        (["mark:a", "mark:a"], "can be followed once"),
        ([f"mark:{number}" for number in range(MAX_FOLLOWED + 1)], "At most 5"),
    ],
)
def test_what_no_page_tells_is_not_followed(timings: list[str], told: str) -> None:
    assert told in (followed_fault(timings) or "")
    assert len(LONGEST) == MAX_TIMING_CHARS


@pytest.mark.parametrize("kind", [MonitorKind.PROBE, MonitorKind.PAIR])
def test_only_a_page_has_user_timings(kind: MonitorKind) -> None:
    settings = replace(defaults(Kind(kind.value), "https://shop.example/"), user_timings=("mark:a",))
    with pytest.raises(InvalidMonitorError) as caught:
        validate(settings)
    assert "loads no page" in caught.value.faults["user_timings"]


def test_a_mark_is_when_and_a_measure_is_how_long_and_the_first_of_a_name_counts() -> None:
    told = (
        UserTiming(kind=TimingKind.MARK, name="cart", at_us=5_000),
        UserTiming(kind=TimingKind.MEASURE, name="cart", at_us=1_000, duration_us=300),
        UserTiming(kind=TimingKind.MARK, name="cart", at_us=9_000),
    )
    assert timings_in(told) == {"mark:cart": 5_000, "measure:cart": 300}
