"""What a rule would have told in the last two weeks: the judge's own code over stored runs; nothing is written."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.blind_agents import blindnesses_told
from backend.alerts.finding_hindsight import findings
from backend.alerts.hindsight import Past, Tried, Turn, certificates, silences, silent_regions, slower_cdns
from backend.alerts.incidents import JOIN
from backend.alerts.judgement.findings import told_by
from backend.alerts.judgement.monitors import MonitorJudge, RuleSpec, Subject, applies
from backend.alerts.judgement.samples import Sample
from backend.alerts.metrics import measured_by
from backend.alerts.parameters import checked, finding_limit
from backend.alerts.previewed import Preview
from backend.alerts.reading import SAMPLE_SQL, sample_of
from backend.alerts.recurring import is_on_time, rhythm
from backend.alerts.said_hindsight import turns_told
from backend.analysis.events import AlertClass
from backend.analysis.replay import replay
from backend.analysis.settings import settings_for
from backend.fleet.queries import usable_regions
from backend.instants import from_us
from backend.runs.sql import Row, fetch
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.queries import deploys_between

PERIOD = timedelta(days=14)
# As many as a page can wait for: reading and judging them takes two to three seconds.
MAX_RUNS = 60_000
# Of page loads all that each found is read and judged.
MAX_PAGE_LOOKS = 10_000
MAX_MONITORS = 50
MAX_MOMENTS = 20

_RUNS = f"""
SELECT {SAMPLE_SQL} FROM runs_run
WHERE monitor_id = ANY(%(monitors)s::bigint[]) AND region_id = ANY(%(regions)s::bigint[])
    AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND trigger = 'schedule'
ORDER BY monitor_id, region_id, scheduled_for, attempt LIMIT %(limit)s
"""
# What is told of besides single runs.
_BY_KIND: Mapping[str, Callable[[RuleSpec, Past], Tried]] = {
    "certificate": certificates,
    "no_data": silences,
    "agent": silent_regions,
    "finding": findings,
}
_AS_IT_WAS = "Comparisons are judged as they come, so this counts what was found then."
_NOT_YET = "Comparisons are judged as they come: once a rule looks, this says what it found."


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
    spec = RuleSpec(rule_id=0, version=1, kind=kind, params=complete, delay_us=delay_s * 1_000_000)
    regions = {region.pk: region.code for region in usable_regions(organisation)}
    if kind == "cdn":
        pairs = _monitors(organisation, site, monitor, kinds=["pair"])
        return _of_cdn(organisation, site, _past(organisation, spec, pairs, regions, until))
    monitors = [one for one in _monitors(organisation, site, monitor) if _concerns(spec, one)]
    past = _past(organisation, spec, monitors, regions, until)
    tried = _BY_KIND.get(kind, _of_runs)(spec, past)
    moments = _openings(sorted(tried.turns))
    # Before there was a site there was nothing to tell.
    begun = min((one.site.created_at for one in past.monitors if one.site.created_at < until), default=past.since)
    since = max(past.since, begun)
    return Preview(alerts=len(moments), since=since, runs=tried.runs, moments=tuple(moments[-MAX_MOMENTS:]))


def _past(
    organisation: Organisation,
    spec: RuleSpec,
    monitors: Sequence[Monitor],
    regions: Mapping[int, str],
    until: datetime,
) -> Past:
    """Two weeks, or as much as there is time to look at."""
    if spec.kind == "agent":
        monitors = _closest_watched(monitors, regions.values())
    often = [monitor for monitor in monitors if _is_looked_at_often(spec, monitor)]
    a_second = sum((len(monitor.regions) or len(regions)) / monitor.interval_s for monitor in often)
    most = MAX_PAGE_LOOKS if spec.kind == "finding" else MAX_RUNS
    period = min(PERIOD, timedelta(seconds=most / a_second)) if a_second else PERIOD
    blind = blindnesses_told(organisation, spec.kind, until - period, until)
    return Past(monitors=monitors, regions=regions, since=until - period, until=until, limit=2 * MAX_RUNS, blind=blind)


def _is_looked_at_often(spec: RuleSpec, monitor: Monitor) -> bool:
    """Of certificates and deep probes there are a few runs a day to look at, however many there are."""
    return spec.kind != "certificate" and (spec.kind != "finding" or monitor.kind == "page")


def _closest_watched(monitors: Sequence[Monitor], regions: Iterable[str]) -> list[Monitor]:
    """Of each region the monitor that is measured most often: agents that are silent are so to all."""
    chosen = {}
    for code in regions:
        here = [monitor for monitor in monitors if not monitor.regions or code in monitor.regions]
        for monitor in sorted(here, key=lambda monitor: (monitor.interval_s, monitor.pk))[:1]:
            chosen[monitor.pk] = monitor
    return list(chosen.values())


def _of_cdn(organisation: Organisation, site: Site | None, past: Past) -> Preview:
    found = slower_cdns(organisation, site, past)
    if found.since is None:
        return Preview(alerts=None, since=past.since, reason=_NOT_YET)
    moments = tuple(found.moments[-MAX_MOMENTS:])
    return Preview(alerts=len(found.moments), since=found.since, runs=found.runs, moments=moments, reason=_AS_IT_WAS)


def _of_runs(spec: RuleSpec, past: Past) -> Tried:
    samples = _samples(past)
    return Tried(turns=list(_turns(spec, samples, past)), runs=sum(len(mine) for mine in samples.values()))


def _monitors(
    organisation: Organisation, site: Site | None, monitor: Monitor | None, *, kinds: Sequence[str] = ("probe", "page")
) -> list[Monitor]:
    active = Monitor.objects.filter(site__organisation=organisation, site__status=SiteStatus.ACTIVE)
    found = active.filter(kind__in=kinds)
    if site is not None:
        found = found.filter(site=site)
    if monitor is not None:
        found = found.filter(pk=monitor.pk)
    return list(found.select_related("site").order_by("pk")[:MAX_MONITORS])


def _concerns(spec: RuleSpec, monitor: Monitor) -> bool:
    if spec.kind == "regression":
        return any(measured_by(metric, monitor.kind, monitor.user_timings) for metric in spec.params["metrics"])
    if spec.kind == "agent":
        return True
    if spec.kind == "finding":
        ids = finding_limit(spec.params).ids
        return not ids or any(told_by(id) == monitor.kind for id in ids)
    return applies(spec, _subject(monitor))


def _subject(monitor: Monitor) -> Subject:
    return Subject(kind=monitor.kind, interval_s=monitor.interval_s, user_timings=monitor.user_timings)


def _samples(past: Past) -> dict[int, list[Sample]]:
    slots: dict[tuple[int, int, datetime], list[Row]] = defaultdict(list)
    for row in fetch(_RUNS, past.parameters()) if past.monitors else ():
        slots[row[0], row[1], row[2]].append(row)
    found: dict[int, list[Sample]] = {monitor.pk: [] for monitor in past.monitors}
    for (monitor_id, region_id, _), rows in slots.items():
        found[monitor_id].append(sample_of(rows, past.regions[region_id]))
    return {
        monitor_id: sorted(past.blind.of_sites(mine), key=lambda sample: sample.at_us)
        for monitor_id, mine in found.items()
    }


def _turns(spec: RuleSpec, samples: Mapping[int, Sequence[Sample]], past: Past) -> Iterator[Turn]:
    if spec.kind == "regression":
        for monitor in past.monitors:
            yield from _changes_of_speed(spec, monitor, samples[monitor.pk], past)
        return
    heard = {}
    for monitor in past.monitors:
        judge = MonitorJudge([spec], _subject(monitor), {})
        heard[monitor] = [one for sample in samples[monitor.pk] for one in judge.observe(sample)]
    yield from turns_told(spec, heard, past)


def _changes_of_speed(spec: RuleSpec, monitor: Monitor, samples: Sequence[Sample], past: Past) -> Iterator[Turn]:
    deploys = [deploy.at.timestamp() for deploy in deploys_between(monitor.site, past.since, past.until)]
    scope = f"site {monitor.site_id}"
    for metric in dict.fromkeys(spec.params["metrics"]):
        if not measured_by(metric, monitor.kind, monitor.user_timings):
            continue
        series: dict[str, list[tuple[float, float | None]]] = defaultdict(list)
        for sample in samples:
            series[sample.region].append((sample.at_us / 1e6, sample.value(metric)))
        settings = settings_for(metric, interval_s=monitor.interval_s, min_change_pct=spec.params["min_change_pct"])
        for told in replay(series, deploys, settings):
            alert = told.alert
            at = alert.opened_at if spec.params["tell"] == "slowdown" else told.lasting_at
            if at is None or alert.alert_class is AlertClass.IMPROVEMENT:
                continue
            at = max(at, alert.change_at + spec.delay_us / 1e6)
            if at >= (told.ended_at or past.until.timestamp()):
                continue
            what = f"{monitor.pk} {metric}"
            yield Turn(round(at * 1e6), scope, what, is_bad=True)
            if told.ended_at is not None:
                yield Turn(round(told.ended_at * 1e6), scope, what, is_bad=False)


@dataclass(slots=True)
class _Scope:
    """What is bad in a scope at one time, when it was over last, when it began each time, and how often it comes where
    that is by the clock."""

    bad: set[str] = field(default_factory=set)
    closed_at: datetime | None = None
    begins: list[datetime] = field(default_factory=list)
    every: timedelta | None = None

    def opens(self, at: datetime) -> bool:
        """Whether what begins now is told: not where it has just been over, or comes by the clock."""
        if self.closed_at is not None and at - self.closed_at < JOIN:
            return False
        is_usual = self.every is not None and is_on_time(self.begins[-1], self.every, at)
        self.begins.append(at)
        self.every = self.every if is_usual else rhythm(self.begins)
        return not is_usual


def _openings(turns: Sequence[Turn]) -> list[datetime]:
    """When incidents would have opened: what is bad in a scope at one time, or again within twenty minutes, is one."""
    scopes: dict[str, _Scope] = defaultdict(_Scope)
    openings: list[datetime] = []
    for turn in turns:
        at, scope = from_us(turn.at_us), scopes[turn.scope]
        if turn.is_bad:
            if not scope.bad and scope.opens(at):
                openings.append(at)
            scope.bad.add(turn.what)
        elif turn.what in scope.bad:
            scope.bad.remove(turn.what)
            scope.closed_at = scope.closed_at if scope.bad else at
    return openings
