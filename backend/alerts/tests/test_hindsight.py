"""Rules that look at more than single runs, tried on the past."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from backend.alerts.models import Cause, Incident
from backend.alerts.preview import preview
from backend.alerts.previewed import Preview
from backend.alerts.tests.world import MINUTE, World, make_rule, make_world, put_run
from backend.runs.models import Connection, Run
from backend.sites.models import Monitor, Site

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def tried(world: World, kind: str, *, delay_s: int = 0, **params: object) -> Preview:
    site = None if kind == "agent" else world.fleet.site
    return preview(
        world.fleet.organisation, kind=kind, params=params, delay_s=delay_s, site=site, now=world.now + MINUTE
    )


def show(
    world: World,
    at: datetime,
    *ends: tuple[str, timedelta],
    monitor: Monitor | None = None,
    lifetime: timedelta | None = None,
    place: int = 0,
    trigger: str = "schedule",
) -> None:
    """A run of a region that saw these hosts' certificates, which end so long after now."""
    run = put_run(monitor or world.monitor, world.regions[place], at, ".", trigger=trigger)
    Connection.objects.bulk_create(
        Connection(
            run_id=run.run_id,
            scheduled_for=run.scheduled_for,
            number=number,
            monitor_id=run.monitor_id,
            region_id=run.region_id,
            host=host,
            port=443,
            certificate_not_before=None if lifetime is None else world.now + left - lifetime,
            certificate_not_after=world.now + left,
        )
        for number, (host, left) in enumerate(ends)
    )


def test_certificates_that_live_for_six_days_would_have_told_nothing() -> None:
    world = make_world("fra")
    host = world.monitor.url.split("/")[2]
    for days in range(6, 0, -1):
        show(world, world.now - days * DAY, (host, (4 - days % 2 - days) * DAY), lifetime=6 * DAY)
    assert tried(world, "certificate").alerts == 0


def test_a_certificate_that_was_renewed_late_would_have_told_once() -> None:
    world = make_world("fra")
    host = world.monitor.url.split("/")[2]
    for days in range(6, 0, -1):
        show(world, world.now - days * DAY, (host, 9 * DAY), ("cdn.example", DAY))
    show(world, world.now - HOUR, (host, 90 * DAY))
    found = tried(world, "certificate", warn_days=12)
    assert (found.alerts, found.runs) == (1, 7)
    # Twelve days before it ends.
    assert abs(found.moments[0] - (world.now - 3 * DAY)) <= timedelta(hours=7)
    assert tried(world, "certificate", warn_days=8, critical_days=2).alerts == 0
    assert tried(world, "certificate", warn_days=12, delay_s=5 * 86_400).alerts == 0


def test_a_certificate_that_one_region_alone_is_still_shown_would_have_told() -> None:
    world = make_world("fra", "iad")
    host = world.monitor.url.split("/")[2]
    for days in range(6, 0, -1):
        show(world, world.now - days * DAY, (host, DAY))
        show(world, world.now - days * DAY + MINUTE, (host, 90 * DAY), place=1)
    found = tried(world, "certificate")
    assert (found.alerts, found.runs) == (1, 12)


def test_certificates_of_others_are_not_the_sites_to_renew() -> None:
    world = make_world("fra", kinds=("page",))
    host = world.monitor.url.split("/")[2]
    show(world, world.now - DAY, (host, 90 * DAY), ("cdn.example", DAY))
    assert tried(world, "certificate").alerts == 0


def test_a_page_that_was_shown_certificates_of_others_alone_tells_nothing() -> None:
    world = make_world("fra", kinds=("page",))
    show(world, world.now - DAY, ("cdn.example", DAY))
    assert tried(world, "certificate").alerts == 0


def test_the_newest_run_of_some_hours_tells_which_certificate_is_shown() -> None:
    world = make_world("fra")
    host = world.monitor.url.split("/")[2]
    show(world, world.now - 2 * MINUTE, (host, DAY))
    show(world, world.now - MINUTE, (host, 90 * DAY))
    assert tried(world, "certificate").alerts == 0


def test_a_run_that_failed_hides_no_certificate_that_ends() -> None:
    world = make_world("fra")
    host = world.monitor.url.split("/")[2]
    show(world, world.now - HOUR, (host, DAY))
    put_run(world.monitor, world.regions[0], world.now - MINUTE, "x")
    assert tried(world, "certificate").alerts == 1


def test_what_a_release_shows_before_it_is_out_is_no_certificate_of_the_site() -> None:
    world = make_world("fra")
    show(world, world.now - MINUTE, ("preview.example", DAY), trigger="gate")
    assert tried(world, "certificate").alerts == 0


def test_a_monitor_answers_for_the_certificates_that_it_was_shown_itself() -> None:
    world = make_world("fra", kinds=("probe", "page"))
    host = world.monitor.url.split("/")[2]
    show(world, world.now - MINUTE, (host, DAY), monitor=world.monitors[1])
    tries = [
        preview(world.fleet.organisation, kind="certificate", params={}, monitor=one, now=world.now)
        for one in world.monitors
    ]
    assert [(found.alerts, found.runs) for found in tries] == [(0, 0), (1, 1)]


def test_a_certificate_that_a_region_saw_days_ago_is_not_seen_until_today() -> None:
    world = make_world("fra", "iad")
    host = world.monitor.url.split("/")[2]
    show(world, world.now - 5 * DAY, (host, DAY), place=1)
    for days in range(5):
        show(world, world.now - days * DAY, (host, 90 * DAY))
    assert tried(world, "certificate", warn_days=3, critical_days=2).alerts == 0


def test_a_certificate_that_was_shown_before_or_after_the_two_weeks_is_not_counted() -> None:
    world = make_world("fra")
    host = world.monitor.url.split("/")[2]
    for after in (-15 * DAY, HOUR):
        show(world, world.now + after, (host, -20 * DAY))
    found = tried(world, "certificate")
    assert (found.alerts, found.runs) == (0, 0)


def test_what_a_person_or_a_release_asked_for_is_no_data_of_the_schedule() -> None:
    world = make_world("fra", "iad")
    slots(world, " ".join(["..", *["ll"] * 12]), since=2 * HOUR)
    for minute in range(13):
        put_run(world.monitor, world.regions[0], world.now - 2 * HOUR + (minute + 0.5) * MINUTE, ".", trigger="gate")
    assert tried(world, "no_data").alerts == 1


def slots(world: World, patterns: str, *, since: timedelta) -> None:
    """A slot a minute from a while ago on: a letter a region."""
    for number, pattern in enumerate(patterns.split()):
        for position, (region, letter) in enumerate(zip(world.regions, pattern, strict=True)):
            at = world.now - since + number * MINUTE + timedelta(seconds=position)
            if letter == "l":
                put_run(world.monitor, region, at, "m", missed_reason="queue_full")
            elif letter == "d":
                put_run(world.monitor, region, at, "m", missed_reason="service_down")
            elif letter != "-":
                put_run(world.monitor, region, at, letter)


@pytest.mark.parametrize(
    ("patterns", "alerts"),
    [
        ([".." for _ in range(30)], 0),
        # Agents lived and nothing came: with three intervals and a minute and 20 s for the runs themselves.
        (["..", *["ll"] * 12, *[".."] * 5], 1),
        (["..", *["l."] * 12], 0),
        # Silence of agents is another rule's business, and nobody looked while the service was down.
        (["..", *["mm"] * 20, ".."], 0),
        (["..", *["dd"] * 20, ".."], 0),
        # A pause has no slots.
        (["..", *["--"] * 40, "..", ".."], 0),
        # What comes late after a pause or a service that was down has not been awaited for long.
        (["..", *["--"] * 40, "ll", ".."], 0),
        (["..", *["dd"] * 20, "ll", ".."], 0),
        # Twice, with more than twenty minutes between.
        (["..", *["ll"] * 12, *[".."] * 30, *["ll"] * 12], 2),
        # A failed run is data.
        (["..", *["xx"] * 20], 0),
    ],
)
def test_measurements_that_stopped_although_agents_lived_are_counted(patterns: Sequence[str], alerts: int) -> None:
    world = make_world("fra", "iad")
    slots(world, " ".join(patterns), since=2 * HOUR)
    found = tried(world, "no_data")
    assert found.alerts == alerts
    assert found.runs == Run.objects.count()


@pytest.mark.parametrize(
    ("patterns", "silent_s", "alerts"),
    [
        (["..", *["m."] * 5, ".."], 180, 1),
        (["..", *["m."] * 2, ".."], 180, 0),
        (["..", *["m."] * 5, ".."], 600, 0),
        (["..", *["mm"] * 5, ".."], 180, 2),
        (["..", *["ll"] * 9, ".."], 180, 0),
        (["..", *["m."] * 9], 180, 1),
        ([*["m."] * 5, *[".."] * 30, *["m."] * 5, ".."], 180, 2),
        # Nobody is called silent by a service that was down meanwhile: it waits anew, and ends nothing.
        (["..", "mm", *["dd"] * 30, "mm", ".."], 180, 0),
        (["..", "mm", *["dd"] * 30, *["mm"] * 5, ".."], 180, 2),
        (["..", *["mm"] * 5, *["dd"] * 30, *["mm"] * 5, ".."], 180, 2),
    ],
)
def test_every_region_that_was_silent_is_counted(patterns: Sequence[str], silent_s: int, alerts: int) -> None:
    world = make_world("fra", "iad")
    slots(world, " ".join(patterns), since=2 * HOUR)
    assert tried(world, "agent", silent_s=silent_s).alerts == alerts


def test_a_silence_would_have_been_told_once_it_had_lasted_as_long_as_the_rule_waits() -> None:
    world = make_world("fra")
    slots(world, ". m m m m m m m .", since=HOUR)
    found = tried(world, "agent", silent_s=180, delay_s=120)
    assert found.moments == (world.now - HOUR + 6 * MINUTE,)
    assert tried(world, "agent", silent_s=180, delay_s=240).alerts == 0


def test_what_was_before_or_after_the_two_weeks_is_not_counted() -> None:
    world = make_world("fra")
    slots(world, ". m m m m m .", since=HOUR)
    for at in (world.now - 2 * HOUR, world.now + 15 * DAY):
        found = preview(world.fleet.organisation, kind="agent", params={}, now=at)
        assert (found.alerts, found.runs) == (0, 0)


def test_a_silent_region_is_seen_by_the_monitor_that_is_measured_most_often() -> None:
    world = make_world("fra", kinds=("page", "probe"))
    page, probe = world.monitors
    page.interval_s = 3_600
    page.save()
    for minute in range(6):
        put_run(probe, world.regions[0], world.now - HOUR + minute * MINUTE, "m")
    put_run(page, world.regions[0], world.now - HOUR, ".")
    assert tried(world, "agent").alerts == 1


def test_an_outage_of_each_hour_would_have_been_told_three_times() -> None:
    world = make_world("fra", rules=["availability"])
    for hour in range(8):
        slots(world, ". x x x x . . .", since=(9 - hour) * HOUR)
    assert tried(world, "availability").alerts == 3
    slots(world, "x x x x . . .", since=HOUR / 2)
    assert tried(world, "availability").alerts == 4


def test_of_a_cdn_the_incidents_since_the_rule_looks_are_counted() -> None:
    world = make_world("fra")
    assert tried(world, "cdn").alerts == 0
    rule = make_rule(world, "cdn", created_at=world.now - 5 * DAY)
    for days in (6, 4, 2):
        _incident(world, Cause.CDN, world.now - days * DAY)
    _incident(world, Cause.SPEED, world.now - DAY)
    elsewhere = Site.objects.create(organisation=world.fleet.organisation, name="Other", url="https://other.example/")
    incident = _incident(world, Cause.CDN, world.now - 3 * DAY)
    incident.site = elsewhere
    incident.save()
    found = tried(world, "cdn")
    assert (found.alerts, found.since) == (2, rule.created_at)
    assert "judged as they come" in found.reason
    rule.delete()


def test_without_a_rule_nothing_is_known_of_a_cdn() -> None:
    world = make_world("fra", rules=["availability"])
    found = tried(world, "cdn")
    assert found.alerts is None
    assert "once a rule looks" in found.reason


def test_two_sites_that_fail_at_once_are_two_incidents() -> None:
    world = make_world("fra", rules=["availability"])
    other = Site.objects.create(
        organisation=world.fleet.organisation, name="Other", url="https://other.example/", status="active"
    )
    second = Monitor.objects.create(site=other, kind="probe", url=other.url, interval_s=60, timeout_s=10)
    for minute in range(6):
        for monitor in (world.monitor, second):
            put_run(monitor, world.regions[0], world.now - HOUR + minute * MINUTE, "x" if minute > 2 else ".")
    found = preview(world.fleet.organisation, kind="availability", params={}, now=world.now)
    assert found.alerts == 2


def _incident(world: World, cause: str, at: datetime) -> Incident:
    return Incident.objects.create(
        organisation=world.fleet.organisation,
        site=world.fleet.site,
        cause=cause,
        key=str(at),
        state="ok",
        worst_state="degraded",
        severity="warning",
        title="The CDN is slower",
        opened_at=at,
        changed_at=at,
        resolved_at=at + HOUR,
    )
