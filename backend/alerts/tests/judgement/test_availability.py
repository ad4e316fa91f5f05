from itertools import pairwise
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.alerts.judgement.availability import Availability
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.judgement.tracks import Track
from backend.alerts.states import State

REGIONS = ("fra", "iad", "sin")
MINUTE_US = 60_000_000
SEEN = {".": Seen.UP, "x": Seen.DOWN, "m": Seen.NOTHING}


def story(rounds: str, *, regions: tuple[str, ...] = REGIONS, step_us: int = 0) -> list[State]:
    """The state after each round; a letter a region, `-` for no run."""
    rule, state, states = Availability({}, interval_s=60), State.OK, []
    for number, letters in enumerate(rounds.split(), start=1):
        for position, (region, letter) in enumerate(zip(regions, letters, strict=True)):
            at_us = number * MINUTE_US + position * (step_us or MINUTE_US // len(regions))
            if letter != "-":
                rule.observe(Sample(region, at_us, uuid4(), SEEN[letter], "refused", ()))
                state = rule.standing(state, at_us).state
        states.append(state)
    return states


@pytest.mark.parametrize(
    ("rounds", "last"),
    [
        ("... x.. ...", "ok"),
        ("... xx.", "failing"),
        ("... xxx", "failing"),
        ("... xxx .xx", "failing"),
        ("... xxx ...", "ok"),
        ("... xxx ..m", "failing"),
        ("... ..x ..x", "ok"),
        ("... ..x ..x ..x", "degraded"),
        ("... ..x ..x ..x ...", "degraded"),
        ("... ..x ..x ..x ... ...", "ok"),
        ("... ..x ..x ..x x.x x.x", "failing"),
        ("... ..x ..x ..x x.x ..x", "degraded"),
        ("... xxx xxx x.. x.. x..", "degraded"),
        ("mmm mmm xmm xmm", "failing"),
        ("... xmm", "ok"),
    ],
)
def test_what_rounds_of_runs_come_to(rounds: str, last: str) -> None:
    assert story(rounds)[-1] == State(last)


def test_an_outage_that_is_seen_region_by_region_is_never_called_regional() -> None:
    assert State.DEGRADED not in story("..... ..xxx xxxxx xxxxx", regions=("a", "b", "c", "d", "e"))


def test_a_recovery_that_is_seen_region_by_region_is_never_called_regional() -> None:
    assert State.DEGRADED not in story("..... xxxxx xxxxx ..xxx ..... .....", regions=("a", "b", "c", "d", "e"))


def test_a_region_that_went_silent_is_no_witness() -> None:
    assert story("... .xx --x --x --x --x")[-1] is State.FAILING


@given(st.lists(st.text("..x", min_size=3, max_size=3), min_size=1, max_size=30))
def test_whoever_goes_on_from_memory_comes_to_the_same(rounds: list[str]) -> None:
    whole, part = Availability({}, interval_s=60), Availability({}, interval_s=60)
    one = other = State.OK
    for number, letters in enumerate(rounds, start=1):
        for position, (region, letter) in enumerate(zip(REGIONS, letters, strict=True)):
            sample = Sample(region, number * MINUTE_US + position, uuid4(), SEEN[letter], "", ())
            part = Availability(part.memory(), interval_s=60)
            for rule in (whole, part):
                rule.observe(sample)
            one, other = whole.standing(one, sample.at_us).state, part.standing(other, sample.at_us).state
            assert one == other


@given(st.lists(st.text(".xm", min_size=3, max_size=3), min_size=1, max_size=40))
def test_bad_news_and_their_end_are_heard_in_turn(rounds: list[str]) -> None:
    rule, track, heard = Availability({}, interval_s=60), Track(), []
    for number, letters in enumerate(rounds, start=1):
        for position, (region, letter) in enumerate(zip(REGIONS, letters, strict=True)):
            at_us = number * MINUTE_US + position
            rule.observe(Sample(region, at_us, uuid4(), SEEN[letter], "", ()))
            track, step = track.advance(rule.standing(track.state, at_us), at_us, 0)
            if step:
                heard.append(step)
    assert all(before.after is not after.after for before, after in pairwise(heard))
    assert not heard or heard[0].after is not State.OK


@pytest.mark.parametrize(
    ("rounds", "states"),
    [
        # One failed and another reached it; then a third fails once. An outage has failed runs of its own.
        ("..... x.x.. .....", "ok ok ok"),
        ("..... x.xx. .....", "ok failing ok"),
        ("..... x.xxx xxxxx", "ok failing failing"),
        ("..... ....x .x...", "ok ok ok"),
    ],
)
def test_two_runs_that_fail_with_a_good_one_between_are_no_outage(rounds: str, states: str) -> None:
    found = story(rounds, regions=("a", "b", "c", "d", "e"))
    assert [state.value for state in found] == states.split()


def test_a_site_that_half_of_the_regions_reach_is_not_down_everywhere() -> None:
    assert story(".... x.x. x.x. x.x.", regions=("a", "b", "c", "d")) == [State.OK, State.OK, State.OK, State.DEGRADED]


def test_two_regions_that_failed_once_each_are_no_outage_where_one_was_good_between() -> None:
    """The confirmation from Virginia denies what Frankfurt saw; then Virginia's own run fails."""
    rule = Availability({}, interval_s=300)
    states = []
    for second, region, letter in [(0, "fra", "."), (150, "iad", "."), (300, "fra", "x"), (308, "iad", ".")]:
        rule.observe(Sample(region, second * 1_000_000, uuid4(), SEEN[letter], "refused", ()))
    for second, region in [(450, "iad"), (600, "fra")]:
        rule.observe(Sample(region, second * 1_000_000, uuid4(), Seen.DOWN, "refused", ()))
        states.append(rule.standing(State.OK, 0).state)
    assert states == [State.OK, State.FAILING]


def test_what_is_remembered_is_read_by_judges_of_the_version_before_and_theirs_here() -> None:
    """They count on nine values a place, and leave out when it was good last."""
    rule = Availability({}, interval_s=300)
    for second, region, letter in [(300, "fra", "x"), (308, "iad", ".")]:
        rule.observe(Sample(region, second * 1_000_000, uuid4(), SEEN[letter], "refused", ()))
    memory = rule.memory()
    assert {len(values) for values in memory["places"].values()} == {9}
    assert Availability(memory, interval_s=300).memory() == memory
    theirs = {name: value for name, value in memory.items() if name != "up_us"}
    assert Availability(theirs, interval_s=300).memory()["places"] == memory["places"]
