"""What a change of state means: which code it has, and whether it is told. Pure.

The table is Checkly's, as its documentation gives it, with two more states: `no_data`, when nothing is seen any more,
and `regressed`, when a site answers but has become slower for good. A rule's delay is its threshold: a state has to
last that long before it is told, unless the site was in another bad state before, which escalates or eases and is
always told. Recovery is told only if something bad was.
"""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """What a rule makes of what it watches."""

    OK = "ok"
    DEGRADED = "degraded"
    REGRESSED = "regressed"
    FAILING = "failing"
    NO_DATA = "no_data"


# What people read, on pages and in messages alike.
WORDS = {
    State.OK: "as usual",
    State.DEGRADED: "degraded",
    State.REGRESSED: "slower than it was",
    State.FAILING: "failing",
    State.NO_DATA: "not measured",
}


class Code(StrEnum):
    """The name of a transition."""

    NO_ALERT = "no_alert"
    ALERT_DEGRADED = "alert_degraded"
    ALERT_DEGRADED_REMAIN = "alert_degraded_remain"
    ALERT_DEGRADED_RECOVERY = "alert_degraded_recovery"
    ALERT_DEGRADED_FAILURE = "alert_degraded_failure"
    ALERT_DEGRADED_REGRESSION = "alert_degraded_regression"
    ALERT_DEGRADED_NO_DATA = "alert_degraded_no_data"
    ALERT_FAILURE = "alert_failure"
    ALERT_FAILURE_REMAIN = "alert_failure_remain"
    ALERT_FAILURE_DEGRADED = "alert_failure_degraded"
    ALERT_FAILURE_REGRESSION = "alert_failure_regression"
    ALERT_FAILURE_NO_DATA = "alert_failure_no_data"
    ALERT_RECOVERY = "alert_recovery"
    ALERT_REGRESSION = "alert_regression"
    ALERT_REGRESSION_REMAIN = "alert_regression_remain"
    ALERT_REGRESSION_RECOVERY = "alert_regression_recovery"
    ALERT_REGRESSION_DEGRADED = "alert_regression_degraded"
    ALERT_REGRESSION_FAILURE = "alert_regression_failure"
    ALERT_REGRESSION_NO_DATA = "alert_regression_no_data"
    ALERT_NO_DATA = "alert_no_data"
    ALERT_NO_DATA_REMAIN = "alert_no_data_remain"
    ALERT_NO_DATA_RECOVERY = "alert_no_data_recovery"
    ALERT_NO_DATA_DEGRADED = "alert_no_data_degraded"
    ALERT_NO_DATA_REGRESSION = "alert_no_data_regression"
    ALERT_NO_DATA_FAILURE = "alert_no_data_failure"


class Told(StrEnum):
    """When a transition is told."""

    NEVER = "never"
    # Once the state has lasted as long as the rule's delay.
    AFTER_DELAY = "after delay"
    # Escalation and easing: the threshold was for becoming bad at all.
    ALWAYS = "always"
    # Recovery from what nobody heard of would only puzzle.
    IF_BAD_WAS_TOLD = "if the bad state was told"


class Transition(NamedTuple):
    code: Code
    told: Told


TABLE: dict[tuple[State, State], Transition] = {
    (State.OK, State.OK): Transition(Code.NO_ALERT, Told.NEVER),
    (State.OK, State.DEGRADED): Transition(Code.ALERT_DEGRADED, Told.AFTER_DELAY),
    (State.OK, State.REGRESSED): Transition(Code.ALERT_REGRESSION, Told.AFTER_DELAY),
    (State.OK, State.FAILING): Transition(Code.ALERT_FAILURE, Told.AFTER_DELAY),
    (State.OK, State.NO_DATA): Transition(Code.ALERT_NO_DATA, Told.AFTER_DELAY),
    (State.DEGRADED, State.OK): Transition(Code.ALERT_DEGRADED_RECOVERY, Told.IF_BAD_WAS_TOLD),
    (State.DEGRADED, State.DEGRADED): Transition(Code.ALERT_DEGRADED_REMAIN, Told.AFTER_DELAY),
    (State.DEGRADED, State.REGRESSED): Transition(Code.ALERT_DEGRADED_REGRESSION, Told.ALWAYS),
    (State.DEGRADED, State.FAILING): Transition(Code.ALERT_DEGRADED_FAILURE, Told.ALWAYS),
    (State.DEGRADED, State.NO_DATA): Transition(Code.ALERT_DEGRADED_NO_DATA, Told.AFTER_DELAY),
    (State.REGRESSED, State.OK): Transition(Code.ALERT_REGRESSION_RECOVERY, Told.IF_BAD_WAS_TOLD),
    (State.REGRESSED, State.DEGRADED): Transition(Code.ALERT_REGRESSION_DEGRADED, Told.ALWAYS),
    (State.REGRESSED, State.REGRESSED): Transition(Code.ALERT_REGRESSION_REMAIN, Told.AFTER_DELAY),
    (State.REGRESSED, State.FAILING): Transition(Code.ALERT_REGRESSION_FAILURE, Told.ALWAYS),
    (State.REGRESSED, State.NO_DATA): Transition(Code.ALERT_REGRESSION_NO_DATA, Told.AFTER_DELAY),
    (State.FAILING, State.OK): Transition(Code.ALERT_RECOVERY, Told.IF_BAD_WAS_TOLD),
    (State.FAILING, State.DEGRADED): Transition(Code.ALERT_FAILURE_DEGRADED, Told.ALWAYS),
    (State.FAILING, State.REGRESSED): Transition(Code.ALERT_FAILURE_REGRESSION, Told.ALWAYS),
    (State.FAILING, State.FAILING): Transition(Code.ALERT_FAILURE_REMAIN, Told.AFTER_DELAY),
    (State.FAILING, State.NO_DATA): Transition(Code.ALERT_FAILURE_NO_DATA, Told.AFTER_DELAY),
    # What comes after blindness was not seen to become worse or better: it is new, and has its delay.
    (State.NO_DATA, State.OK): Transition(Code.ALERT_NO_DATA_RECOVERY, Told.IF_BAD_WAS_TOLD),
    (State.NO_DATA, State.DEGRADED): Transition(Code.ALERT_NO_DATA_DEGRADED, Told.AFTER_DELAY),
    (State.NO_DATA, State.REGRESSED): Transition(Code.ALERT_NO_DATA_REGRESSION, Told.AFTER_DELAY),
    (State.NO_DATA, State.FAILING): Transition(Code.ALERT_NO_DATA_FAILURE, Told.AFTER_DELAY),
    (State.NO_DATA, State.NO_DATA): Transition(Code.ALERT_NO_DATA_REMAIN, Told.AFTER_DELAY),
}

# How bad a state is. Not knowing is less than knowing of something bad.
RANK = {State.OK: 0, State.NO_DATA: 1, State.DEGRADED: 2, State.REGRESSED: 3, State.FAILING: 4}


def is_told(transition: Transition, *, after: State, told: State | None, lasted: bool) -> bool:
    """Whether people hear of it. `told` is the state they heard of last in this bad time, `lasted` whether the new
    state has lasted as long as the rule's delay. Nothing is told twice.
    """
    match transition.told:
        case Told.NEVER:
            return False
        case Told.IF_BAD_WAS_TOLD:
            return told is not None
        case Told.ALWAYS:
            return told is not after
        case Told.AFTER_DELAY:
            return told is not after and lasted


def worst(states: "list[State]") -> State:
    """The worst of some states; ok when there is none."""
    return max(states, key=RANK.__getitem__, default=State.OK)
