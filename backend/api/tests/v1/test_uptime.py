"""For which part of a time a site could be reached."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from backend.alerts.models import Outage
from backend.api.tests.v1.calling import Program, at, problem_of
from backend.api.tests.v1.world import World

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def outage(world: World, *, ago: timedelta, lasted: timedelta | None, state: str = "failing") -> None:
    began_at = timezone.now() - ago
    Outage.objects.create(
        monitor=world.monitor("probe"),
        state=state,
        regions=["eu"],
        began_at=began_at,
        ended_at=None if lasted is None else began_at + lasted,
        why="The server refused the connection.",
    )


def test_of_a_site_that_was_not_measured_no_share_is_told(program: Program, world: World) -> None:
    found = program.get(f"sites/{world.site.public_id}/uptime?until={at(3 * 86400)}").json()

    assert (found["share"], found["measured_ms"], found["outages"]) == (None, 0, 0)


def test_the_share_is_of_what_was_measured(program: Program, world: World) -> None:
    """A run of each of the last hours; the period lies within them to the second."""
    type(world.site).objects.update(created_at=timezone.now() - DAY)
    for hours in range(6):
        world.ended("probe", ago_s=3600 * hours + 60)
    outage(world, ago=120 * MINUTE, lasted=18 * MINUTE)
    outage(world, ago=60 * MINUTE, lasted=9 * MINUTE, state="degraded")

    found = program.get(f"sites/{world.site.public_id}/uptime?since={at(3 * 3600)}&until={at(0)}").json()

    assert found["share"] == pytest.approx(0.9, abs=0.001)
    assert found["measured_ms"] == pytest.approx(3 * 3_600_000, abs=3_000)
    assert (found["down_ms"], found["partly_ms"], found["outages"]) == (18 * 60_000, 9 * 60_000, 1)


def test_what_lies_ahead_is_not_asked_for(program: Program, world: World) -> None:
    found = program.get(f"sites/{world.site.public_id}/uptime?until={at(-86400)}").json()

    assert datetime.fromisoformat(found["until"]) <= timezone.now()


def test_a_period_that_cannot_be_is_refused(program: Program, world: World) -> None:
    found = problem_of(program.get(f"sites/{world.site.public_id}/uptime?since={at(0)}&until={at(60)}"))

    assert [fault["pointer"] for fault in found["errors"]] == ["?since"]


def test_outages_are_told_the_newest_first_in_pages(program: Program, world: World) -> None:
    outage(world, ago=DAY, lasted=MINUTE)
    outage(world, ago=MINUTE, lasted=None, state="degraded")

    first = program.get(f"sites/{world.site.public_id}/outages?limit=1").json()
    second = program.get(f"sites/{world.site.public_id}/outages?limit=1&cursor={first['next']}").json()

    (newest,), (oldest,) = first["items"], second["items"]
    assert (newest["extent"], newest["ended_at"], newest["regions"]) == ("partly", None, ["eu"])
    assert (oldest["extent"], oldest["why"], oldest["run"]) == ("down", "The server refused the connection.", None)
    assert second["next"] is None
