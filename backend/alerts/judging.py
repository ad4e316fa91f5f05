"""The judge: every monitor's ended slots in order, past all of its rules, to incidents.

What is remembered, the incidents and what is told of them change in one transaction, so that a judge that is killed has
either judged a slot or not. Rows of memory are taken with SKIP LOCKED: as many judges as one likes may run.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from backend.alerts.blind_agents import Blindnesses, blindnesses, look_around, tells_of_agents
from backend.alerts.enrolment import enrol
from backend.alerts.incidents import apply_all
from backend.alerts.judgement.certificates import Shown
from backend.alerts.judgement.samples import Memory, Sample
from backend.alerts.looks import Look, Sight, awaited, marks
from backend.alerts.outages import write_down
from backend.alerts.reading import Due, confirmations, due, read, remember, sample_of, streams_of
from backend.alerts.rules_of import rules_for
from backend.alerts.setbacks import bring_back, set_right
from backend.alerts.silent_regions import watch_regions
from backend.alerts.turns import Apart, Turns
from backend.alerts.upkeep import tidy
from backend.fleet.models import Agent
from backend.fleet.queries import OFFLINE_AFTER
from backend.runs.actions import RunsError, request_runs
from backend.runs.models import PendingRun, Trigger
from backend.runs.sql import array, fetch
from backend.sites.models import Monitor

log = logging.getLogger(__name__)

BATCH = 200
# So many batches before other duties have their turn.
_BATCHES = 20
IDLE_S, BUSY_S = 1.0, 0.0
_DUTIES_EVERY_S = 5.0
# With 100,000 monitor-regions it takes a quarter of a second of the database's time.
_LOOK_AROUND_EVERY_S = 10.0
PUT_OFF = timedelta(minutes=5)
# Of an organisation: people's own tests wait in the same queue.
CONFIRMATIONS_AT_ONCE = 10
# Of these no look at whether an outage is over takes: what is new comes first.
RECHECKS_RESERVE = 5

_CERTIFICATES = """
SELECT run_id, host, certificate_not_before, certificate_not_after FROM runs_connection
WHERE run_id = ANY(%(runs)s::uuid[]) AND certificate_not_after IS NOT NULL
    AND scheduled_for >= %(first)s AND scheduled_for <= %(last)s
"""


class Judging:
    """`step` does what is due and gives the seconds to wait."""

    def __init__(self, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock = clock
        self._duties_at = self._look_around_at = 0.0

    def step(self) -> float:
        """Raises django.db.Error when the database is gone; then nothing is lost, and it can be called again."""
        if monotonic() >= self._look_around_at:
            _do(look_around, self._clock())
            self._look_around_at = monotonic() + _LOOK_AROUND_EVERY_S
        if monotonic() >= self._duties_at:
            duties(self._clock())
            self._duties_at = monotonic() + _DUTIES_EVERY_S
        return IDLE_S if _TURNS.work(self._clock, _BATCHES) else BUSY_S


def step(now: datetime) -> float:
    """Everything that is due at an instant, once; the seconds to wait."""
    _do(look_around, now)
    duties(now)
    while _TURNS.next(now) == BATCH:
        pass
    return IDLE_S


def duties(now: datetime) -> None:
    """What is not about one monitor's runs."""
    for work in (_enrol_all, bring_back, watch_regions, tidy):
        _do(work, now)


def _enrol_all(now: datetime) -> None:
    while enrol(now):
        pass


def _do(work: Callable[[datetime], object], now: datetime) -> None:
    """A duty that fails keeps neither another one nor any monitor from its turn."""
    with Apart(log, "%s failed; it is tried again at its next turn", work.__name__):
        work(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How much was judged."""

    monitors: int
    runs: int


@transaction.atomic
def judge_batch(now: datetime, limit: int = BATCH) -> Judged:
    """Looks at monitors whose look is due. A fixed number of statements, unless something changes its state
    or a region is asked."""
    rows = due("alerts_watch", now, limit)
    if not rows:
        return Judged(monitors=0, runs=0)
    looks, runs = _looks(rows, now)
    _show_certificates(looks, now)
    apply_all([change for look in looks for change in look.changes()], now=now)
    write_down([turned for look in looks for turned in look.turned])
    _ask_regions(looks)
    _remember(looks)
    return Judged(monitors=len(rows), runs=runs)


def _judge(now: datetime, limit: int) -> int:
    return judge_batch(now, limit).monitors


_TURNS = Turns(table="alerts_watch", look=_judge, batch=BATCH, put_off=PUT_OFF)


def _looks(rows: Sequence[Due], now: datetime) -> tuple[list[Look], int]:
    memories: dict[int, Memory] = {row.monitor_id: set_right(json.loads(row.memory), now) for row in rows}
    known = {row.monitor_id: marks(memories[row.monitor_id], row.interval_s, now) for row in rows}
    batch = read(streams_of(rows, known, now), now)
    rules, live, blind = rules_for(rows), live_regions(now), blindnesses(now)
    confirmed = _confirmed(memories, now)
    told = {row.monitor_id: blind if tells_of_agents(rules[row.monitor_id]) else Blindnesses() for row in rows}
    looks = [
        Look(
            row,
            memories[row.monitor_id],
            rules[row.monitor_id],
            Sight(
                now=now,
                streams=batch.streams[row.monitor_id],
                samples=told[row.monitor_id].of_sites(batch.samples[row.monitor_id]),
                reached=batch.reached.get(row.monitor_id, {}),
                confirmed=dict(zip(confirmed, told[row.monitor_id].of_sites(confirmed.values()), strict=True)),
                live=live - told[row.monitor_id].regions.keys(),
                blind={code: one.since for code, one in told[row.monitor_id].regions.items()},
            ),
        )
        for row in rows
    ]
    return looks, sum(len(samples) for samples in batch.samples.values())


def live_regions(now: datetime) -> frozenset[str]:
    """The codes of regions with an agent that was heard of a moment ago. One statement."""
    newest = Agent.objects.values("region__code").annotate(seen=Max("last_seen_at"))
    return frozenset(newest.filter(seen__gt=now - OFFLINE_AFTER).values_list("region__code", flat=True))


def _confirmed(memories: Mapping[int, Memory], now: datetime) -> dict[UUID, Sample]:
    regions = {ask.run_id: ask.region for memory in memories.values() for ask in awaited(memory)}
    if not regions:
        return {}
    return {run_id: sample_of([row], regions[run_id]) for run_id, row in confirmations(regions, now).items()}


def _show_certificates(looks: Sequence[Look], now: datetime) -> None:
    wanted = {run_id: look for look in looks for run_id in look.telling_runs}
    if not wanted:
        return
    parameters = {"runs": array(wanted), "first": now - timedelta(days=1), "last": now}
    seen: dict[int, list[Shown]] = defaultdict(list)
    for shown in map(Shown._make, fetch(_CERTIFICATES, parameters)):
        seen[wanted[shown.run_id].row.monitor_id].append(shown)
    for look in looks:
        if look.row.monitor_id in seen:
            look.show(seen[look.row.monitor_id])


def _ask_regions(looks: Sequence[Look]) -> None:
    """Asks another region where one alone says that a site is down, and then whether outages are over. Without room
    the next slots will tell."""
    room = _Room()
    for look in looks:
        region = look.doubt()
        if region and room.has(look) and (run_id := _run(look, region)):
            look.asked(run_id, region)
            room.take(look)
    for look in looks:
        region = look.recheck()
        if not region or not room.has(look, RECHECKS_RESERVE) or _is_under_way(look):
            continue
        if run_id := _run(look, region):
            look.rechecked(run_id, region)
            room.take(look)


class _Room:
    """How many more runs of each organisation may be under way. One statement for each that is asked about."""

    def __init__(self) -> None:
        self._left: dict[int, int] = {}

    def has(self, look: Look, reserved: int = 0) -> bool:
        organisation = look.row.organisation_id
        if organisation not in self._left:
            self._left[organisation] = CONFIRMATIONS_AT_ONCE - _under_way(organisation)
        return self._left[organisation] > reserved

    def take(self, look: Look) -> None:
        self._left[look.row.organisation_id] -= 1


def _under_way(organisation_id: int) -> int:
    asked = PendingRun.objects.filter(trigger=Trigger.CONFIRM, urgent=True)
    return asked.filter(monitor__site__organisation=organisation_id).count()


def _is_under_way(look: Look) -> bool:
    """Whether a run that nobody waits for any more may yet come."""
    return PendingRun.objects.filter(trigger=Trigger.CONFIRM, monitor=look.row.monitor_id).exists()


def _run(look: Look, region: str) -> UUID | None:
    monitor = Monitor.objects.select_related("site__organisation").get(pk=look.row.monitor_id)
    try:
        with transaction.atomic():
            (run_id,) = request_runs(actor=None, monitor=monitor, regions=[region], trigger=Trigger.CONFIRM)
    except RunsError as error:
        log.info("%s is not asked about %s: %s", region, look.row.public_id, error)
        return None
    return run_id


def _remember(looks: Sequence[Look]) -> None:
    remember(
        "alerts_watch",
        [look.row.monitor_id for look in looks],
        [look.memory() for look in looks],
        [look.due_at for look in looks],
    )
