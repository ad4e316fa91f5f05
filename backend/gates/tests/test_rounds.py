"""Which run comes next, and when there are enough."""

import pytest

from backend.gates.rounds import Plan, Tally, is_complete, is_discarded, is_hopeless, next_monitor

PLAN = Plan(per_region=3, most=12, discard=1)


@pytest.mark.parametrize(("most", "looks"), [(3, 1), (4, 2), (6, 2), (7, 3), (12, 3), (24, 4), (50, 6)])
def test_runs_are_doubled_up_to_the_most(most: int, looks: int) -> None:
    plan = Plan(per_region=3, most=most, discard=0)
    assert plan.looks == looks
    runs = [plan.runs_at(look) for look in range(1, looks + 1)]
    assert runs[0] == 3
    assert runs[-1] == most
    assert runs == sorted(runs)


def test_nothing_is_asked_for_while_a_run_is_under_way() -> None:
    assert next_monitor({1: Tally(pending=1), 2: Tally()}, PLAN, 1) is None


def test_monitors_take_turns_until_each_has_its_runs() -> None:
    tallies = {1: Tally(), 2: Tally()}
    order = []
    while (monitor := next_monitor(tallies, PLAN, 1)) is not None:
        order.append(monitor)
        done = tallies[monitor]
        tallies[monitor] = (
            Tally(discarded=1) if is_discarded(done, PLAN) else Tally(discarded=1, counting=done.counting + 1)
        )
    assert order == [1, 2] * 4
    assert is_complete(tallies.values(), PLAN.runs_at(1))
    assert next_monitor(tallies, PLAN, 2) == 1


def test_a_region_whose_runs_say_nothing_is_hopeless_in_the_end() -> None:
    assert not is_hopeless([Tally(nothing=3), Tally(counting=3)], PLAN)
    assert is_hopeless([Tally(counting=3), Tally(nothing=4)], PLAN)
