"""Lists of runs, read in pages by whatever way is quickest, hold what a look at all runs finds."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from backend.runs import queries
from backend.runs.models import Outcome, Run, Trigger
from backend.runs.queries.listing import listed_runs
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db
_OUTCOMES = (Outcome.MEASURED, Outcome.MEASURED, Outcome.MEASURED, Outcome.FAILED, Outcome.MISSED)
_TRIGGERS = (Trigger.SCHEDULE, Trigger.SCHEDULE, Trigger.SCHEDULE, Trigger.GATE, Trigger.MANUAL)
_RUNS, _QUESTIONS = 200, 60


def make_runs(fleet: Fleet, monitors: list[Monitor], chance: random.Random) -> list[Run]:
    """In few slots, so that many share one, and none of some pairs."""
    pairs = [(monitor, region) for monitor in monitors for region in fleet.regions][:-1]
    runs: dict[tuple[int, int, datetime], Run] = {}
    for _ in range(_RUNS):
        monitor, region = chance.choice(pairs)
        slot = NOW - timedelta(minutes=int(chance.expovariate(1 / 40)))
        runs[monitor.pk, region.pk, slot] = Run(
            run_id=UUID(int=chance.getrandbits(128)),
            monitor_id=monitor.pk,
            region_id=region.pk,
            scheduled_for=slot,
            attempt=1,
            kind=monitor.kind,
            trigger=chance.choice(_TRIGGERS),
            outcome=chance.choice(_OUTCOMES),
            received_at=NOW,
            late=False,
        )
    return Run.objects.bulk_create(runs.values())


def questions(fleet: Fleet, monitors: list[Monitor], chance: random.Random) -> Iterator[queries.RunFilter]:
    for _ in range(_QUESTIONS):
        yield queries.RunFilter(
            monitor_id=chance.choice([None, None, chance.choice(monitors).public_id]),
            region=chance.choice([None, None, chance.choice(fleet.regions).code]),
            outcome=chance.choice([None, *Outcome.values]),
            trigger=chance.choice([None, None, *Trigger.values]),
            since=chance.choice([None, None, NOW - timedelta(minutes=chance.randrange(90))]),
            until=chance.choice([None, None, NOW - timedelta(minutes=chance.randrange(90))]),
        )


def in_pages(fleet: Fleet, wanted: queries.RunFilter, limit: int) -> Iterator[list[UUID]]:
    """Until one is not full, as the API goes on."""
    before: tuple[datetime, UUID] | None = None
    while True:
        page = listed_runs(fleet.organisation, wanted, before=before, limit=limit, now=NOW)
        yield [row.run.run_id for row in page]
        if len(page) < limit:
            return
        before = page[-1].run.scheduled_for, page[-1].run.run_id


def by_a_look_at_all(runs: list[Run], monitors: list[Monitor], fleet: Fleet, wanted: queries.RunFilter) -> list[UUID]:
    public = {monitor.pk: monitor.public_id for monitor in monitors}
    codes = {region.pk: region.code for region in fleet.regions}
    found = [
        run
        for run in runs
        if wanted.monitor_id in (None, public[run.monitor_id])
        and wanted.region in (None, codes[run.region_id])
        and wanted.outcome in (None, run.outcome)
        and wanted.trigger in (None, run.trigger)
        and (wanted.since or run.scheduled_for) <= run.scheduled_for <= (wanted.until or run.scheduled_for)
    ]
    return [run.run_id for run in sorted(found, key=lambda run: (run.scheduled_for, run.run_id), reverse=True)]


@pytest.mark.parametrize("seed", range(4))
def test_pages_of_any_filter_hold_each_run_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    fleet = make_fleet("eu", "us", "ap")
    monitors = make_monitors(fleet, 4)
    runs = make_runs(fleet, monitors, chance)
    for wanted in questions(fleet, monitors, chance):
        limit = chance.choice([1, 2, 5, 20, 300])
        found = [run_id for page in in_pages(fleet, wanted, limit) for run_id in page]
        assert found == by_a_look_at_all(runs, monitors, fleet, wanted), (wanted, limit)
