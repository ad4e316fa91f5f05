"""A small plant that runs for real: schedules, agents, and the proof that no slot is lost or doubled."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import sleep

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from backend.runs.claim import claim
from backend.runs.models import PendingRun, Run, Schedule
from backend.runs.slots import next_slot
from backend.runs.tests.factories import Fleet, make_fleet, make_monitors, schedule
from backend.runs.tests.processes import SimulatedAgent
from backend.testing import wait_until

INTERVAL_S = 30

Slot = tuple[int, int, datetime]


@dataclass(slots=True, kw_only=True)
class Plant:
    """Two regions with an agent each. `since` is when the first slot may be due."""

    fleet: Fleet
    since: datetime
    agents: list[SimulatedAgent] = field(default_factory=list)

    def stop_agents(self) -> None:
        for agent in self.agents:
            agent.stop()


@contextmanager
def running_plant() -> Iterator[Plant]:
    """600 monitors in two regions, every 30 seconds from now on: 40 slots a second. An agent in each region."""
    fleet = make_fleet("eu", "us")
    since = timezone.now()
    schedule(fleet, make_monitors(fleet, 600, interval_s=INTERVAL_S), now=since)
    Schedule.objects.update(next_at=F("next_at") + timedelta(seconds=INTERVAL_S))
    plant = Plant(fleet=fleet, since=since, agents=[SimulatedAgent(region) for region in fleet.regions])
    for agent in plant.agents:
        agent.start()
    try:
        yield plant
    finally:
        plant.stop_agents()


def pass_time(seconds: float) -> None:
    """Lets the plant work: what it does in this time is what is tested."""
    sleep(seconds)


def assert_every_slot_exists_once(plant: Plant) -> Counter[str]:
    """Each slot from the start to now is one run or one pending run, and there is no other; what they are, counted.

    What is due at the very moment is claimed first. A late result beside its slot's own is no second run of the slot.
    """
    until = timezone.now()
    wait_until(lambda: _all_claimed(until), "what is due to be claimed")
    stored, pending = _read_at_once()
    ended = Counter((monitor, region, at) for monitor, region, at, _, late in stored if not late)
    late = {(monitor, region, at) for monitor, region, at, _, is_late in stored if is_late}
    once = ended + pending
    # A scheduler that still runs goes on claiming while we read.
    read_at = timezone.now()
    assert [slot for slot, count in once.items() if count > 1] == [], "doubled"
    assert set(_slots(plant.since, until)) - set(once) - late == set(), "lost"
    assert set(once) - set(_slots(plant.since, read_at)) == set(), "never due"
    return Counter(outcome for *_, outcome, _ in stored) + Counter(pending=pending.total())


def _all_claimed(until: datetime) -> bool:
    """Claims what nobody else holds. What a scheduler that still runs has locked is there when it has committed."""
    claim(until)
    return not Schedule.objects.filter(next_at__lte=until).exists()


def _read_at_once() -> tuple[list[tuple[int, int, datetime, str, bool]], Counter[Slot]]:
    """Runs and pending runs of one instant: a sweeper that still runs makes the one of the other."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        stored = list(Run.objects.values_list("monitor_id", "region_id", "scheduled_for", "outcome", "late"))
        return stored, Counter(PendingRun.objects.values_list("monitor_id", "region_id", "scheduled_for"))


def _slots(since: datetime, until: datetime) -> Iterator[Slot]:
    for entry in Schedule.objects.all():
        slot = next_slot(since, entry.interval_s, entry.offset_us)
        while slot <= until:
            yield entry.monitor_id, entry.region_id, slot
            slot += timedelta(seconds=entry.interval_s)
