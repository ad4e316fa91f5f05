"""What a report of a week says."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

import pytest
from django.db.models import F
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import Organisation
from backend.alerts.models import Maintenance
from backend.alerts.tests.world import World
from backend.analysis.weeks import Course
from backend.fleet.models import Region
from backend.runs.models import Rollup
from backend.runs.queries import FoundCause
from backend.runs.queries.days import DAY_S
from backend.runs.tests.factories import make_monitors
from backend.sites.models import Monitor, Site
from backend.weekly import collecting
from backend.weekly.collecting import MAX_ALERTS, collect
from backend.weekly.report import CauseWeek, Report, SiteWeek, begin_of, last_week
from backend.weekly.tests.world import BEFORE, DAY, HOUR, THIS, day, incident, outage, week, weekly_world, weeks
from workers.measurement.finding import FindingId, Severity

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return weekly_world()


def collected(world: World) -> Report:
    return collect(world.fleet.organisation, THIS)


def the_site(world: World) -> SiteWeek:
    (site,) = collected(world).sites
    return site


@pytest.mark.parametrize(
    ("now", "monday"),
    [
        (datetime.fromisoformat("2026-11-30T00:00:00+00:00"), date(2026, 11, 23)),
        (datetime.fromisoformat("2026-11-29T23:59:59+00:00"), date(2026, 11, 16)),
        (datetime.fromisoformat("2026-12-06T23:00:00+00:00"), date(2026, 11, 23)),
        # Monday already, but not by UTC.
        (datetime.fromisoformat("2026-11-30T08:00:00+09:00"), date(2026, 11, 16)),
    ],
)
def test_a_week_is_over_when_its_sunday_is_by_utc(now: datetime, monday: date) -> None:
    assert last_week(now) == monday


def test_a_site_that_became_slower_is_told_so_with_its_regions(world: World) -> None:
    weeks(world, 300, 400)

    site = the_site(world)

    assert site.probe is not None
    assert (site.probe.course, site.became_slower, site.was_down) == (Course.SLOWER, True, False)
    assert [one.region for one in site.probe.slower] == ["Fra", "Sin"]
    assert site.page is None


def test_pages_are_told_by_their_largest_paint(world: World) -> None:
    weeks(world, 300, 300)
    weeks(world, 2_000, 1_500, world.monitors[1])

    site = the_site(world)

    assert site.probe is not None
    assert site.page is not None
    assert (site.probe.course, site.page.course, site.became_faster) == (Course.SAME, Course.FASTER, True)


def test_a_day_of_which_little_was_measured_counts_as_much_as_any_other(world: World) -> None:
    """Its weekends are twice as fast, and on weekdays the agents stood still for most of the time."""
    for region in world.regions:
        for place in range(7):
            fast = place >= 5
            day(world.monitor, region, BEFORE + place * DAY, 200 if fast else 400)
            day(world.monitor, region, THIS + place * DAY, 210 if fast else 420, count=24 if fast else 4)

    site = the_site(world)

    assert site.probe is not None
    assert site.probe.course is Course.SLOWER
    assert site.probe.before_us == pytest.approx(400_000, rel=0.01)
    assert site.probe.now_us == pytest.approx(420_000, rel=0.01)


def test_days_of_which_all_runs_were_disturbed_are_not_compared(world: World) -> None:
    """A busy machine made every page slow: no site did."""
    page = world.monitors[1]
    weeks(world, 1_500, 3_000, page)
    Rollup.objects.filter(at__gte=begin_of(THIS)).update(disturbed=F("measured"))

    site = the_site(world)

    assert (site.page, site.became_slower) == (None, False)
    assert site.uptime.share == 1


def test_days_of_which_some_runs_were_disturbed_are_told_by_the_others(world: World) -> None:
    weeks(world, 300, 400)
    Rollup.objects.update(disturbed=F("measured") - 1)

    assert the_site(world).became_slower


def test_a_monitor_that_was_changed_meanwhile_is_not_compared(world: World) -> None:
    weeks(world, 300, 400)
    Monitor.objects.update(due_since=begin_of(THIS) + 2 * DAY)

    site = the_site(world)

    assert site.probe is not None
    assert (site.probe.course, site.probe.before_us) == (None, None)


def test_of_the_week_before_the_days_after_a_change_are_compared(world: World) -> None:
    """It was another address until Monday noon: Tuesday to Sunday are six days."""
    for region in world.regions:
        week(world.monitor, region, BEFORE, 900, 300, 300, 300, 300, 300, 300)
        week(world.monitor, region, THIS, 400)
    Monitor.objects.update(due_since=begin_of(BEFORE) + 0.5 * DAY)

    site = the_site(world)

    assert site.probe is not None
    assert site.probe.course is Course.SLOWER
    assert site.probe.before_us == pytest.approx(300_000, rel=0.01)


def test_uptime_is_told_beside_the_week_before(world: World) -> None:
    weeks(world, 300, 300)
    outage(world, THIS, hours=1)
    outage(world, BEFORE, hours=2)

    uptime = the_site(world).uptime

    assert uptime.share == pytest.approx(1 - 1 / 168)
    assert uptime.before == pytest.approx(1 - 2 / 168)
    assert (uptime.down_us, uptime.outages) == (3_600_000_000, 1)


def test_what_was_planned_is_no_outage(world: World) -> None:
    weeks(world, 300, 300)
    outage(world, THIS, hours=1)
    noon = begin_of(THIS + DAY) + 12 * HOUR
    Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=noon - HOUR, ends_at=noon + 2 * HOUR, reason="Release"
    )

    assert not the_site(world).was_down


def test_alerts_are_those_that_began_in_the_week_and_that_somebody_heard_of(world: World) -> None:
    weeks(world, 300, 300)
    incident(world, THIS, title="told")
    incident(world, THIS, title="silent", is_told=False)
    incident(world, BEFORE, title="earlier")

    report = collected(world)

    assert [alert.title for alert in report.alerts] == ["told"]
    assert (report.alert_count, report.sites[0].alerts) == (1, 1)


def test_of_very_many_alerts_the_first_are_named_and_all_are_counted(world: World) -> None:
    weeks(world, 300, 300)
    for number in range(MAX_ALERTS + 3):
        incident(world, THIS, title=f"alert {number}")

    report = collected(world)

    assert (len(report.alerts), report.alert_count) == (MAX_ALERTS, MAX_ALERTS + 3)


def test_a_site_that_nobody_measured_is_left_out(world: World) -> None:
    assert collected(world).sites == ()


def test_what_was_down_comes_first_and_then_what_became_slower(world: World) -> None:
    fine, slower, down = make_monitors(world.fleet, 3)
    Site.objects.update(created_at=begin_of(BEFORE) - DAY)
    for monitor, now_ms in ((fine, 300), (slower, 400), (down, 300)):
        weeks(world, 300, now_ms, monitor)
    outage(replace_monitor(world, down), THIS, hours=1)

    assert [site.name for site in collected(world).sites] == ["Site 2", "Site 1", "Site 0"]


def replace_monitor(world: World, monitor: Monitor) -> World:
    return replace(world, monitors=[monitor])


def cause(finding: FindingId, severity: Severity, saving_us: int | None = None) -> FoundCause:
    return FoundCause(finding=finding, severity=severity, confidence="high", saving_us=saving_us, host=None)


def test_what_is_to_be_mended_first_is_of_probe_and_page_and_no_mere_information(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, page = world.monitors
    weeks(world, 300, 300)
    found = {probe.pk: [cause(FindingId.HTTP_H3, Severity.INFO)], page.pk: []}

    def worst(probes: Sequence[int], regions: Sequence[int], *, pages: Sequence[int]) -> dict[int, list[FoundCause]]:
        assert (probes, pages) == ([probe.pk], [page.pk])
        assert set(regions) == {region.pk for region in world.regions}
        return found

    monkeypatch.setattr(collecting, "worst_findings", worst)
    assert the_site(world).cause is None
    found[page.pk].append(cause(FindingId.TLS_RECORD_OVERFLOW, Severity.HIGH, 380_000))
    assert the_site(world).cause == CauseWeek(finding="tls.record_overflow", severity="high", saving_us=380_000)


def test_what_others_measured_is_theirs(world: World) -> None:
    weeks(world, 300, 400)
    incident(world, THIS)
    other = Organisation.objects.create(name="Other", slug="other")

    report = collect(other, THIS)

    assert (report.sites, report.alerts, report.alert_count) == ((), (), 0)


def test_regions_that_are_others_now_are_left_out(world: World) -> None:
    weeks(world, 300, 400)
    other = Organisation.objects.create(name="Other", slug="other")
    Region.objects.filter(code="sin").update(organisation=other)

    site = the_site(world)

    assert site.probe is not None
    assert [one.region for one in site.probe.slower] == ["Fra"]


def test_what_is_stored_is_what_was_collected(world: World) -> None:
    weeks(world, 300, 400)
    outage(world, THIS, hours=1)
    incident(world, THIS)
    report = collected(world)

    assert Report.from_json(report.to_json()) == report


def test_it_takes_as_many_statements_for_many_sites(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for monitor in [world.monitor, world.monitors[1], *make_monitors(world.fleet, 4)]:
        weeks(world, 300, 400, monitor)
    for number in range(3):
        incident(world, THIS, title=f"alert {number}")

    with django_assert_num_queries(15):
        collected(world)


def test_runs_of_a_day_that_has_no_value_count_for_nothing(world: World) -> None:
    """Each was measured, and none saw a first byte."""
    weeks(world, 300, 400)
    Rollup.objects.filter(width_s=DAY_S, at__gte=begin_of(THIS)).update(sketches={})

    assert the_site(world).probe is None
