"""What a report of a week says, from what was measured."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from django.db.models import Case, IntegerField, QuerySet, Value, When

from backend.accounts.models import Organisation
from backend.alerts.message import Severity
from backend.alerts.models import Incident
from backend.alerts.queries.uptime import seen_of
from backend.analysis.uptime import Seen, uptime_in
from backend.analysis.weeks import MonitorWeek, RegionWeek, region_week, together
from backend.fleet.models import Region
from backend.fleet.queries import seen_by
from backend.instants import to_us
from backend.runs.diagnoses import causes_in_order, known_causes
from backend.runs.queries import FoundCause, worst_findings
from backend.runs.queries.days import medians_of_days
from backend.runs.queries.series import column_of
from backend.sites.models import Monitor, Site, SiteStatus
from backend.weekly.report import WEEK, AlertWeek, CauseWeek, Report, SiteWeek, UptimeWeek, begin_of
from workers.measurement.finding import Severity as CauseSeverity
from workers.measurement.messages import Kind

# What says how fast a site is: the first byte of its probe, the largest paint of its page.
METRICS = {Kind.PROBE: "ttfb_ms", Kind.PAGE: "lcp_ms"}
MAX_ALERTS = 20


def collect(organisation: Organisation, week: date) -> Report:
    """The report of the week that begins on a Monday, by UTC. Fifteen statements."""
    begin = begin_of(week)
    sites = list(Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE).order_by("name", "pk"))
    monitors = list(Monitor.objects.filter(site__in=sites, kind__in=METRICS).order_by("pk"))
    seen = seen_of(organisation, sites, begin - WEEK, begin + WEEK)
    weeks = _weeks_of(organisation, monitors, week)
    incidents = _told(organisation, week)
    alerts = Counter(incidents.values_list("site", flat=True))
    causes = _causes(organisation, monitors)
    found = [
        _site(site, _uptime(seen[site.pk], week), alerts[site.pk], weeks[site.pk], causes.get(site.pk, ()))
        for site in sites
    ]
    return Report(
        week=week,
        sites=tuple(sorted(filter(_was_measured, found), key=_urgency)),
        alerts=tuple(map(_alert, incidents[:MAX_ALERTS])),
        alert_count=alerts.total(),
    )


def _site(
    site: Site, uptime: UptimeWeek, alerts: int, weeks: Mapping[str, MonitorWeek | None], causes: Iterable[FoundCause]
) -> SiteWeek:
    return SiteWeek(
        site_id=str(site.public_id),
        name=site.name,
        url=site.url,
        uptime=uptime,
        alerts=alerts,
        probe=weeks.get(Kind.PROBE),
        page=weeks.get(Kind.PAGE),
        cause=_first(causes),
    )


def _was_measured(site: SiteWeek) -> bool:
    return site.uptime.share is not None or site.probe is not None or site.page is not None


def _urgency(site: SiteWeek) -> tuple[int, bool, str]:
    return -site.uptime.down_us, not site.became_slower, site.name


def _uptime(seen: Seen, week: date) -> UptimeWeek:
    begin, middle, end = (to_us(begin_of(day)) for day in (week - WEEK, week, week + WEEK))
    before, now = uptime_in(seen, (begin, middle)), uptime_in(seen, (middle, end))
    return UptimeWeek(
        share=now.share, before=before.share, down_us=now.down_us, partly_us=now.partly_us, outages=now.outages
    )


def _weeks_of(
    organisation: Organisation, monitors: Sequence[Monitor], week: date
) -> Mapping[int, Mapping[str, MonitorWeek | None]]:
    """By site and kind."""
    regions = list(Region.objects.filter(seen_by(organisation.pk)).order_by("name", "pk").values_list("pk", "name"))
    begin = begin_of(week)
    found: dict[int, dict[str, MonitorWeek | None]] = defaultdict(dict)
    for kind, metric in METRICS.items():
        mine = [monitor for monitor in monitors if monitor.kind == kind]
        days = medians_of_days([monitor.pk for monitor in mine], column_of(metric), begin - WEEK, begin + WEEK)
        for monitor in mine:
            seen = days.get(monitor.pk, {})
            places = (_region(monitor, metric, name, seen[pk], week) for pk, name in regions if pk in seen)
            found[monitor.site_id][kind] = together([place for place in places if place is not None])
    return found


def _region(monitor: Monitor, metric: str, name: str, days: Mapping[date, float], week: date) -> RegionWeek | None:
    """What was measured in another way before the monitor was changed is compared with nothing."""
    since = None if monitor.due_since is None else monitor.due_since.date() + timedelta(days=1)
    before = {day.weekday(): one for day, one in days.items() if day < week and (since is None or day >= since)}
    now = {day.weekday(): one for day, one in days.items() if day >= week}
    return region_week(name, metric, before, now)


def _told(organisation: Organisation, week: date) -> "QuerySet[Incident]":
    """Alerts that began in the week and that channels heard of, the worst first."""
    worst = Case(
        *(When(severity=severity, then=Value(place)) for place, severity in enumerate(Severity)),
        output_field=IntegerField(),
    )
    begin = begin_of(week)
    found = Incident.objects.filter(organisation=organisation, opened_at__gte=begin, opened_at__lt=begin + WEEK)
    return found.exclude(told_at=None).order_by(worst, "opened_at", "pk")


def _alert(incident: Incident) -> AlertWeek:
    return AlertWeek(
        incident_id=str(incident.public_id),
        title=incident.title,
        severity=incident.severity,
        began_at=incident.opened_at.isoformat(),
        ended_at=None if incident.resolved_at is None else incident.resolved_at.isoformat(),
    )


def _causes(organisation: Organisation, monitors: Sequence[Monitor]) -> Mapping[int, Sequence[FoundCause]]:
    """By site."""
    regions = list(Region.objects.filter(seen_by(organisation.pk), enabled=True).values_list("pk", flat=True))
    probes, pages = ([one.pk for one in monitors if one.kind == kind] for kind in METRICS)
    by_monitor = worst_findings(probes, regions, pages=pages)
    found: dict[int, list[FoundCause]] = defaultdict(list)
    for monitor in monitors:
        found[monitor.site_id] += by_monitor.get(monitor.pk, [])
    return found


def _first(causes: Iterable[FoundCause]) -> CauseWeek | None:
    costly = [one for one in causes_in_order(known_causes(causes)) if one.severity is not CauseSeverity.INFO]
    if not costly:
        return None
    return CauseWeek(finding=costly[0].id, severity=costly[0].severity, saving_us=costly[0].saving_us)
