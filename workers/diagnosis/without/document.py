"""What hosts cost a page as the JSON document that `firstbyte without` prints: milliseconds, absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next. Differences
are the loads without the hosts minus those with them: negative means sooner, or less.
"""

from collections.abc import Mapping, Sequence

from workers.diagnosis.catalogue import entry
from workers.diagnosis.pair.verdict import CONFIDENCE
from workers.diagnosis.without.cost import Cost, Estimate
from workers.diagnosis.without.samples import COUNTS, Load, LoadPair, Metric
from workers.diagnosis.without.verdict import MetricVerdict
from workers.measurement.document import Document, failure_part, milliseconds

WITHOUT_SCHEMA = "firstbyte.without/1"
_PLAIN = frozenset({Metric.SPEED_INDEX, *COUNTS})


def without_document(url: str, cost: Cost, pairs: Sequence[LoadPair]) -> Document:
    """`loads` has the pairs in the order in which they were made, with what was measured of each load."""
    return {
        "schema": WITHOUT_SCHEMA,
        "url": url,
        "hosts": list(cost.hosts),
        "verdict": str(cost.verdict),
        "sentence": cost.sentence,
        "difference_is": "without minus with",
        "confidence": CONFIDENCE,
        "pairs": cost.pairs,
        "left_out": {str(reason): count for reason, count in sorted(cost.left_out.items())},
        "metrics": {_name(metric): _verdict(metric, cost.metrics.get(metric)) for metric in Metric},
        "estimates": [_estimate(one) for one in cost.estimates],
        "gone_hosts": list(cost.gone),
        "warnings": [warning.text for warning in cost.warnings],
        "loads": [_pair(pair) for pair in pairs],
        "error": None if cost.failure is None else failure_part(cost.failure),
    }


def _name(metric: Metric) -> str:
    """`speed_index` is in milliseconds by the field's custom."""
    return str(metric) if metric in _PLAIN else f"{metric}_ms"


def _verdict(metric: Metric, verdict: MetricVerdict | None) -> Document | None:
    if verdict is None:
        return None
    difference = {name: _number(metric, getattr(verdict, name)) for name in ("estimate", "low", "high")}
    return {
        "verdict": str(verdict.verdict),
        "pairs": verdict.pairs,
        "with": _number(metric, verdict.with_hosts),
        "without": _number(metric, verdict.without),
        "difference": difference,
        "seeable": _number(metric, verdict.seeable),
        "margin": _number(metric, verdict.margin),
    }


def _number(metric: Metric, amount: float | None) -> float | None:
    if amount is None or metric in COUNTS:
        return amount
    return milliseconds(round(amount))


def _estimate(estimate: Estimate) -> Document:
    return {
        "id": str(estimate.id),
        "title": entry(estimate.id).title,
        "host": estimate.host,
        "saving_ms": milliseconds(estimate.saving_us),
    }


def _pair(pair: LoadPair) -> Document:
    return {"first": str(pair.first), "with": _load(pair.with_hosts), "without": _load(pair.without)}


def _load(load: Load) -> Document:
    values: Mapping[Metric, int | None] = {} if load.sample is None else load.sample.values
    return {
        "left_out": None if load.left_out is None else str(load.left_out),
        **{_name(metric): _number(metric, values.get(metric)) for metric in Metric},
        "largest": None if load.sample is None else load.sample.largest,
    }
