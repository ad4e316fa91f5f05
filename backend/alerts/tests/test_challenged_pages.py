"""A page that asks our browser to prove that a person visits: the run is told, and nothing is made of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from backend.alerts.models import Incident, Member, Notice
from backend.alerts.tests.world import MINUTE, World, make_world, told
from backend.runs.ingest import ingest
from backend.runs.models import Finding, Run
from backend.runs.queries import Wanted, phase_series
from backend.runs.tests.factories import make_pending
from backend.runs.tests.results import line_of, page
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, PageMeasurement, ReceiptStatus
from workers.measurement.vitals import Vitals

pytestmark = pytest.mark.django_db

USUAL_US, QUICK_US = 900_000, 90_000


def loaded(lcp_us: int) -> PageMeasurement:
    seen = page().measurement
    assert isinstance(seen, PageMeasurement)
    return replace(seen, vitals=Vitals(fcp_us=lcp_us // 2, lcp_us=lcp_us, load_us=lcp_us), document=1)


SHOWN = Measured(measurement=loaded(USUAL_US))
# An interstitial is painted sooner than any page.
CHALLENGED = Failed(
    failure=failure(FailureKind.PAGE_CHALLENGE, "Cloudflare (cf-mitigated: challenge)"), measurement=loaded(QUICK_US)
)
REFUSED = Failed(failure=failure(FailureKind.STATUS_UNEXPECTED, "403"), measurement=loaded(QUICK_US))


def minutes(world: World, *outcomes: Measured | Failed) -> None:
    """One after the other, as every region's agents send them and the judge hears of them."""
    for outcome in outcomes:
        for place, region in enumerate(world.regions):
            at = world.now + place * MINUTE / len(world.regions) + timedelta(seconds=1)
            pending = make_pending(
                world.fleet,
                world.monitor,
                region=region,
                scheduled_for=at,
                created_at=at,
                published_at=at,
                lease_until=at + MINUTE,
                expires_at=at + MINUTE,
            )
            assert ingest(region, [line_of(pending, outcome)], now=at) == [ReceiptStatus.STORED]
        world.now += MINUTE
        world.beat()
        world.judge()


def test_a_challenge_is_nobodys_outage() -> None:
    world = make_world(kinds=("page",))
    minutes(world, SHOWN, CHALLENGED, SHOWN, CHALLENGED, SHOWN, CHALLENGED)
    assert told() == []
    assert not Incident.objects.exists()
    run = Run.objects.filter(failure_kind="page_challenge").first()
    assert run is not None
    assert run.failure_blame == "monitor"
    assert run.failure_detail is not None
    assert run.failure_detail.endswith("Cloudflare (cf-mitigated: challenge)")


def test_where_nothing_but_challenges_come_nothing_is_measured_and_that_alone_is_told() -> None:
    world = make_world(kinds=("page",))
    minutes(world, SHOWN, *[CHALLENGED] * 7)
    assert [incident.state for incident in Incident.objects.all()] == ["no_data"]
    assert told() == ["opened"]
    (message,) = Notice.objects.values_list("message", flat=True)
    assert "Cloudflare (cf-mitigated: challenge)" in message["sentences"][1]
    shown = Run.objects.filter(run_id__in=Member.objects.values("after_run"))
    assert [run.failure_kind for run in shown] == ["page_challenge"]


def test_a_refusal_that_is_no_challenge_is_one() -> None:
    world = make_world(kinds=("page",))
    minutes(world, SHOWN, *[REFUSED] * 4)
    assert [incident.state for incident in Incident.objects.all()] == ["failing"]


def test_a_challenge_ends_no_outage_either() -> None:
    world = make_world(kinds=("page",))
    minutes(world, SHOWN, *[REFUSED] * 4, *[CHALLENGED] * 3)
    assert [incident.state for incident in Incident.objects.all()] == ["failing"]


def test_charts_draw_what_visitors_are_shown() -> None:
    world = make_world(kinds=("page",))
    since = world.now
    minutes(world, SHOWN, CHALLENGED, CHALLENGED, CHALLENGED)
    wanted = Wanted(since=since, until=world.now, metrics=("lcp_us",), max_points=1)
    for series in phase_series(world.monitor, wanted):
        (point,) = series.points
        assert (point.measured, point.failed, point.values) == (1, 3, (USUAL_US,))


def test_a_challenge_says_nothing_of_what_could_be_mended() -> None:
    world = make_world(kinds=("page",))
    minutes(world, CHALLENGED)
    assert not Finding.objects.exists()
