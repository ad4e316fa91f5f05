"""Which run comes next, and when there are enough."""

from collections.abc import Sequence

import pytest

from backend.fleet.models import Region
from backend.gates.collecting import tallies
from backend.gates.models import GateRun, Side
from backend.gates.rounds import Plan, Tally, is_complete, is_discarded, is_hopeless, next_subject, other_half

PLAN = Plan(per_region=3, most=12, discard=1)
BEFORE, AFTER = str(Side.BEFORE), str(Side.AFTER)


@pytest.mark.parametrize(("most", "looks"), [(3, 1), (4, 2), (6, 2), (7, 3), (12, 3), (24, 4), (50, 6)])
def test_runs_are_doubled_up_to_the_most(most: int, looks: int) -> None:
    plan = Plan(per_region=3, most=most, discard=0)
    assert plan.looks == looks
    runs = [plan.runs_at(look) for look in range(1, looks + 1)]
    assert runs[0] == 3
    assert runs[-1] == most
    assert runs == sorted(runs)


def order(subjects: Sequence[tuple[int, str]], *, turn: int = 0, look: int = 1) -> list[tuple[int, str]]:
    """In which a region measures them."""
    found = {subject: Tally() for subject in subjects}
    made = []
    while (subject := next_subject(found, PLAN, look, turn=turn)) is not None:
        made.append(subject)
        done = found[subject]
        is_first = is_discarded(done, PLAN)
        found[subject] = Tally(discarded=1, counting=done.counting + (0 if is_first else 1))
    assert is_complete(found, PLAN, look)
    return made


def test_nothing_is_asked_for_while_a_run_is_under_way() -> None:
    assert next_subject({(1, AFTER): Tally(pending=1), (2, AFTER): Tally()}, PLAN, 1) is None


def test_monitors_take_turns_until_each_has_its_runs() -> None:
    assert order([(1, AFTER), (2, AFTER)]) == [(1, AFTER), (2, AFTER)] * 4
    found = {(1, AFTER): Tally(discarded=1, counting=3), (2, AFTER): Tally(discarded=1, counting=3)}
    assert next_subject(found, PLAN, 1) is None
    assert next_subject(found, PLAN, 2) == (1, AFTER)


@pytest.mark.parametrize(("turn", "sides"), [(0, "BAABBAAB"), (1, "ABBAABBA")])
def test_two_addresses_are_measured_in_turns_that_favour_neither(turn: int, sides: str) -> None:
    made = order([(1, BEFORE), (1, AFTER)], turn=turn)
    assert "".join("B" if side == BEFORE else "A" for _, side in made) == sides


def test_the_other_half_of_a_pair_follows_at_once() -> None:
    made = order([(1, BEFORE), (1, AFTER), (2, BEFORE), (2, AFTER)], look=2)
    pairs = [{*made[place : place + 2]} for place in range(0, len(made), 2)]
    assert pairs == [{(1, BEFORE), (1, AFTER)}, {(2, BEFORE), (2, AFTER)}] * 7


def test_a_run_that_says_nothing_is_made_again_before_the_next_pair() -> None:
    found = {(1, BEFORE): Tally(discarded=1), (1, AFTER): Tally(nothing=1)}
    assert next_subject(found, PLAN, 1) == (1, AFTER)


def test_a_region_whose_runs_say_nothing_is_hopeless_in_the_end() -> None:
    assert not is_hopeless([Tally(nothing=3), Tally(counting=3)], PLAN)
    assert is_hopeless([Tally(counting=3), Tally(nothing=4)], PLAN)


def test_a_look_is_complete_when_every_subject_has_its_runs() -> None:
    assert not is_complete({(1, AFTER): Tally(counting=3), (2, AFTER): Tally(counting=2)}, PLAN, 1)
    assert is_complete({(1, AFTER): Tally(counting=3), (2, AFTER): Tally(counting=4)}, PLAN, 1)


@pytest.mark.parametrize(
    ("counting", "lost", "look", "is_enough"),
    [(3, 0, 1, True), (3, 1, 1, False), (4, 1, 1, True), (4, 2, 1, True), (3, 2, 1, True), (6, 3, 2, True)],
)
def test_where_one_run_of_three_failed_another_is_made_so_that_the_region_counts(
    counting: int, lost: int, look: int, is_enough: bool
) -> None:
    found = {(1, AFTER): Tally(counting=counting, lost=lost)}
    assert is_complete(found, PLAN, look) is is_enough
    assert (next_subject(found, PLAN, look) is None) is is_enough


def test_of_a_pair_that_is_made_again_both_runs_are() -> None:
    found = dict.fromkeys([(1, BEFORE), (1, AFTER)], Tally(counting=3, lost=1))
    first = next_subject(found, PLAN, 1)
    assert first is not None
    found[first] = Tally(counting=4, lost=1)
    assert next_subject(found, PLAN, 1) == other_half(first)
    found[other_half(first)] = Tally(counting=4, lost=1)
    assert is_complete(found, PLAN, 1)


def tallied(before: str, after: str) -> dict[tuple[int, str], Tally]:
    """What a region's runs come to, a letter each in their order: measured, failed, discarded, under way, nothing."""
    states = {"m": "measured", "d": "measured", "f": "failed", "p": "pending", "n": "nothing"}
    made = [
        GateRun(monitor_id=1, side=side, region=Region(code="eu"), state=states[letter], discarded=letter == "d")
        for side, letters in ((BEFORE, before), (AFTER, after))
        for letter in letters
    ]
    return tallies(made, [(1, BEFORE), (1, AFTER)], ["eu"])["eu"]


@pytest.mark.parametrize(
    ("before", "after", "lost", "is_enough"),
    [
        ("dmmm", "dmmm", (0, 0), True),
        ("dmfm", "dmmm", (1, 1), False),
        # Of the same pair both: three pairs without one of them are two.
        ("dmfm", "dmfm", (1, 1), False),
        ("dmfmm", "dmfmm", (1, 1), True),
        ("dfmm", "dmfm", (2, 2), True),
        # What says nothing is no part of a pair, and was made again.
        ("dmnfm", "dmfm", (1, 1), False),
        # A pair that is under way is not lost before its other half has failed.
        ("dmmf", "dmmp", (1, 0), False),
    ],
)
def test_a_pair_is_lost_once_whichever_of_its_runs_failed(
    before: str, after: str, lost: tuple[int, int], is_enough: bool
) -> None:
    found = tallied(before, after)
    assert (found[1, BEFORE].lost, found[1, AFTER].lost) == lost
    assert is_complete(found, PLAN, 1) is is_enough


def test_a_pair_that_was_begun_is_ended_before_another_that_was_delayed() -> None:
    delayed = {(1, BEFORE): Tally(nothing=1), (1, AFTER): Tally()}
    assert next_subject({**delayed, (2, BEFORE): Tally(discarded=1), (2, AFTER): Tally()}, PLAN, 1) == (2, AFTER)


def test_a_region_that_should_make_many_runs_may_miss_as_many_before_it_is_given_up() -> None:
    many = Plan(per_region=6, most=12, discard=1)
    assert not is_hopeless([Tally(nothing=6)], many)
    assert is_hopeless([Tally(), Tally(nothing=7)], many)
