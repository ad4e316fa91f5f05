"""Rules as people write them on a command line: `ttfb<=+10%,5ms`, `lcp<=2.5s`."""

import re
from typing import Any

from workers.commands import UsageError

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_RULE = re.compile(rf"([a-z_]{{1,40}})\s*<=?\s*(\+?){_NUMBER}\s*(%|[a-zA-Z]*)(?:\s*,\s*{_NUMBER}\s*([a-zA-Z]*))?")
_TIMES = {"ms": 1.0, "s": 1_000.0}
_OTHERS = {"": 1.0, "b": 1.0, "kb": 1_000.0, "mb": 1_000_000.0}
_NO_TIMES = frozenset({"requests", "connections", "bytes", "cls"})


def parse_rule(text: str, *, level: str) -> dict[str, Any]:
    """The rule as the API takes it. Raises UsageError."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no rule; write ttfb<=+10%, ttfb<=+10%,5ms or lcp<=2500ms")
    metric, sign, number, unit, least, least_unit = found.groups()
    rule: dict[str, Any] = {"metric": metric, "level": level}
    if unit == "%":
        rule["max_change_pct"] = float(number)
        if least is not None:
            rule |= _value("min_change", metric, least, least_unit)
        return rule
    if sign or least is not None:
        raise UsageError(f"{text!r} is no rule: a greatest value has neither a sign nor a least change")
    return rule | _value("max_value", metric, number, unit)


def _value(name: str, metric: str, number: str, unit: str) -> dict[str, float]:
    """In milliseconds for times, whether a unit is written or not; else in the metric's own unit."""
    is_time = metric.removesuffix("_ms") not in _NO_TIMES
    scales = {"": 1.0, **_TIMES} if is_time else _OTHERS
    scale = scales.get(unit.lower())
    if scale is None:
        raise UsageError(f"{unit!r} is no unit of {metric}; use {', '.join(filter(None, scales))}")
    return {f"{name}_ms" if is_time else name: float(number) * scale}
