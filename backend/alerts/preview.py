"""What a rule would have told in the last two weeks: the judge's own code over stored runs; nothing is written."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.incidents import JOIN
from backend.alerts.judgement.monitors import MonitorJudge, RuleSpec, Subject, applies
from backend.alerts.judgement.samples import Sample, from_us
from backend.alerts.metrics import measured_by
from backend.alerts.parameters import checked
from backend.alerts.reading import SAMPLE_SQL, sample_of
from backend.alerts.states import State
from backend.analysis.events import AlertClass
from backend.analysis.replay import replay
from backend.analysis.settings import settings_for
from backend.fleet.queries import usable_regions
from backend.runs.sql import Row, fetch
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.queries import deploys_between

PERIOD = timedelta(days=14)
# As many as a page can wait for: reading and judging them takes two to three seconds.
MAX_RUNS = 60_000
MAX_MONITORS = 50
MAX_MOMENTS = 20

_RUNS = f"""
SELECT {SAMPLE_SQL} FROM runs_run
WHERE monitor_id = ANY(%(monitors)s::bigint[]) AND region_id = ANY(%(regions)s::bigint[])
    AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND trigger = 'schedule'
ORDER BY monitor_id, region_id, scheduled_for, attempt LIMIT %(limit)s
"""
_NOT_REPLAYED = {
    "certificate": "Certificates end once in weeks or months: there is nothing to try it on.",
    "no_data": "Which agents lived at the time is not kept, so this cannot be tried on the past.",
    "agent": "Which agents lived at the time is not kept, so this cannot be tried on the past.",
    "cdn": "Comparisons of the CDN with the origin keep their own history.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """`alerts` is how many incidents the rule would have opened since `since`, `moments` when the latest of them began.

    None, with the reason, for a rule that cannot be tried on the past. `runs` is how many runs it was tried on.
    """

    alerts: int | None
    since: datetime
    runs: int = 0
    moments: tuple[datetime, ...] = ()
    reason: str = ""


class _Turn(NamedTuple):
    """When something became bad or good, and what."""

    at_us: int
    what: str
    is_bad: bool


def preview(
    organisation: Organisation,
    *,
    kind: str,
    params: Mapping[str, Any],
    delay_s: int = 0,
    site: Site | None = None,
    monitor: Monitor | None = None,
    now: datetime | None = None,
) -> Preview:
    """Tries a rule on the past of a site, one of its monitors, or all sites. Raises InvalidRuleError."""
    complete = checked(kind, params)
    until = now or timezone.now()
    if kind in _NOT_REPLAYED:
        return Preview(alerts=None, since=until - PERIOD, reason=_NOT_REPLAYED[kind])
    spec = RuleSpec(rule_id=0, version=1, kind=kind, params=complete, delay_us=delay_s * 1_000_000)
    monitors = [found for found in _monitors(organisation, site, monitor) if _concerns(spec, found)]
    regions = {region.pk: region.code for region in usable_regions(organisation)}
    since = until - _period(monitors, len(regions))
    samples = _samples(monitors, regions, since, until)
    turns = sorted(turn for found in monitors for turn in _turns(spec, found, samples[found.pk], since, until))
    moments = _openings(turns)
    runs = sum(len(mine) for mine in samples.values())
    return Preview(alerts=len(moments), since=since, runs=runs, moments=tuple(moments[-MAX_MOMENTS:]))


def _monitors(organisation: Organisation, site: Site | None, monitor: Monitor | None) -> list[Monitor]:
    found = Monitor.objects.filter(site__organisation=organisation, site__status=SiteStatus.ACTIVE)
    if site is not None:
        found = found.filter(site=site)
    if monitor is not None:
        found = found.filter(pk=monitor.pk)
    return list(found.select_related("site").order_by("pk")[:MAX_MONITORS])


def _concerns(spec: RuleSpec, monitor: Monitor) -> bool:
    if spec.kind == "regression":
        return any(measured_by(metric, monitor.kind) for metric in spec.params["metrics"])
    return applies(spec, monitor.kind)


def _period(monitors: Sequence[Monitor], regions: int) -> timedelta:
    """Two weeks, or as much as there is time to look at."""
    a_second = sum((len(monitor.regions) or regions) / monitor.interval_s for monitor in monitors)
    return min(PERIOD, timedelta(seconds=MAX_RUNS / a_second)) if a_second else PERIOD


def _samples(
    monitors: Sequence[Monitor], regions: Mapping[int, str], since: datetime, until: datetime
) -> dict[int, list[Sample]]:
    parameters = {
        "monitors": [monitor.pk for monitor in monitors],
        "regions": list(regions),
        "since": since,
        "until": until,
        "limit": 2 * MAX_RUNS,
    }
    slots: dict[tuple[int, int, datetime], list[Row]] = defaultdict(list)
    for row in fetch(_RUNS, parameters) if monitors else ():
        slots[row[0], row[1], row[2]].append(row)
    found: dict[int, list[Sample]] = {monitor.pk: [] for monitor in monitors}
    for (monitor_id, region_id, _), rows in slots.items():
        found[monitor_id].append(sample_of(rows, regions[region_id]))
    for mine in found.values():
        mine.sort(key=lambda sample: sample.at_us)
    return found


def _turns(
    spec: RuleSpec, monitor: Monitor, samples: Sequence[Sample], since: datetime, until: datetime
) -> Iterator[_Turn]:
    if spec.kind == "regression":
        yield from _changes_of_speed(spec, monitor, samples, since, until)
        return
    judge = MonitorJudge([spec], Subject(kind=monitor.kind, interval_s=monitor.interval_s), {})
    for sample in samples:
        for heard in judge.observe(sample):
            if heard.step:
                yield _Turn(heard.step.at_us, str(monitor.pk), heard.step.after is not State.OK)


def _changes_of_speed(
    spec: RuleSpec, monitor: Monitor, samples: Sequence[Sample], since: datetime, until: datetime
) -> Iterator[_Turn]:
    deploys = [deploy.at.timestamp() for deploy in deploys_between(monitor.site, since, until)]
    for metric in dict.fromkeys(spec.params["metrics"]):
        if not measured_by(metric, monitor.kind):
            continue
        series: dict[str, list[tuple[float, float | None]]] = defaultdict(list)
        for sample in samples:
            series[sample.region].append((sample.at_us / 1e6, sample.value(metric)))
        settings = settings_for(metric, interval_s=monitor.interval_s, min_change_pct=spec.params["min_change_pct"])
        for told in replay(series, deploys, settings):
            alert = told.alert
            at = alert.opened_at if spec.params["tell"] == "slowdown" else alert.confirmed_at
            if at is None or alert.alert_class is AlertClass.IMPROVEMENT:
                continue
            what = f"{monitor.pk} {metric}"
            yield _Turn(round(at * 1e6), what, is_bad=True)
            if told.ended_at is not None:
                yield _Turn(round(told.ended_at * 1e6), what, is_bad=False)


def _openings(turns: Sequence[_Turn]) -> list[datetime]:
    """When incidents would have opened: what is bad at the same time, or again within twenty minutes, is one."""
    bad: set[str] = set()
    openings: list[datetime] = []
    closed_at: datetime | None = None
    for turn in turns:
        at = from_us(turn.at_us)
        if not turn.is_bad:
            bad.discard(turn.what)
            closed_at = closed_at if bad else at
            continue
        if not bad and (closed_at is None or at - closed_at >= JOIN):
            openings.append(at)
        bad.add(turn.what)
    return openings
