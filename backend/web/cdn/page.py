"""The tables of the page: by region, and the same asset from both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.compare.models import Pairing
from backend.compare.queries import AssetComparison, Comparison, RegionComparison
from backend.web import units
from backend.web.cdn.bars import LegBar, Scale, leg_bars, scale_of
from backend.web.cdn.caches import difference_of
from backend.web.cdn.words import (
    advice,
    first_verdict_in,
    never_comes,
    none_succeeds,
    pill,
    reasons_text,
    signed,
    title_of,
)
from backend.web.overview import Level, Word
from backend.web.phrases import number_of
from backend.web.waterfall.text import printable
from workers.diagnosis.pair.facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair.samples import Parts, Verdict
from workers.diagnosis.pair.verdict import MIN_PAIRS, PairVerdict
from workers.diagnosis.units import lasting
from workers.measurement.pair import CacheState

_CACHES = {
    CacheState.HIT: "HIT",
    CacheState.MISS: "MISS",
    CacheState.STALE: "EXPIRED",
    CacheState.BYPASS: "BYPASS",
    CacheState.DYNAMIC: "not cacheable",
}
# These speak of the pairs as a whole, and stand once above all tables; the sentence of the last would name addresses.
_SAME_ADDRESS = "Both legs were served by the same address and port: this may compare a server with itself."


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A verdict as it is shown: difference, interval and pill."""

    level: Level
    shape: str
    word: str
    difference: str
    interval: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """A region: its verdict and since when it holds, then both legs on the axis of the table."""

    name: str
    code: str
    pairs: str
    since: datetime | None
    side: Side
    legs: tuple[LegBar, ...]
    reason: str
    failed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetRow:
    """An asset in one region. `sizes` and `cache` are of the CDN, then of the origin; `flags` are sentences."""

    pairing: Pairing
    side: Side
    legs: tuple[LegBar, ...]
    sizes: tuple[str, str]
    size_difference: str
    cache: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRow:
    """What the CDN saves or costs in a region: to the first byte, in the download, and as a whole."""

    name: str
    cells: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CdnPage:
    """The whole page."""

    verdict: Word
    text: tuple[str, ...]
    todo: str | None
    warnings: tuple[str, ...]
    rows: tuple[RegionRow, ...]
    scale: Scale
    assets: tuple[AssetRow, ...]
    asset_scale: Scale
    saved: tuple[SavedRow, ...]


def page_of(comparison: Comparison, assets: Sequence[AssetComparison], *, reused: bool) -> CdnPage:
    """Everything that is shown of a pairing over all regions, and of all pairings in one."""
    regions = comparison.regions
    scale = scale_of(one.of(reused=reused) for one in regions)
    asset_scale = scale_of(one.region.of(reused=reused) for one in assets)
    interval_s, within = comparison.pairing.monitor.interval_s, comparison.window.until - comparison.window.since
    return CdnPage(
        verdict=title_of(regions, reused=reused),
        text=tuple(_failures(regions) if none_succeeds(regions) else reasons_text(regions, reused=reused)),
        todo=advice(regions, reused=reused),
        warnings=_warnings(regions, reused=reused),
        rows=tuple(
            _region_row(
                one,
                scale,
                lambda pairs: first_verdict_in(pairs, interval_s, within),
                reused=reused,
                since=None if reused else _since(comparison, one),
            )
            for one in regions
        ),
        scale=scale,
        assets=tuple(_asset_row(one, asset_scale, reused=reused) for one in assets),
        asset_scale=asset_scale,
        saved=tuple(_saved_row(one, reused=reused) for one in regions if _is_judged(one.of(reused=reused))),
    )


def share_text(us: int, of_us: int) -> str:
    """`+12 %` of the origin's time."""
    percent = round(100 * us / of_us) if of_us else 0
    return f"{'+' if percent > 0 else ''}{percent} %".replace("-", "\N{MINUS SIGN}")


def _since(comparison: Comparison, one: RegionComparison) -> datetime | None:
    """Since when the stored verdict has been the one that is shown; only a difference has a beginning."""
    if one.cold.verdict not in (Verdict.CDN_FASTER, Verdict.ORIGIN_FASTER):
        return None
    stored = [row for row in comparison.pairing.verdicts.all() if row.region_id == one.region.pk]
    return next((row.since for row in stored if row.verdict == one.cold.verdict), None)


def _region_row(
    one: RegionComparison, scale: Scale, verdict_in: Callable[[int], str], *, reused: bool, since: datetime | None
) -> RegionRow:
    found = one.of(reused=reused)
    waits = found.pairs < MIN_PAIRS
    # What fails each time comes no nearer to a verdict.
    failing = "all failed so far" if none_succeeds([one]) else verdict_in(found.pairs)
    when = "none can come" if never_comes(found) else failing
    pairs = number_of(found.pairs, "pair")
    return RegionRow(
        name=printable(one.region.name, 60),
        code=one.region.code,
        pairs=f"{found.pairs} of {MIN_PAIRS} pairs; {when}" if waits else pairs,
        since=since,
        side=side_of(found),
        legs=leg_bars(found, scale),
        reason=found.main_reason.text if found.main_reason and not waits else "",
        failed=_failed(one),
    )


def side_of(found: PairVerdict) -> Side:
    """Only a difference that is certain has a colour."""
    level, shape, word = pill(found)
    difference = found.difference
    is_firm = found.verdict in (Verdict.CDN_FASTER, Verdict.ORIGIN_FASTER)
    interval = ""
    if difference is not None and difference.low_us is not None and difference.high_us is not None:
        interval = f"{signed(difference.low_us)} … {signed(difference.high_us)}"
    return Side(
        level=level,
        shape=shape,
        word=word,
        difference=signed(difference.estimate_us) if difference else units.ABSENT,
        interval=interval,
        colour=level if is_firm else "muted",
    )


def _asset_row(one: AssetComparison, scale: Scale, *, reused: bool) -> AssetRow:
    found = one.region.of(reused=reused)
    return AssetRow(
        pairing=one.pairing,
        side=side_of(found),
        legs=leg_bars(found, scale),
        sizes=(_size(found.a), _size(found.b)),
        size_difference=difference_of(_body_bytes(found.a), _body_bytes(found.b)),
        cache=_cache(found.a),
        flags=_sentences([one.region], reused=reused, in_all=False),
    )


def _body_bytes(facts: LegFacts | None) -> float | None:
    return None if facts is None else facts.body_bytes


def _size(facts: LegFacts | None) -> str:
    if facts is None or facts.body_bytes is None:
        return units.ABSENT
    encoding = facts.content_encoding
    packed = "" if encoding in (None, NOT_PACKED) else f" {printable(encoding or '', 20)}"
    return f"{units.size(round(facts.body_bytes))}{packed}"


def _cache(facts: LegFacts | None) -> str:
    """`HIT 38 of 40, age 3 h`."""
    if facts is None:
        return units.ABSENT
    if not facts.told_of_cache:
        return "does not say"
    usual = next(state for state in facts.caches if state is not CacheState.UNKNOWN)
    text = f"{_CACHES[usual]} {facts.caches[usual]} of {facts.answers}"
    return text if facts.age_s is None else f"{text}, age {lasting(facts.age_s)}"


def _failed(one: RegionComparison) -> str:
    if not one.failed:
        return ""
    reason = f": {printable(_of_side(one.last_failure), 200)}" if one.last_failure else ""
    return f"{number_of(one.failed, 'pair')} failed{reason}"


def _failures(regions: Sequence[RegionComparison]) -> list[str]:
    """What went wrong where nothing else is known, of a few regions."""
    told = [f"{printable(one.region.name, 60)}: {_failed(one)}" for one in regions if one.failed]
    return [f"{text.removesuffix('.')}." for text in told[:3]]


def _of_side(failure: str) -> str:
    """A leg is called here what it is."""
    for leg, name in (("Leg a: ", "CDN: "), ("Leg b: ", "Origin: ")):
        failure = name + failure.removeprefix(leg) if failure.startswith(leg) else failure
    return failure


def _warnings(regions: Sequence[RegionComparison], *, reused: bool) -> tuple[str, ...]:
    return _sentences(regions, reused=reused, in_all=True)


def _sentences(regions: Sequence[RegionComparison], *, reused: bool, in_all: bool) -> tuple[str, ...]:
    """What a reader must know. Of several regions it is named where it holds, unless it holds in all."""
    where: dict[str, tuple[str, list[str]]] = {}
    for one in regions:
        for warning in one.of(reused=reused).warnings:
            if warning.id == "failed_pairs":
                continue
            text = _SAME_ADDRESS if warning.id == "same_address" else warning.text
            where.setdefault(warning.id, (text, []))[1].append(printable(one.region.name, 60))
    return tuple(
        text if not in_all or len(names) == len(regions) else f"{', '.join(names)}: {text}"
        for text, names in where.values()
    )


def _is_judged(found: PairVerdict) -> bool:
    return found.pairs >= MIN_PAIRS and found.by_phase is not None and found.b is not None


def _saved_row(one: RegionComparison, *, reused: bool) -> SavedRow:
    found = one.of(reused=reused)
    apart, origin = found.by_phase or Parts(), found.b.parts if found.b else Parts()
    shares = (
        ("First byte", apart.total - apart.download, origin.total - origin.download),
        ("Download", apart.download, origin.download),
        ("Whole", apart.total, origin.total),
    )
    cells = tuple((name, signed(us), share_text(us, base_us)) for name, us, base_us in shares)
    return SavedRow(name=printable(one.region.name, 60), cells=cells)
