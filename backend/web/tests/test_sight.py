"""What would be noticed, in words."""

import json

import pytest
from django.test import Client

from backend.alerts.models import Trend
from backend.alerts.queries.sight import MonitorSight, Seen
from backend.cast import Member
from backend.web.sight import sight_of
from backend.web.tests.world import make_world


def seen(**changes: object) -> Seen:
    usual: dict[str, object] = {"metric": "ttfb_ms", "typical": 200.0, "scatter_pct": 8.2, "hour_pct": 12.4}
    more: dict[str, object] = {"day_pct": 5.0, "regions": 3, "days": 8.0}
    return Seen(**usual | more | changes)  # type: ignore[arg-type]  # keyword by keyword is what a test wants


def said(*of: Seen, learning: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    texts = sight_of([MonitorSight(kind="probe", seen=of, learning=learning)], "probe")
    return [(text.name, text.noticed, text.usual) for text in texts]


def test_a_change_is_said_in_per_cent_and_in_its_unit() -> None:
    assert said(seen()) == [
        (
            "First byte",
            "A rise by 12 % (25 ms) is noticed within an hour, one by 5 % (10 ms) within a day.",
            "Usually 200 ms, and single runs vary by 8 %; from 8 days in 3 regions.",
        )
    ]


@pytest.mark.parametrize(
    ("changes", "noticed"),
    [
        ({"hour_pct": 5.0}, "A rise by 5 % (10 ms) is noticed within an hour."),
        (
            {"hour_pct": 150.0},
            "A rise to 2.5 times as much is noticed within an hour, one by 5 % (10 ms) within a day.",
        ),
    ],
)
def test_it_is_said_as_short_as_it_can_be(changes: dict[str, object], noticed: str) -> None:
    assert said(seen(**changes))[0][1] == noticed


def test_what_is_still_being_learned_would_not_be_noticed() -> None:
    ((name, noticed, _),) = said(learning=("ttfb_ms", "lcp_ms"))
    assert (name, noticed) == ("First byte and Largest paint", "No change would be noticed yet.")


def test_nothing_is_said_where_nothing_is_watched() -> None:
    assert sight_of([], "probe") == []
    assert sight_of([MonitorSight(kind="page", seen=(seen(),), learning=())], "probe") == []


@pytest.mark.django_db
def test_the_page_of_a_site_says_what_would_be_noticed(client: Client, alice: Member) -> None:
    world = make_world(alice)
    kept = {"typical": 200.0, "scatter_pct": 8.2, "hour_pct": 12.4, "day_pct": 5.0, "regions": 3, "days": 8.0}
    memory = json.dumps({"eyes": {"7:ttfb_ms": {"sight": kept}}})
    Trend.objects.update_or_create(
        monitor=world.monitor("probe"), defaults={"memory": memory, "due_at": world.site.created_at}
    )
    client.force_login(alice.user)
    text = client.get(f"/sites/{world.site.public_id}/?kind=probe").content.decode()
    assert "A rise by 12 % (25 ms) is noticed within an hour" in text
    assert "noticed" not in client.get(f"/sites/{world.site.public_id}/?kind=page").content.decode()
