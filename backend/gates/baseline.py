"""What fresh runs are compared with: scheduled runs before the deploy, or those of an earlier gate.

Where addresses are compared, both sides are the gate's own runs, and there is nothing to look up.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from backend.alerts.metrics import METRICS
from backend.alerts.queries.earlier import disturbed
from backend.fleet.models import Region
from backend.gates.models import BaselineMode, Gate, GateRun, RunState
from backend.gates.samples import with_timings
from backend.runs.models import Outcome, Run, Trigger
from backend.runs.sql import COMPARABLE, fetch
from backend.sites.models import Monitor
from backend.sites.queries import deploys_between, versions_alike

# The newest of each monitor and region: a day at one a minute, twice over.
MAX_SAMPLES = 3_000
AT = "at"
CONTENDED = "contended"
VERSION = "config_version"
# Beside the metrics, so that a failure can name the phase that grew.
COLUMNS = (*dict.fromkeys(metric.column for metric in METRICS.values()), "send_us")
_SAMPLES = f"""
SELECT place.region_id, run.scheduled_for, {", ".join(f"run.{column}" for column in COLUMNS)}, run.timings
FROM unnest(%(regions)s::bigint[]) AS place (region_id), LATERAL (
    SELECT * FROM runs_run WHERE runs_run.monitor_id = %(monitor)s AND runs_run.region_id = place.region_id
        AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND outcome = 'measured' AND trigger = 'schedule'
        AND config_version = ANY(%(versions)s) AND {COMPARABLE}
    ORDER BY scheduled_for DESC LIMIT %(most)s
) run
ORDER BY place.region_id, run.scheduled_for
"""
# So much of what lies before history says what it was like at the time of the release the day before, from when history
# is: an hour of it, and another where clocks were set since.
_BEFORE = timedelta(hours=2)
# What lies so near to that time is taken for what it was like then.
_NEAR = timedelta(hours=1)
# So long before the release says what it was like already; where another one came within it, so long before that one.
_LATELY = timedelta(hours=1)
# Of each run what was measured, by column; under `AT` when, in Unix seconds, under `CONTENDED` 1 for one that other
# work of its agent's machine disturbed, and under `VERSION` that of its monitor, where these are known.
Samples = Mapping[str, Sequence[Mapping[str, float | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """By monitor and region code, in order of time; `before` is what was measured right before that, and `lately` what
    the hour before the release brought, also during incidents, with `lately_until` its end in Unix seconds. Of monitors
    that are `cut` there is more in a region than is looked at. `warnings` are sentences."""

    by_monitor: Mapping[int, Samples]
    before: Mapping[int, Samples] = field(default_factory=dict)
    lately: Mapping[int, Samples] = field(default_factory=dict)
    lately_until: float | None = None
    cut: frozenset[int] = frozenset()
    warnings: tuple[str, ...] = ()

    def count(self, monitor: int) -> int:
        """How many runs of a monitor there are, over all regions."""
        return sum(len(samples) for samples in self.by_monitor.get(monitor, {}).values())


@dataclass(slots=True)
class _Sieve:
    """Leaves out what was measured during incidents, and counts it."""

    spans: Sequence[tuple[datetime, datetime]]
    dropped: int = field(default=0)

    def keeps(self, at: datetime) -> bool:
        if any(since <= at < until for since, until in self.spans):
            self.dropped += 1
            return False
        return True


def baseline_of(gate: Gate, monitors: Sequence[Monitor]) -> Baseline:
    """What the gate compares with. Five statements, and one for each monitor."""
    if gate.baseline_mode == BaselineMode.GATE:
        return _of_gate(gate, {monitor.pk: monitor for monitor in monitors})
    if gate.baseline_mode == BaselineMode.URL:
        return Baseline(by_monitor={})
    since, until = history_of(gate)
    known_since = _known_since(gate, since, until)
    spans = disturbed(gate.site_id, known_since, until)
    sieve, sieve_before = _Sieve([span for span in spans if span[1] > since]), _Sieve(spans)
    regions = dict(Region.objects.filter(code__in=gate.regions).values_list("pk", "code"))
    versions = versions_alike(monitors)
    measured = {pk: _measured(pk, alike, regions, (known_since, until)) for pk, alike in versions.items()}
    earlier = deploys_between(gate.site, until - _LATELY, until)
    begun = min([until, *(deploy.at for deploy in earlier)])
    return Baseline(
        by_monitor={
            pk: _chosen(samples, lambda at: at >= since and sieve.keeps(at)) for pk, samples in measured.items()
        },
        before={
            pk: _chosen(samples, lambda at: at < since and sieve_before.keeps(at)) for pk, samples in measured.items()
        },
        lately={pk: _chosen(samples, lambda at: begun - _LATELY <= at < begun) for pk, samples in measured.items()},
        lately_until=begun.timestamp(),
        cut=frozenset(pk for pk, found in measured.items() if any(len(runs) >= MAX_SAMPLES for runs in found.values())),
        warnings=_warnings([(max(begun, since), ended) for begun, ended in sieve.spans], sieve.dropped),
    )


def history_of(gate: Gate) -> tuple[datetime, datetime]:
    """From when until when runs count as history."""
    return gate.baseline_since or gate.created_at, gate.baseline_until or gate.created_at


def not_comparable(gate: Gate, monitor: Monitor) -> int:
    """How many scheduled runs of the time of history are none, since other work of their agent's machine disturbed them
    or their network was not as their profile says. Two statements."""
    since, until = history_of(gate)
    return (
        Run.objects.filter(Q(profile_verified=False) | Q(contended=True), monitor_id=monitor.pk)
        .filter(
            scheduled_for__gte=since, scheduled_for__lt=until, config_version__in=versions_alike([monitor])[monitor.pk]
        )
        .filter(region_id__in=Region.objects.filter(code__in=gate.regions).values("pk"))
        .filter(outcome=Outcome.MEASURED, trigger=Trigger.SCHEDULE)
        .count()
    )


def _known_since(gate: Gate, since: datetime, until: datetime) -> datetime:
    """From when on runs before history are looked at: what another release was like is no habit of this one."""
    released = [deploy.at for deploy in deploys_between(gate.site, since - _BEFORE, min(since + _NEAR, until))]
    return min(since, max([since - _BEFORE, *released]))


def _measured(
    monitor: int, versions: Collection[int], regions: Mapping[int, str], span: tuple[datetime, datetime]
) -> Samples:
    parameters = {
        "regions": list(regions),
        "monitor": monitor,
        "since": span[0],
        "until": span[1],
        "versions": list(versions),
        "most": MAX_SAMPLES,
    }
    samples: dict[str, list[Mapping[str, float | None]]] = defaultdict(list)
    for region, at, *values, timings in fetch(_SAMPLES, parameters):
        run = {AT: at.timestamp(), **dict(zip(COLUMNS, values, strict=True))}
        # JSON comes as its text.
        samples[regions[region]].append(with_timings(run, timings and json.loads(timings)))
    return samples


def _chosen(samples: Samples, keeps: Callable[[datetime], bool]) -> Samples:
    """Those whose time is kept, of the regions that have any."""
    found = {region: [run for run in runs if keeps(_made_at(run))] for region, runs in samples.items()}
    return {region: runs for region, runs in found.items() if runs}


def _made_at(run: Mapping[str, float | None]) -> datetime:
    return datetime.fromtimestamp(run[AT] or 0.0, UTC)


def _of_gate(gate: Gate, monitors: Mapping[int, Monitor]) -> Baseline:
    """Only what the monitors measure, as they do now."""
    earlier: dict[int, dict[str, list[Mapping[str, float | None]]]] = defaultdict(lambda: defaultdict(list))
    places = Q(monitor__in=list(monitors), region__code__in=gate.regions)
    runs = GateRun.objects.filter(places, gate=gate.baseline_gate_id, state=RunState.MEASURED, discarded=False)
    versions, others = versions_alike(monitors.values()), 0
    for run in runs.select_related("region", "gate").order_by("place"):
        if _is_as_now(run, monitors[run.monitor_id], versions[run.monitor_id]):
            earlier[run.monitor_id][run.region.code].append(run.values)
        else:
            others += 1
    told = "1 run of the earlier gate is" if others == 1 else f"{others:,} runs of the earlier gate are"
    warning = f"{told} left out: made at another address, or with other settings of the monitor."
    return Baseline(by_monitor=earlier, warnings=(warning,) if others else ())


def _is_as_now(run: GateRun, monitor: Monitor, versions: Collection[int]) -> bool:
    """Whether a run of a gate measured the monitor's own address as it does now."""
    is_own = run.gate.url_of(monitor, run.side) == monitor.url
    return is_own and run.values.get(VERSION, monitor.config_version) in versions


def _warnings(spans: Sequence[tuple[datetime, datetime]], dropped: int) -> tuple[str, ...]:
    if not dropped:
        return ()
    minutes = max(1, round(_lasted(spans).total_seconds() / 60))
    incidents = "an incident" if len(spans) == 1 else f"{len(spans)} incidents"
    runs = "run was" if dropped == 1 else "runs were"
    return (f"The baseline overlaps {incidents} for {minutes:,} min; {dropped:,} {runs} left out.",)


def _lasted(spans: Sequence[tuple[datetime, datetime]]) -> timedelta:
    """How long all together lasted, those at one time once."""
    lasted, ended = timedelta(0), datetime.min.replace(tzinfo=UTC)
    for since, until in sorted(spans):
        lasted += max(until - max(since, ended), timedelta(0))
        ended = max(ended, until)
    return lasted
