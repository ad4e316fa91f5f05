"""The words of a gate: what is asked, and what it came to. No arithmetic, so that models need no numpy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

# By region, in order of time; None is a run that failed.
Values = Mapping[str, Sequence[float | None]]

MAX_LOOKS = 8
# A median of three is the least that an outlier does not decide.
MIN_FRESH, MIN_HISTORY = 3, 10


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is allowed: a change in per cent, of which less than `min_change` does not count (0: less than
    `gate_metrics.LEAST_CHANGES`), or a greatest value.

    Values are in the metric's own unit. A rule that does not decide is told of and changes no verdict.
    """

    metric: str
    max_change_pct: float | None = None
    min_change: float = 0.0
    max_value: float | None = None
    decides: bool = True

    def __post_init__(self) -> None:
        if (self.max_change_pct is None) == (self.max_value is None):
            raise ValueError(f"the rule for {self.metric} needs one of max_change_pct and max_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """When each run of history was made, by region, and about when the fresh ones were: in Unix seconds. `before` is
    what was measured right before history, whose runs stand before it in `times`: a day of history begins at the time
    of the day that is asked about, of which it knows one side alone. `lately` is what was measured in the hour before
    the release, whether or not history has it, until `lately_until`."""

    times: Mapping[str, Sequence[float]]
    at: float
    before: Values = field(default_factory=dict)
    lately: Values = field(default_factory=dict)
    lately_until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A rule and what was measured for it, by region; None is a run that failed. History is in order of time.

    If it is `paired`, each fresh run was made right beside the one at the same place of history, in turns. Where the
    `hours` are known, history is taken as it is at this time of the day. `lost` says what became of fresh runs that are
    None.
    """

    rule: Rule
    history: Values
    fresh: Values
    paired: bool = False
    hours: Hours | None = None
    lost: str = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How sure to be (one-sided), which look this is of how many there may be, and the least runs of a region."""

    confidence: float
    looks: int = 1
    planned_looks: int = 1
    min_fresh: int = MIN_FRESH
    min_history: int = MIN_HISTORY

    def __post_init__(self) -> None:
        if not 0.5 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0.5 and 1, not {self.confidence}")
        if not 1 <= self.looks <= self.planned_looks <= MAX_LOOKS:
            raise ValueError(f"look {self.looks} of {self.planned_looks}; 1 to {MAX_LOOKS} looks can be planned")

    @property
    def alpha(self) -> float:
        return 1 - self.confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value and its bounds; beyond each of them it is with the chance of 1 - confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionChange:
    region: str
    pct: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: runs in regions that have enough, and what is typical, in the metric's unit."""

    runs: int
    typical: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the runs say. `pct` is the change since history, None where only a greatest value is asked for.

    `value` is the metric after the release. `limit_pct` includes what does not count. `smallest_detectable_pct` is the
    smallest change that these runs can tell from none; `extra_runs_to_decide` is over all regions, 0 when it is
    decided, None when no number of runs decides it or nobody knows one.
    """

    value: Interval
    pct: Interval | None
    limit_pct: float | None
    p_value: float
    before: Side | None
    after: Side
    failed: int
    robust_cv: float
    batch_sd: float
    smallest_detectable_pct: float
    extra_runs_to_decide: int | None
    regions: tuple[RegionChange, ...]
    left_out: tuple[str, ...]

    @property
    def change(self) -> float | None:
        """In the metric's own unit."""
        return None if self.before is None else self.after.typical - self.before.typical


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A rule and what it came to; nothing is `found` on an error. The `reason`, where there is one, is a sentence."""

    rule: Rule
    verdict: Verdict
    reason: str = ""
    found: Found | None = None

    def left_open(self, reason: str) -> "Judged":
        """The same without a verdict, for a reason that nobody knows a number of runs against."""
        found = None if self.found is None else replace(self.found, extra_runs_to_decide=None)
        return replace(self, verdict=Verdict.INCONCLUSIVE, reason=reason, found=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    verdict: Verdict
    rules: tuple[Judged, ...]


def overall(judged: Sequence[tuple[Verdict, bool]]) -> Verdict:
    """Of verdicts and whether each decides. What is proven outweighs what could not be measured."""
    deciding = {verdict for verdict, decides in judged if decides}
    order = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE)
    return next((verdict for verdict in order if verdict in deciding), Verdict.PASS)


def method(looks: int, *, paired: bool) -> str:
    """How the change and its bounds were found, in a word each."""
    return f"hodges-lehmann-log/{'paired' if paired else 'stratified'}/pocock-{looks}"
