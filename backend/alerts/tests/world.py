"""A site that is measured in a few regions, and a clock: runs are put where agents would have put them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import connection

from backend.alerts import judging
from backend.alerts.models import Channel, ChannelKind, Incident, Notice, Rule
from backend.alerts.parameters import KINDS
from backend.fleet.models import Agent, Listening, Region
from backend.runs.models import Run, Schedule
from backend.runs.tests.factories import NOW, Fleet, make_agent, make_fleet
from backend.sites.models import Monitor

MINUTE = timedelta(minutes=1)
# All is well in three regions, and then the site is down for long enough to be told.
DOWN = "... xxx xxx"
DETAIL = "The server refused the connection: 203.0.113.7"


@dataclass(slots=True)
class World:
    """`now` is where the clock stands; nothing happens between."""

    fleet: Fleet
    monitors: list[Monitor]
    channel: Channel
    now: datetime
    listening_since: datetime | None

    @property
    def monitor(self) -> Monitor:
        return self.monitors[0]

    @property
    def regions(self) -> tuple[Region, ...]:
        return self.fleet.regions

    def judge(self) -> None:
        """What a judge does at this instant."""
        Schedule.objects.update(next_at=self.now + timedelta(hours=1))
        Listening.objects.all().delete()
        if self.listening_since is not None:
            Listening.objects.create(pk=1, since=self.listening_since, at=self.now)
        judging.step(self.now)

    def beat(self, *codes: str) -> None:
        """The agents of these regions are heard of; of all when none is named."""
        chosen = codes or tuple(region.code for region in self.regions)
        Agent.objects.filter(region__code__in=chosen).update(last_seen_at=self.now)

    def minute(self, pattern: str, *, monitor: Monitor | None = None, judge: bool = True) -> None:
        """A minute passes. A letter a region says what its run came to: `.` measured, `x` failed, `m` missed, `-` none.

        Regions are measured one after the other, as they are.
        """
        for position, (region, letter) in enumerate(zip(self.regions, pattern, strict=True)):
            at = self.now + position * MINUTE / len(self.regions) + timedelta(seconds=1)
            if letter != "-":
                put_run(monitor or self.monitor, region, at, letter)
        self.now += MINUTE
        self.beat()
        if judge:
            self.judge()

    def minutes(self, patterns: str) -> None:
        """Several minutes, with a space between."""
        for pattern in patterns.split():
            self.minute(pattern)


def put_run(
    monitor: Monitor, region: Region, at: datetime, letter: str, *, trigger: str = "schedule", **columns: object
) -> Run:
    outcomes: dict[str, dict[str, object]] = {
        ".": {"outcome": "measured", "ttfb_us": 200_000, "wait_us": 100_000, "lcp_us": 900_000, "cls": 0.01},
        "x": {
            "outcome": "failed",
            "failure_stage": "connect",
            "failure_kind": "connect_refused",
            "failure_blame": "target",
            "failure_detail": DETAIL,
        },
        "o": {"outcome": "failed", "failure_blame": "monitor", "failure_detail": "The browser could not be used."},
        "m": {"outcome": "missed", "missed_reason": "no_agent"},
    }
    usual: dict[str, object] = {
        "run_id": uuid4(),
        "scheduled_for": at,
        "monitor_id": monitor.pk,
        "region_id": region.pk,
        "attempt": 1,
        "kind": monitor.kind,
        "trigger": trigger,
        "received_at": at,
        "config_version": 1,
    }
    run = Run(**usual | outcomes[letter] | columns)
    Run.objects.bulk_create([run])
    return run


def put_like(run: Run, **columns: Sequence[object]) -> None:
    """This run, and one more for each further value of these columns, of which it has the first.

    PostgreSQL makes them of the one that is stored: to prepare some thousands takes Django more than a second.
    """
    Run.objects.bulk_create([run])
    types = {field.column: field.db_type(connection) for field in Run._meta.local_concrete_fields if field.column}
    origins = {name: "gen_random_uuid()" if name == "run_id" else f"first.{name}" for name in types}
    origins |= {name: f"more.{name}" for name in columns}
    arrays = ", ".join(f"%s::{types[name]}[]" for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO runs_run ({', '.join(origins)}) SELECT {', '.join(origins.values())} "
            f"FROM runs_run first, unnest({arrays}) more({', '.join(columns)}) WHERE first.run_id = %s",
            [*(list(values[1:]) for values in columns.values()), run.run_id],
        )


def make_world(
    *codes: str, kinds: Iterable[str] = ("probe",), rules: Iterable[str] = (), now: datetime = NOW - timedelta(hours=3)
) -> World:
    """A site whose monitors have been watched for a moment; with only these rules, or the default ones."""
    fleet = make_fleet(*(codes or ("fra", "iad", "sin")))
    monitors = Monitor.objects.bulk_create(
        Monitor(site=fleet.site, kind=kind, url=fleet.site.url, interval_s=60, timeout_s=10) for kind in kinds
    )
    channel = Channel.objects.create(
        organisation=fleet.organisation, kind=ChannelKind.WEBHOOK, name="Ops", target="hooks.example"
    )
    world = World(fleet=fleet, monitors=monitors, channel=channel, now=now, listening_since=now)
    for region in fleet.regions:
        make_agent(region, seen_at=world.now)
    Schedule.objects.bulk_create(
        Schedule(
            monitor=monitor, region=region, kind=monitor.kind, interval_s=60, offset_us=0, next_at=world.now + MINUTE
        )
        for monitor in monitors
        for region in fleet.regions
    )
    world.judge()
    chosen = tuple(rules)
    if chosen:
        Rule.objects.exclude(kind__in=chosen).delete()
        for kind in chosen:
            if not Rule.objects.filter(kind=kind).exists():
                make_rule(world, kind)
    return world


def make_rule(world: World, kind: str, **fields: object) -> Rule:
    params = {**KINDS[kind].defaults, **dict(fields.pop("params", {}))}  # type: ignore[call-overload]  # of a test's own making
    site = None if KINDS[kind].of_organisation else world.fleet.site
    usual: dict[str, object] = {"severity": KINDS[kind].severity, "site": site}
    return Rule.objects.create(organisation=world.fleet.organisation, kind=kind, params=params, **usual | fields)


def told() -> list[str]:
    """The events of all notices in order."""
    return [notice.message["event"] for notice in Notice.objects.order_by("pk")]


def titles() -> list[str]:
    return [notice.message["title"] for notice in Notice.objects.order_by("pk")]


def only_incident() -> Incident:
    (incident,) = Incident.objects.all()
    return incident
