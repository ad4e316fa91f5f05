"""Rules as people write them on a command line: `ttfb<=+10%,5ms`, `lcp<=2.5s`."""

import re
from collections.abc import Mapping
from typing import Any

from workers.commands import UsageError

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
# What a page measures itself has a name of the page's own.
_METRIC = r"([a-z_]{1,40}|(?:mark|measure|element):.{0,99}\S)"
_RULE = re.compile(rf"{_METRIC}\s*<=?\s*(\+?){_NUMBER}\s*(%|[a-zA-Z]*)(?:\s*,\s*{_NUMBER}\s*([a-zA-Z]*))?")
# What units are worth; without one a value is in the metric's own.
_TIMES = {"": 1.0, "ms": 1.0, "s": 1_000.0}
_SIZES = {"": 1.0, "b": 1.0, "kb": 1_000.0, "mb": 1_000_000.0}
_NONE = {"": 1.0}
# Of all metrics that are no times.
_OTHERS = {"bytes": _SIZES, "requests": _NONE, "connections": _NONE, "cls": _NONE}


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


def written_rule(rule: Mapping[str, Any]) -> str:
    """A rule of the API's answer as people write it."""
    metric = rule["metric"] if ":" in rule["metric"] else rule["metric"].removesuffix("_ms")
    unit = "" if metric in _OTHERS else "ms"
    if rule["max_value"] is not None:
        return f"{metric}<={rule['max_value']:.12g}{unit}"
    least = f",{rule['min_change']:.12g}{unit}" if rule["min_change"] else ""
    return f"{metric}<=+{rule['limit_pct']:.12g}%{least}"


def _value(name: str, metric: str, number: str, unit: str) -> dict[str, float]:
    """In milliseconds for times, whether a unit is written or not; else in the metric's own unit."""
    units = _OTHERS.get(metric, _TIMES)
    worth = units.get(unit.lower())
    if worth is None:
        there_are = ", ".join(filter(None, units))
        raise UsageError(f"{unit!r} is no unit of {metric}{f'; use {there_are}' if there_are else ', which has none'}")
    return {name if metric in _OTHERS else f"{name}_ms": float(number) * worth}
