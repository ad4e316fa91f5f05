"""Sites side by side as their page shows them: a sentence, a table, and the lines of the chart. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.utils import timezone

from backend.analysis.side_by_side import Difference
from backend.fleet.models import Region
from backend.runs.queries.series import RANGES
from backend.runs.queries.side_by_side import DEFAULT_RANGE, Seen, SideBySide
from backend.sites.models import Deploy, Monitor, MonitorKind, Site
from backend.web import units
from backend.web.cdn.bars import LegBar, leg_bar, scale_over
from backend.web.phrases import number_of
from backend.web.series import METRIC_NAMES, PHASES, PhaseSeries, RegionSeries, metrics_of
from backend.web.side_by_side_words import Told, Verdict, interval_of, name_of, signed, told_of, verdict_of
from backend.web.trend import mark_of, point_of
from workers.diagnosis.pair.samples import Parts

KINDS = (MonitorKind.PROBE, MonitorKind.PAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideChoice:
    """What the reader looks at: every part of it stands in the URL. `beside` is the site that the others are held
    against; empty for the quickest."""

    sites: tuple[str, ...]
    kind: str
    range: str
    region: str
    metric: str
    beside: str

    def query(self, changes: Mapping[str, str]) -> str:
        """The URL's query with parts changed; an empty part is left out."""
        return self._query(self.sites, {"beside": self.beside, **changes})

    def without(self, site: str) -> str:
        """The URL's query with one site fewer."""
        return self._query([one for one in self.sites if one != site], {})

    @property
    def parts(self) -> dict[str, str]:
        """All but the sites, as the URL names it."""
        return {"kind": self.kind, "range": self.range, "region": self.region, "metric": self.metric}

    def _query(self, sites: Sequence[str], changes: Mapping[str, str]) -> str:
        named = {name: value for name, value in {**self.parts, **changes}.items() if value}
        return "?" + urlencode([*(("site", site) for site in sites), *named.items()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A site from a region, or from all of them. What differs is empty for the site that the others are held against,
    and where nothing is known of it; `note` says how much was measured."""

    column: str
    median_us: int | None
    difference: str
    interval: str
    told: Told | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`without` and `beside` are queries: of the page without the site, and of all held against it."""

    site: Site
    name: str
    is_reference: bool
    cells: tuple[Cell, ...]
    leg: LegBar | None
    shares: str
    without: str
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePage:
    """`scale` says what the axis of the bars is; empty where nothing is compared."""

    verdict: Verdict
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    scale: str
    reference: str


def choice_of(parameters: Mapping[str, str], sites: Sequence[Site], regions: Sequence[Region]) -> SideChoice:
    """From a URL's parameters, whatever they hold."""
    ids = tuple(str(site.public_id) for site in sites)
    kind = parameters.get("kind", "")
    kind = kind if kind in KINDS else KINDS[0].value
    usual = "lcp_ms" if kind == MonitorKind.PAGE else "ttfb_ms"
    region, span, beside = (parameters.get(name, "") for name in ("region", "range", "beside"))
    return SideChoice(
        sites=ids,
        kind=kind,
        range=span if span in RANGES else DEFAULT_RANGE,
        region=region if region in {one.code for one in regions} else "",
        metric=next((metric for metric in metrics_of(kind) if metric == parameters.get("metric")), usual),
        beside=beside if beside in ids else "",
    )


def page_of(found: SideBySide, choice: SideChoice) -> SidePage:
    """Two monitors or more."""
    reference = next((one for one in found.sites if str(one.site.public_id) == choice.beside), found.sites[0])
    places: list[Region | None] = [None, *found.regions] if len(found.compared) > 1 else [*found.regions]
    columns = [_column(found, place, reference) for place in places]
    parts = {one.pk: Parts(*(round(us or 0) for us in found.phases_us(one.pk))) for one in _laid_open(found)}
    scale = scale_over(parts.values())
    rows = [
        Row(
            site=one.site,
            name=name_of(one),
            is_reference=one == reference,
            cells=tuple(cells[one.pk] for cells in columns),
            leg=leg_bar(name_of(one), parts[one.pk], scale) if one.pk in parts else None,
            shares=_shares(found.phases_us(one.pk)) if one.pk in parts else "",
            without=choice.without(str(one.site.public_id)),
            beside=choice.query({"beside": str(one.site.public_id)}),
        )
        for one in found.sites
    ]
    return SidePage(
        verdict=verdict_of(found, choice.range, METRIC_NAMES[choice.metric]),
        columns=tuple(map(_name_of_column, places)),
        rows=tuple(rows),
        scale=scale.text,
        reference=name_of(reference),
    )


def series_of(found: SideBySide, choice: SideChoice, deploys: Sequence[Deploy]) -> PhaseSeries:
    """A line for each site, in the order of the table."""
    return PhaseSeries(
        since_ms=_ms(found.since),
        until_ms=_ms(found.until),
        zone=timezone.get_current_timezone_name(),
        metrics=(choice.metric,),
        names=(METRIC_NAMES[choice.metric],),
        regions=tuple(
            RegionSeries(
                region=str(one.site.public_id), name=name_of(one), points=tuple(map(point_of, found.points[one.pk]))
            )
            for one in found.sites
            if any(point.failed or point.values != (None,) for point in found.points[one.pk])
        ),
        deploys=tuple(map(mark_of, deploys)),
    )


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _name_of_column(place: Region | None) -> str:
    return "All regions" if place is None else place.name


def _laid_open(found: SideBySide) -> tuple[Monitor, ...]:
    """Those of which it is known over the same hours where their time goes."""
    return found.rivals if found.compared else ()


def _column(found: SideBySide, place: Region | None, reference: Monitor) -> dict[int, Cell]:
    """The cells of a region, or of all that are compared, by monitor."""
    beside = found.beside(reference.pk, None if place is None else place.pk)
    return {one.pk: _cell(found, one, place, beside.get(one.pk)) for one in found.sites}


def _cell(found: SideBySide, monitor: Monitor, place: Region | None, difference: Difference | None) -> Cell:
    if place is None:
        is_rival = monitor in found.rivals
        median_us = found.median_us(monitor.pk) if is_rival else None
        note = number_of(found.runs(monitor.pk), "run") if is_rival else ""
    else:
        seen = found.seen.get((monitor.pk, place.pk))
        median_us, note = (seen.median_us, _note(seen)) if seen else (None, "")
    return Cell(
        column=_name_of_column(place),
        median_us=None if median_us is None else round(median_us),
        difference="" if difference is None else signed(difference.value_us),
        interval="" if difference is None else interval_of(difference),
        told=None if difference is None else told_of(difference),
        note=note,
    )


def _note(seen: Seen) -> str:
    parts = [number_of(seen.runs, "run")] if seen.runs else []
    if seen.failed:
        parts.append(f"{units.count(seen.failed)} failed")
    if seen.runs and not seen.is_compared:
        parts.append("not compared")
    return ", ".join(parts)


def _shares(phases_us: Sequence[float | None]) -> str:
    """`DNS 2 %, Connect (TCP) 13 %`: of the sum of all."""
    total_us = sum(us for us in phases_us if us is not None)
    return ", ".join(
        f"{METRIC_NAMES[metric]} {units.ABSENT if us is None else f'{100 * us / total_us:.0f} %'}"
        for metric, us in zip(PHASES[1:], phases_us, strict=True)
        if total_us
    )
