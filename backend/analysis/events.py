"""What a detector says."""

from dataclasses import dataclass
from enum import StrEnum


class AlertClass(StrEnum):
    """`slowdown`: most regions became slower, perhaps for minutes only. `regression`: a slowdown that lasted.

    `regional`: less than half of the regions became slower. `improvement`: most or some became faster.
    """

    SLOWDOWN = "slowdown"
    REGRESSION = "regression"
    REGIONAL = "regional"
    IMPROVEMENT = "improvement"


class Kind(StrEnum):
    """What happened to an alert.

    `opened`; `confirmed`: it lasted, and a slowdown is a regression from now on; `worsened`: the change became larger
    or reached more regions; `eased`: the level went a part of the way back; then one end: `resolved`: the level came
    back; `went_away`: it came back before it was confirmed; `accepted`: the new level is the normal one from now on.
    """

    OPENED = "opened"
    CONFIRMED = "confirmed"
    WORSENED = "worsened"
    EASED = "eased"
    RESOLVED = "resolved"
    WENT_AWAY = "went_away"
    ACCEPTED = "accepted"


ENDS = frozenset({Kind.RESOLVED, Kind.WENT_AWAY, Kind.ACCEPTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A change of level as it is known at the time of an event. Times in Unix seconds, levels in the metric's unit.

    `baseline` and `level` are typical values of the regions named, before and after; `change_pct` is None where the
    typical value before is 0. `change_from` to `change_until` is where the change lies, as surely as nineteen times in
    twenty. `level_since` is when the level was reached: later than the change where that went on, or part of the way
    back. `confidence` (0 to 1) is that of the level having moved in this direction at all. `deploy_at` is the last
    deploy within those bounds or, since a rollout takes its time, in the quarter of an hour before them.
    """

    alert_class: AlertClass
    opened_at: float
    change_at: float
    change_from: float
    change_until: float
    level_since: float
    regions: tuple[str, ...]
    baseline: float
    level: float
    change_pct: float | None
    confidence: float
    confirmed_at: float | None = None
    deploy_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What became known at an instant. `over_at` is when the level of an alert that ends was back, where that is known;
    to be sure takes longer."""

    kind: Kind
    at: float
    alert: Alert
    over_at: float | None = None
