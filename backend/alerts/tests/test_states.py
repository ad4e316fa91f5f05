import itertools

import pytest

from backend.alerts.states import RANK, TABLE, Code, State, Told, is_told, worst

# Checkly's table, row by row: before, after, code, told when the threshold is not reached / reached and nothing was
# told so far / reached and the same state was told already.
MATRIX = [
    ("ok", "ok", "no_alert", False, False, False),
    ("ok", "degraded", "alert_degraded", False, True, False),
    ("ok", "regressed", "alert_regression", False, True, False),
    ("ok", "failing", "alert_failure", False, True, False),
    ("ok", "no_data", "alert_no_data", False, True, False),
    ("degraded", "degraded", "alert_degraded_remain", False, True, False),
    ("degraded", "regressed", "alert_degraded_regression", True, True, False),
    ("degraded", "failing", "alert_degraded_failure", True, True, False),
    ("degraded", "no_data", "alert_degraded_no_data", False, True, False),
    ("regressed", "degraded", "alert_regression_degraded", True, True, False),
    ("regressed", "regressed", "alert_regression_remain", False, True, False),
    ("regressed", "failing", "alert_regression_failure", True, True, False),
    ("regressed", "no_data", "alert_regression_no_data", False, True, False),
    ("failing", "degraded", "alert_failure_degraded", True, True, False),
    ("failing", "regressed", "alert_failure_regression", True, True, False),
    ("failing", "failing", "alert_failure_remain", False, True, False),
    ("failing", "no_data", "alert_failure_no_data", False, True, False),
    ("no_data", "degraded", "alert_no_data_degraded", False, True, False),
    ("no_data", "regressed", "alert_no_data_regression", False, True, False),
    ("no_data", "failing", "alert_no_data_failure", False, True, False),
    ("no_data", "no_data", "alert_no_data_remain", False, True, False),
]
RECOVERIES = [
    ("degraded", "alert_degraded_recovery"),
    ("regressed", "alert_regression_recovery"),
    ("failing", "alert_recovery"),
    ("no_data", "alert_no_data_recovery"),
]


@pytest.mark.parametrize(("before", "after", "code", "early", "first", "again"), MATRIX)
def test_each_transition_has_its_code_and_its_moment(
    before: str, after: str, code: str, *, early: bool, first: bool, again: bool
) -> None:
    state = State(after)
    transition = TABLE[State(before), state]
    assert transition.code == Code(code)
    assert is_told(transition, after=state, told=None, lasted=False) is early
    assert is_told(transition, after=state, told=None, lasted=True) is first
    assert is_told(transition, after=state, told=state, lasted=True) is again


@pytest.mark.parametrize(("before", "code"), RECOVERIES)
@pytest.mark.parametrize("lasted", [True, False])
def test_recovery_is_told_at_once_and_only_if_something_bad_was(before: str, code: str, *, lasted: bool) -> None:
    transition = TABLE[State(before), State.OK]
    assert transition.code == Code(code)
    assert not is_told(transition, after=State.OK, told=None, lasted=lasted)
    assert is_told(transition, after=State.OK, told=State.FAILING, lasted=lasted)


def test_every_pair_of_states_is_in_the_table_with_a_code_of_its_own() -> None:
    assert set(TABLE) == set(itertools.product(State, State))
    assert {(State(row[0]), State(row[1])) for row in MATRIX} | {(State(r[0]), State.OK) for r in RECOVERIES} == set(
        TABLE
    )
    assert len({transition.code for transition in TABLE.values()}) == len(TABLE) == len(Code)


def test_what_failed_before_a_gap_and_fails_after_it_is_not_told_again() -> None:
    transition = TABLE[State.NO_DATA, State.FAILING]
    assert not is_told(transition, after=State.FAILING, told=State.FAILING, lasted=True)
    assert is_told(transition, after=State.FAILING, told=State.NO_DATA, lasted=True)


def test_escalation_and_easing_pass_over_the_threshold() -> None:
    ranked = [State.DEGRADED, State.REGRESSED, State.FAILING]
    pairs = list(itertools.permutations(ranked, 2))
    assert all(TABLE[pair].told is Told.ALWAYS for pair in pairs)


def test_the_worst_state_wins_and_nothing_is_ok() -> None:
    assert worst([State.NO_DATA, State.FAILING, State.REGRESSED]) is State.FAILING
    assert worst([]) is State.OK
    assert sorted(State, key=RANK.__getitem__)[0] is State.OK
