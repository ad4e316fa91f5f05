"""The sentences of a gate. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from backend.alerts.metrics import digits_apart, metric_of, written
from backend.analysis.gate_metrics import least_change_of
from backend.gates.documents import RuleFound
from backend.gates.models import Gate, GateRule, Level, Phase, Verdict

# The worst first: one sentence is about one rule.
_ORDER = {Verdict.FAIL: 0, Verdict.ERROR: 1, Verdict.INCONCLUSIVE: 2, Verdict.PASS: 3, "": 4}
_PHASE_NAMES: Mapping[str, str] = {
    "dns": "DNS",
    "connect": "connecting",
    "tls": "TLS",
    "send": "sending the request",
    "wait": "waiting for the server",
    "download": "the download",
    "after first byte": "what comes after the first byte",
    "redirects": "redirects",
    "other": "redirects and what else lies between the phases",
}
_SHOWN_PHASES = 2


def limit_sentence(rule: GateRule) -> str:
    """What a rule allows, such as "+10 %, at least 30 ms" or "2.50 s"."""
    if rule.max_value is not None:
        return _asked(rule.metric, rule.max_value)
    limit, least = f"+{rule.max_change_pct:g} %", _least_change(rule)
    return f"{limit} and {_asked(rule.metric, least)}" if least else limit


def _least_change(rule: GateRule) -> float:
    """From which change on one counts, in the metric's unit; 0: from any."""
    return rule.min_change or least_change_of(rule.metric)


def _asked(metric: str, value: float) -> str:
    """A number that somebody wrote is as exact without a zero behind its point."""
    return written(metric, value).replace(".0 ", " ")


def rule_sentence(rule: GateRule, found: RuleFound | None, *, is_open: bool = False) -> str:
    """What a rule came to; `is_open` while its gate is under way."""
    name = metric_of(rule.metric).label
    if found is None and not rule.reason:
        return f"{name} is not judged yet." if is_open else f"{name} was not judged."
    if found is None:
        return f"{name}: {rule.reason}"
    if found.pct is None:
        return _level_sentence(rule, found) + _left_open(rule, _more_runs(found))
    change = f"{signed(found.pct.value)} % ({signed(found.pct.low)} to {signed(found.pct.high)} %)"
    if _least_change(rule) and found.change is not None:
        # Where a change must have a size of its own, per cents alone do not show on which side of it this is.
        change += f", {_signed_value(rule.metric, found.change)}"
    sentence = f"{name} {change}, limit {limit_sentence(rule)}."
    if rule.verdict == Verdict.FAIL and _is_within(found):
        # Whoever reads a change below the limit takes it for allowed.
        how = "slower" if metric_of(rule.metric).is_time else "more"
        sentence += f" It is surely {how}, by at least half of the limit."
    if grown := grown_sentence(found):
        sentence += f" {grown}"
    return sentence + _left_open(rule, undecided_sentence(found))


def _left_open(rule: GateRule, otherwise: str) -> str:
    """Why a rule is left open, for the end of its sentence: its reason, or what would decide it."""
    return f" {rule.reason or otherwise}" if rule.verdict == Verdict.INCONCLUSIVE else ""


def _is_within(found: RuleFound) -> bool:
    """Whether the change itself lies below the limit."""
    return found.pct is not None and found.limit_pct is not None and found.pct.value < found.limit_pct


def _level_sentence(rule: GateRule, found: RuleFound) -> str:
    """Where a rule has a greatest value, as exactly as it takes to see on which side of it the metric is."""
    assert rule.max_value is not None
    digits = digits_apart(rule.metric, found.value.value, rule.max_value)
    numbers = (found.value.value, found.value.low, found.value.high, rule.max_value)
    value, low, high, limit = (written(rule.metric, number, digits=digits) for number in numbers)
    return f"{metric_of(rule.metric).label} {value} ({low} to {high}), limit {limit}."


def grown_sentence(found: RuleFound) -> str:
    """Which phases grew, in words; empty when none is known."""
    if not found.grown:
        return ""
    parts = [f"{_PHASE_NAMES.get(part.phase, part.phase)} by {written('ttfb_ms', part.ms)}" for part in found.grown]
    return f"What grew: {', '.join(parts[:_SHOWN_PHASES])}."


def undecided_sentence(found: RuleFound) -> str:
    """What can be told of a change, and what would decide it."""
    more = _more_runs(found)
    smallest = f"The smallest change that these runs can tell is {found.smallest_detectable_pct:.1f} %"
    asks_too_much = found.limit_pct is not None and found.smallest_detectable_pct > found.limit_pct
    beside = ", which is more than the limit" if asks_too_much else ""
    return f"{smallest}{beside}; {more[0].lower()}{more[1:]}"


def _more_runs(found: RuleFound) -> str:
    """How many would decide it."""
    if found.extra_runs_to_decide is None:
        return "No number of runs decides this, the site itself varies too much."
    more = "1 more run" if found.extra_runs_to_decide == 1 else f"{found.extra_runs_to_decide:,} more runs"
    return f"About {more} would decide."


def summary(
    gate: Gate, rules: Sequence[tuple[GateRule, RuleFound | None]], failures: Mapping[int, Counter[str]]
) -> str:
    """The one sentence about the whole gate. `failures` are by monitor what its runs failed with."""
    if gate.reason:
        return gate.reason
    if gate.phase == Phase.BEFORE:
        return "Measured before the release; a later gate can compare with it."
    deciding = [pair for pair in rules if pair[0].level == Level.FAIL] or list(rules)
    alike = Counter(rule.verdict for rule, _ in deciding)
    if alike[Verdict.PASS] == len(deciding) > 1:
        return f"All {len(deciding)} rules hold: {_short(deciding)}."
    rule, found = min(deciding, key=_worst)
    others = alike[rule.verdict] - 1
    why = _why(failures.get(rule.monitor_id, Counter())) if rule.verdict == Verdict.ERROR else ""
    warns = " It only warns." if rule.level == Level.WARN and rule.verdict != Verdict.PASS else ""
    return rule_sentence(rule, found) + (f" {others} more like it." if others > 0 else "") + why + warns


def failed_sentence(reasons: Sequence[str], runs: int, *, of: str = "") -> str:
    """Of runs that count how many failed, and with what; `of` says whose they are."""
    return f"{len(reasons)} of {runs} runs{of} failed.{_why(Counter(reasons))}"


def _why(reasons: Counter[str]) -> str:
    """What runs failed with, for the end of the sentence that says that they did."""
    if not reasons:
        return ""
    ((reason, _),) = reasons.most_common(1)
    return f" {'The reason' if len(reasons) == 1 else 'Most often'}: {reason.removesuffix('.')}."


def _short(rules: Iterable[tuple[GateRule, RuleFound | None]]) -> str:
    return ", ".join(
        f"{metric_of(rule.metric).label} {signed(found.pct.value)} %"
        if found.pct is not None
        else f"{metric_of(rule.metric).label} {written(rule.metric, found.value.value)}"
        for rule, found in rules
        if found is not None
    )


def _worst(pair: tuple[GateRule, RuleFound | None]) -> tuple[int, float]:
    rule, found = pair
    return _ORDER[rule.verdict], -(found.pct.value if found is not None and found.pct is not None else 0.0)


def signed(pct: float) -> str:
    """A change in per cent with its sign, as people read it; the unit goes behind it."""
    # Rounded to nothing, a change has no direction: 0.0 added makes of -0.0 a zero.
    return f"{round(pct, 1) + 0.0:+,.1f}".replace("-", "\N{MINUS SIGN}")


def _signed_value(metric: str, value: float) -> str:
    sign = "\N{MINUS SIGN}" if value < 0 else "+"
    return sign + written(metric, abs(value))
