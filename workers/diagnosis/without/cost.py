"""What hosts cost a page, from pairs of loads with and without them: the verdict, and what to know beside it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import median

from workers.diagnosis.pair.warnings import PairWarning
from workers.diagnosis.without.samples import (
    TIMES,
    LeftOut,
    Load,
    LoadPair,
    LoadSample,
    Metric,
    SamplePair,
    complete,
)
from workers.diagnosis.without.verdict import DIFFERENT, MetricVerdict, Verdict, judge
from workers.diagnosis.without.words import named, sentence_of, some_of
from workers.measurement.canvas import counted
from workers.measurement.failure import Blame, Failure
from workers.measurement.finding import FindingId

# What is so in more than this share of the loads is usual.
_USUAL = 0.5
# One load may fail, or show nothing, by itself.
_SAID_OFTEN_ENOUGH = 3
# A page that asks its own domain for less than this share of what it asks with the hosts is hardly the same page.
_SAME_PAGE = 0.5
_LEFT_OUT = {
    LeftOut.FAILED: "a load failed",
    LeftOut.CHALLENGED: "a load was met by a test of the visitor",
    LeftOut.DISTURBED: "the machine was busy with other work",
    LeftOut.OFF_PROFILE: "the network did not keep its numbers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a cause says that a host costs, in the usual load."""

    id: FindingId
    host: str
    saving_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """`pairs` were compared, `left_out` counts the others by their reason. `gone` are hosts that were asked with those
    in question and never without them. `failure` is why the last load that failed did.
    """

    hosts: tuple[str, ...]
    verdict: Verdict
    sentence: str
    pairs: int
    metrics: Mapping[Metric, MetricVerdict]
    left_out: Mapping[LeftOut, int]
    gone: tuple[str, ...] = ()
    warnings: tuple[PairWarning, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    failure: Failure | None = None


def cost_of(hosts: Sequence[str], pairs: Sequence[LoadPair]) -> Cost:
    """The verdict on the hosts that were asked for; the others are told of."""
    compared = complete(pairs)
    asked = _asked(hosts, pairs)
    metrics = judge(compared) if asked else {}
    is_other = _changes_largest(compared)
    verdict, sentence = _verdict(hosts, asked, pairs, metrics, is_other=is_other)
    reasons = (_reason(pair) for pair in pairs)
    left_out = Counter(reason for reason in reasons if reason is not None)
    failures = [load.failure for pair in pairs for load in (pair.with_hosts, pair.without) if load.failure]
    return Cost(
        hosts=tuple(hosts),
        verdict=verdict,
        sentence=sentence,
        pairs=len(compared),
        metrics=metrics,
        left_out=left_out,
        gone=_gone(hosts, compared),
        warnings=(*_warnings(hosts, asked, compared, is_other=is_other), *_missing(left_out)),
        estimates=_estimates(compared),
        failure=failures[-1] if failures else None,
    )


def _not_asked(hosts: Sequence[str], asked: Set[str]) -> str:
    """The sentence where a page asked other hosts alone."""
    others = f" It asked {some_of(sorted(asked))}." if asked else ""
    return f"The page asked nothing of {named(hosts)}: there is no verdict.{others}"


def _verdict(
    hosts: Sequence[str],
    asked: Sequence[str],
    pairs: Sequence[LoadPair],
    metrics: Mapping[Metric, MetricVerdict],
    *,
    is_other: bool,
) -> tuple[Verdict, str]:
    whole = [pair.with_hosts.sample for pair in pairs if pair.with_hosts.sample]
    if whole and not asked:
        return Verdict.NOT_ASKED, _not_asked(hosts, set[str]().union(*(sample.asked for sample in whole)))
    if (broken := _broken(asked, pairs)) is not None:
        return Verdict.BREAKS, broken
    main = _main(metrics, is_other=is_other)
    if main is None:
        return Verdict.INCONCLUSIVE, "No pair of loads could be compared: there is no verdict."
    return main.verdict, sentence_of(asked, main)


def _main(metrics: Mapping[Metric, MetricVerdict], *, is_other: bool) -> MetricVerdict | None:
    """The first that differs, else the first. A largest paint of another element says less than all other times."""
    times = [metric for metric in TIMES if metric in metrics]
    ordered = sorted(times, key=lambda metric: is_other and metric is Metric.LCP)
    apart = (metric for metric in ordered if metrics[metric].verdict in DIFFERENT)
    main = next(apart, next(iter(ordered), None))
    return None if main is None else metrics[main]


def _asked(hosts: Sequence[str], pairs: Sequence[LoadPair]) -> list[str]:
    """Those of the hosts that any load asked for anything."""
    samples = [load.sample for pair in pairs for load in (pair.with_hosts, pair.without) if load.sample]
    return [host for host in hosts if any(host in sample.asked for sample in samples)]


def _broken(hosts: Sequence[str], pairs: Sequence[LoadPair]) -> str | None:
    """That the page is none without the hosts, in a sentence."""
    sound = [pair for pair in pairs if pair.with_hosts.sample and not pair.with_hosts.sample.is_empty]
    without = [pair.without for pair in sound]
    failed = [failure for load in without if (failure := _failure_of_page(load)) is not None]
    if _says_often(len(failed), len(sound)):
        return f"Without {named(hosts)} the page cannot be loaded: {failed[-1].detail}"
    if _says_often(sum(_is_empty(load) for load in without), len(sound)):
        return f"Without {named(hosts)} the screen stays empty: there is no page to compare with."
    compared = complete(sound)
    if len(compared) < _SAID_OFTEN_ENOUGH:
        return None
    whole, rest = (median(sample.own_requests for sample in side) for side in _sides(compared))
    if rest >= _SAME_PAGE * whole:
        return None
    return (
        f"Without {named(hosts)} the page asks {rest:g} files of its own domain instead of {whole:g}: it is no longer "
        "the same page."
    )


def _failure_of_page(load: Load) -> Failure | None:
    """What a load failed with, unless that is our own fault."""
    is_ours = load.failure is None or load.failure.blame is Blame.MONITOR
    return None if is_ours or load.left_out is not LeftOut.FAILED else load.failure


def _says_often(count: int, of: int) -> bool:
    return count >= _SAID_OFTEN_ENOUGH and _is_usual(count, of)


def _is_empty(load: Load) -> bool:
    return load.sample is not None and load.sample.is_empty


def _is_usual(count: int, of: int) -> bool:
    return count > _USUAL * of


def _sides(pairs: Sequence[SamplePair]) -> tuple[list[LoadSample], list[LoadSample]]:
    return [pair.with_hosts for pair in pairs], [pair.without for pair in pairs]


def _changes_largest(pairs: Sequence[SamplePair]) -> bool:
    return _is_usual(sum(_differs(pair) for pair in pairs), len(pairs))


def _differs(pair: SamplePair) -> bool:
    one, other = pair.with_hosts.largest, pair.without.largest
    return one is not None and other is not None and one != other


def _gone(hosts: Sequence[str], pairs: Sequence[SamplePair]) -> tuple[str, ...]:
    whole, rest = _sides(pairs)
    counts = Counter(host for sample in whole for host in sample.asked)
    kept = set(hosts).union(*(sample.asked for sample in rest))
    return tuple(sorted(host for host, count in counts.items() if _is_usual(count, len(pairs)) and host not in kept))


def _estimates(pairs: Sequence[SamplePair]) -> tuple[Estimate, ...]:
    """The median of what each cause says, where it is told of the usual load."""
    told: dict[tuple[FindingId, str], list[int]] = {}
    for pair in pairs:
        for cause, saving_us in pair.with_hosts.estimates_us.items():
            told.setdefault(cause, []).append(saving_us)
    usual = [
        Estimate(id=id, host=host, saving_us=round(median(savings)))
        for (id, host), savings in told.items()
        if _is_usual(len(savings), len(pairs))
    ]
    return tuple(sorted(usual, key=lambda one: (-one.saving_us, one.id, one.host)))


def _reason(pair: LoadPair) -> LeftOut | None:
    return pair.with_hosts.left_out or pair.without.left_out


def _warnings(
    hosts: Sequence[str], asked: Sequence[str], compared: Sequence[SamplePair], *, is_other: bool
) -> Iterator[PairWarning]:
    unasked = [host for host in hosts if host not in asked]
    if unasked and asked:
        text = f"The page asked nothing of {named(unasked)}: the verdict is on {named(asked)} alone."
        yield PairWarning(id="not_asked", text=text)
    if is_other:
        yield _other_element(asked, compared)
    seldom = sum(not pair.with_hosts.asked & set(hosts) for pair in compared)
    if asked and seldom:
        text = f"In {seldom} of {counted(len(compared), 'pair')} the page asked nothing of {named(asked)}."
        yield PairWarning(id="seldom_asked", text=text)
    yield from _errors(asked, compared)


def _other_element(hosts: Sequence[str], pairs: Sequence[SamplePair]) -> PairWarning:
    changed = [pair for pair in pairs if _differs(pair)]
    whole, rest = (Counter(sample.largest for sample in side).most_common(1)[0][0] for side in _sides(changed))
    text = f"Without {named(hosts)} the largest paint is another element: {rest} instead of {whole}."
    return PairWarning(id="other_largest_paint", text=text)


def _errors(hosts: Sequence[str], pairs: Sequence[SamplePair]) -> Iterator[PairWarning]:
    """What scripts of the page fail with when they miss what the hosts bring."""
    whole, rest = _sides(pairs)
    known = frozenset[str]().union(*(sample.errors for sample in whole))
    counts = Counter(error for sample in rest for error in sample.errors - known)
    new = [error for error, count in counts.most_common() if _is_usual(count, len(pairs))]
    if new:
        more = f" and {counted(len(new) - 1, 'more error')}" if len(new) > 1 else ""
        yield PairWarning(id="script_errors", text=f"Without {named(hosts)} scripts of the page fail: {new[0]}{more}.")


def _missing(left_out: Mapping[LeftOut, int]) -> Iterator[PairWarning]:
    for reason, count in sorted(left_out.items()):
        text = f"{counted(count, 'pair')} of loads left out: {_LEFT_OUT[reason]}."
        yield PairWarning(id=f"left_out_{reason}", text=text)
