"""The verdict on hosts in sentences and figures for people."""

from collections.abc import Sequence

from workers.diagnosis.pair.verdict import CONFIDENCE
from workers.diagnosis.units import size
from workers.diagnosis.without.samples import Metric
from workers.diagnosis.without.verdict import DIFFERENT, MIN_PAIRS, MetricVerdict, Verdict
from workers.measurement.canvas import counted

TITLES = {
    Metric.LCP: "LCP",
    Metric.FCP: "FCP",
    Metric.START_RENDER: "start render",
    Metric.SPEED_INDEX: "speed index",
    Metric.TBT: "TBT",
    Metric.FULLY_LOADED: "fully loaded",
    Metric.BYTES: "bytes",
    Metric.REQUESTS: "requests",
}
# What it is, and what it does before "340 ms sooner".
_SUBJECTS = {
    Metric.LCP: ("the largest paint", "comes"),
    Metric.FCP: ("the first content", "is painted"),
    Metric.START_RENDER: ("the screen", "changes first"),
    Metric.SPEED_INDEX: ("the screen", "fills"),
    Metric.TBT: ("the main thread", "is blocked"),
    Metric.FULLY_LOADED: ("the page", "is fully loaded"),
}
_WAYS = {Metric.TBT: ("less", "more"), Metric.BYTES: ("less", "more"), Metric.REQUESTS: ("fewer", "more")}
_MOST_NAMED = 8
# Where two of them share a name.
_BESIDE = {Metric.START_RENDER: " (start render)", Metric.SPEED_INDEX: " (speed index)"}


def named(hosts: Sequence[str]) -> str:
    """ "a.example", "a.example and b.example", "a.example, b.example and c.example"."""
    *others, last = hosts
    return f"{', '.join(others)} and {last}" if others else last


def some_of(hosts: Sequence[str]) -> str:
    """The same of hosts of which there may be many: the first ones, and how many more."""
    more = len(hosts) - _MOST_NAMED
    return named([*hosts[:_MOST_NAMED], counted(more, "more host")]) if more > 0 else named(hosts)


def sentence_of(hosts: Sequence[str], main: MetricVerdict) -> str:
    """The verdict on hosts by the metric that stands for all."""
    if main.seeable is None:
        return f"{main.pairs} of {MIN_PAIRS} pairs of loads: no verdict yet."
    subject, verb = _SUBJECTS[main.metric]
    subject += _BESIDE.get(main.metric, "")
    basis = f"{100 * CONFIDENCE:g} %: {_interval(main)}, {counted(main.pairs, 'pair')} of loads"
    if main.verdict in DIFFERENT:
        return f"Without {named(hosts)} {subject} {verb} {_apart(main)} ({basis})."
    if main.verdict is Verdict.NO_DIFFERENCE:
        neither = "neither less nor more" if main.metric is Metric.TBT else "neither sooner nor later"
        return f"Without {named(hosts)} {subject} {verb} {neither} ({basis})."
    return (
        f"Not conclusive: without {named(hosts)} {subject} {verb} {_apart(main)} ({basis}); "
        f"less than {size_of(main.metric, main.seeable)} could not have been seen."
    )


def told(verdict: MetricVerdict) -> str:
    """What becomes of one metric, beside its medians."""
    if verdict.verdict in DIFFERENT:
        return f"{_apart(verdict)} ({_interval(verdict)})"
    word = "no difference to see" if verdict.verdict is Verdict.NO_DIFFERENCE else "not conclusive"
    seen = "" if verdict.seeable is None else f"; {size_of(verdict.metric, verdict.seeable)} would have been seen"
    return f"{word} ({_interval(verdict)}{seen})"


def size_of(metric: Metric, amount: float) -> str:
    """Without a sign, in whole milliseconds: paints come with frames."""
    if metric is Metric.BYTES:
        return size(abs(amount))
    return f"{abs(amount):,.4g}" if metric is Metric.REQUESTS else f"{abs(amount) / 1000:,.0f} ms"


def _apart(verdict: MetricVerdict) -> str:
    """ "340 ms sooner", by the sign of the estimate."""
    less, more = _WAYS.get(verdict.metric, ("sooner", "later"))
    return f"{size_of(verdict.metric, verdict.estimate)} {less if verdict.estimate < 0 else more}"


def _interval(verdict: MetricVerdict) -> str:
    """The smaller end first where the sentence says which way it goes."""
    low, high = verdict.low, verdict.high
    if low is None or high is None:
        return "too few pairs for an interval"
    if verdict.verdict in DIFFERENT:
        low, high = sorted((low, high), key=abs)
        return f"{size_of(verdict.metric, low)} to {size_of(verdict.metric, high)}"
    return f"{_signed(verdict.metric, low)} to {_signed(verdict.metric, high)}"


def _signed(metric: Metric, amount: float) -> str:
    """What is told as nought has no sign."""
    told_size = size_of(metric, amount)
    return f"\N{MINUS SIGN}{told_size}" if amount < 0 and told_size != size_of(metric, 0) else told_size
