"""A whole page through a CDN beside the same page from its origin, where two sites of the organisation load it so."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from backend.compare.models import Pairing
from backend.fleet.models import Region
from backend.runs.models import Outcome
from backend.runs.queries import RunDetail, recent_runs, run_detail
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.monitor_settings import MonitorSettings, stored_settings
from backend.web.waterfall.rows import Chart
from backend.web.waterfall.side_by_side import charts_on_one_axis
from workers.measurement.messages import Kind, PageMeasurement
from workers.measurement.page_options import PageOptions

MAX_ROWS = 20
# Among so many of a region's newest runs one that measured is looked for, and among so many monitors of one page.
_RUNS, _MONITORS = 10, 20


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

    `alike` is false when the two differ in more than that host, so that not all of the difference is its doing.
    """

    page_url: str
    host: str
    mapped: Monitor | None
    alike: bool = True
    loads: tuple[Load, ...] = ()


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
    if mapped is None or direct is None or region is None:
        return whole
    alike = _besides(settings[mapped], host) == _besides(settings[direct], host)
    return replace(whole, alike=alike, loads=_loads((direct, mapped), region))


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


def _loads(monitors: Iterable[Monitor], region: Region) -> tuple[Load, ...]:
    newest = [_newest(monitor, region) for monitor in monitors]
    known = [one for one in newest if one is not None and isinstance(one.measurement, PageMeasurement)]
    if len(known) < len(newest):
        return ()
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
