"""The table of regions for a spreadsheet, and the whole comparison for a program."""

from collections.abc import Iterator
from typing import Any

from backend.compare.queries import Comparison, RegionComparison
from backend.spreadsheets import Cell, csv_of
from workers.diagnosis.pair.document import Asked, compare_document
from workers.diagnosis.pair.samples import CDN_AND_ORIGIN, Parts
from workers.diagnosis.pair.verdict import Comparison as Verdicts
from workers.diagnosis.pair.verdict import PairVerdict

_PHASES = Parts._fields
COLUMNS = (
    "region",
    "connections",
    "verdict",
    "pairs",
    "cdn_ms",
    "origin_ms",
    "difference_ms",
    "low_ms",
    "high_ms",
    "confidence",
    "difference_pct",
    "first_byte_difference_ms",
    *(f"{phase}_difference_ms" for phase in _PHASES),
    "reason",
)


def table_of(comparison: Comparison) -> str:
    """One row a region, for cold and for reused connections. Differences are the CDN's time less the origin's."""
    both = ((one, reused) for one in comparison.regions for reused in (False, True))
    return csv_of(COLUMNS, (_cells(one, one.of(reused=reused), reused=reused) for one, reused in both))


def document_of(comparison: Comparison) -> dict[str, Any]:
    """The verdict over all regions, and each region as `firstbyte compare --json` prints it."""
    pairing = comparison.pairing
    asked = Asked(a=pairing.monitor.url, b=pairing.other.url, names=CDN_AND_ORIGIN)
    return {
        "pairing": {"id": str(pairing.public_id), "name": pairing.name},
        "since": comparison.since.isoformat(),
        "until": comparison.window.until.isoformat(),
        "verdict": comparison.cold.verdict.value,
        "sentence": comparison.cold.sentence,
        "pairs": comparison.cold.pairs,
        "regions": [_region(asked, one) for one in comparison.regions],
    }


def _region(asked: Asked, one: RegionComparison) -> dict[str, Any]:
    verdicts = Verdicts(cold=one.cold, reused=one.reused)
    document = compare_document(asked, verdicts, one.diagnosis, failed=one.failed, failure=None)
    return {"region": one.region.code, "name": one.region.name, **document}


def _cells(one: RegionComparison, found: PairVerdict, *, reused: bool) -> Iterator[Cell]:
    difference, parts = found.difference, found.by_phase
    yield one.region.code
    yield "reused" if reused else "cold"
    yield found.verdict.value
    yield found.pairs
    yield _ms(None if found.a is None else found.a.parts.total)
    yield _ms(None if found.b is None else found.b.parts.total)
    for us in (
        difference and difference.estimate_us,
        difference and difference.low_us,
        difference and difference.high_us,
    ):
        yield _ms(us if isinstance(us, int) else None)
    yield difference.confidence if difference else ""
    yield _percent(found)
    yield _ms(None if parts is None else parts.total - parts.download)
    for phase in _PHASES:
        yield _ms(None if parts is None else getattr(parts, phase))
    yield found.main_reason.text if found.main_reason else ""


def _percent(found: PairVerdict) -> float | str:
    if found.difference is None or found.b is None or not found.b.parts.total:
        return ""
    return round(100 * found.difference.estimate_us / found.b.parts.total, 1)


def _ms(us: int | None) -> float | str:
    return "" if us is None else round(us / 1000, 3)
