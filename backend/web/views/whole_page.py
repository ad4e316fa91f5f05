"""A whole page through a CDN beside the same page from its origin, where two sites of the organisation load it so."""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from django.db.models import Q

from backend.compare.models import OriginLoad, Pairing
from backend.fleet.models import Region
from backend.runs.models import Outcome, PendingRun, Run, Trigger
from backend.runs.queries import RunDetail, recent_runs, run_detail
from backend.sites import page_settings
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.monitor_settings import MonitorSettings, stored_settings
from backend.web.waterfall.rows import Chart
from backend.web.waterfall.side_by_side import charts_on_one_axis
from backend.web.waterfall.text import printable
from workers.measurement.messages import Kind, PageMeasurement
from workers.measurement.page_options import PageOptions

MAX_ROWS = 20
# Among so many of a region's newest runs one that measured is looked for, and among so many monitors of one page.
_RUNS, _MONITORS = 10, 20
_OTHERWISE = "The two sites load the page with different settings besides"
_AT_HOME = (
    "Headers, cookies, a login and a script of the page stay with its own server, so that the load went without them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The newest load on one of the two ways, its waterfall on the axis of both."""

    name: str
    detail: RunDetail
    chart: Chart

    @property
    def more(self) -> int:
        """How many rows are not drawn here."""
        return max(0, len(self.chart.rows) - MAX_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePage:
    """Without `loads` one of the two is missing. `mapped` is who asks the origin for what the CDN's `host` serves.

    `unlike` says what else the two differ in, so that not all of the difference is that host's doing. `once` is the
    last load that somebody asked for once, while it is under way or where it failed.
    """

    page_url: str
    host: str
    mapped: Monitor | None
    unlike: str = ""
    loads: tuple[Load, ...] = ()
    once: "Once | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A load that was asked for once and of which there is no waterfall; without a `run` it is under way."""

    run: Run | None
    text: str


def whole_page_of(site: Site, pairing: Pairing, region: Region | None) -> WholePage | None:
    """The site's page on both ways; None where the site loads no page."""
    settings = {monitor: stored_settings(monitor) for monitor in _loading_the_same(site)}
    pages = {monitor: known.page for monitor, known in settings.items() if "page" not in known.unreadable}
    if not pages:
        return None
    host = urlsplit(pairing.monitor.url).hostname or ""
    mapped = next((monitor for monitor, page in pages.items() if _maps(page, host)), None)
    direct = next((monitor for monitor, page in pages.items() if not _maps(page, host)), None)
    whole = WholePage(page_url=next(iter(pages)).url, host=host, mapped=mapped)
    if direct is None or region is None:
        return whole
    asked = OriginLoad.objects.filter(pairing=pairing, region=region).order_by("-asked_at", "-pk").first()
    if asked is None and mapped is None:
        return whole
    there, once = _from_origin(asked, _newest(mapped, region) if mapped is not None else None)
    whole = replace(whole, once=once)
    through = None if there is None else _newest(direct, region)
    if there is None or through is None or not (_is_seen(through) and _is_seen(there)):
        return whole
    asked_of, usual = settings.get(there.monitor, settings[direct]), settings[direct]
    unlike = "" if _besides(asked_of, host) == _besides(usual, host) else _OTHERWISE
    if there.run.trigger == Trigger.MAPPED and _has_secrets(asked_of):
        unlike = _AT_HOME
    return replace(whole, unlike=unlike, loads=_loads(through, there))


def _from_origin(asked: OriginLoad | None, usual: RunDetail | None) -> tuple[RunDetail | None, Once | None]:
    """The newest load from the origin, and what is to be said of a newer one that was asked for once."""
    if asked is None or (usual is not None and usual.run.scheduled_for > asked.asked_at):
        return usual, None
    once = run_detail(asked.pairing.site.organisation, asked.run_id)
    if once is None or not _is_seen(once) or once.run.config_version != once.monitor.config_version:
        return usual, _once(once, asked)
    return once, None


def _is_seen(detail: RunDetail) -> bool:
    return detail.run.outcome == Outcome.MEASURED and isinstance(detail.measurement, PageMeasurement)


def _once(detail: RunDetail | None, asked: OriginLoad) -> Once | None:
    """None for one that is over and done with: its page has other settings now, or it is no longer kept."""
    if detail is None:
        either = Q(run_id=asked.run_id) | Q(first_run_id=asked.run_id)
        return Once(run=None, text="is under way") if PendingRun.objects.filter(either).exists() else None
    if detail.run.outcome == Outcome.MEASURED:
        return None
    why = detail.run.failure_detail or "it was not carried out in time"
    return Once(run=detail.run, text=f"brought no waterfall: {printable(why, 200)}")


def _has_secrets(settings: MonitorSettings) -> bool:
    """Whether something is sent that a load at another address goes without."""
    return bool(settings.headers) or page_settings.for_another_server(settings.page) != settings.page


def _loading_the_same(site: Site) -> list[Monitor]:
    """The page monitors of the site's page, its own first."""
    own = Monitor.objects.filter(site=site, kind=Kind.PAGE.value)
    same = Monitor.objects.filter(kind=Kind.PAGE.value, url__in=own.values("url"))
    found = same.filter(site__organisation=site.organisation_id, site__status=SiteStatus.ACTIVE)
    known = found.select_related("site__organisation").defer(None).order_by("pk")[:_MONITORS]
    return sorted(known, key=lambda one: one.site_id != site.pk)


def _maps(page: PageOptions, host: str) -> bool:
    return any(one.host == host for one in page.host_map)


def _besides(settings: MonitorSettings, host: str) -> tuple[object, ...]:
    """What else makes one load differ from another."""
    others = tuple(one for one in settings.page.host_map if one.host != host)
    return replace(settings.page, host_map=others), settings.headers, settings.profile


def _loads(*known: RunDetail) -> tuple[Load, ...]:
    charts = charts_on_one_axis(*(one.measurement for one in known if one.measurement))
    names = ("Through the CDN", "From the origin")
    return tuple(
        Load(name=name, detail=detail, chart=chart) for name, detail, chart in zip(names, known, charts, strict=True)
    )


def _newest(monitor: Monitor, region: Region) -> RunDetail | None:
    """The last run that measured something with the settings of now: older ones may have gone the other way."""
    for line in recent_runs(monitor, region, limit=_RUNS):
        if line.run.outcome == Outcome.MEASURED and line.run.config_version == monitor.config_version:
            return run_detail(monitor.site.organisation, line.run.run_id)
    return None
