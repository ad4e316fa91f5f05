"""How long what a region said counts, and when others are asked about it."""

import json
from uuid import uuid4

import pytest

from backend.alerts.judgement.availability import Availability, Doubt
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.states import State

INTERVAL_S = 300
SEEN = {".": Seen.UP, "x": Seen.DOWN}


def seen(*runs: tuple[int, str, str], rule: Availability | None = None) -> Availability:
    """The second, the region and what it saw."""
    rule = rule or Availability({}, interval_s=INTERVAL_S)
    for second, region, letter in runs:
        rule.observe(Sample(region, second * 1_000_000, uuid4(), SEEN[letter], "refused", ()))
    return rule


def state(rule: Availability, current: State = State.OK) -> State:
    return rule.standing(current, 0).state


@pytest.mark.parametrize(("second", "state_then"), [(910, State.OK), (911, State.FAILING)])
def test_a_region_is_a_witness_for_two_and_a_half_intervals_and_a_minute(second: int, state_then: State) -> None:
    """As long as Virginia may be asked, Frankfurt's two failures are Frankfurt's; then nobody else tells."""
    assert state(seen((100, "iad", "."), (second - 300, "fra", "x"), (second, "fra", "x"))) is state_then


def test_an_answer_that_comes_behind_a_newer_run_says_nothing_new() -> None:
    """It was asked for at 600 s and brought late, by a second attempt: the run of 700 s has told more since."""
    rule = seen((600, "fra", "x"), (700, "iad", "x"))
    assert state(rule) is State.FAILING
    assert state(seen((650, "iad", "."), rule=rule), State.FAILING) is State.FAILING
    good = seen((600, "fra", "x"), (700, "iad", "."), (650, "iad", "x"), (700, "iad", "x"))
    assert state(good) is State.OK


def test_others_are_asked_about_a_first_failure_once_and_while_it_is_new() -> None:
    rule = seen((300, "iad", "."), (600, "fra", "x"))
    assert rule.doubtful(899_999_999) == Doubt("fra", 600_000_000)
    assert rule.doubtful(899_999_999) is None
    assert seen((600, "fra", "x")).doubtful(900_000_000) is None


def test_nobody_is_asked_about_what_another_region_saw_too_or_what_failed_again() -> None:
    assert seen((600, "fra", "x"), (610, "iad", "x")).doubtful(620_000_000) is None
    assert seen((300, "fra", "x"), (600, "fra", "x")).doubtful(620_000_000) is None
    assert seen((600, "fra", ".")).doubtful(620_000_000) is None


def test_another_is_asked_where_who_was_asked_said_nothing_and_none_where_one_reached_it() -> None:
    rule = seen((600, "fra", "x"))
    assert rule.doubtful(610_000_000)
    rule.unanswered()
    assert rule.doubtful(620_000_000)
    seen((630, "iad", "."), rule=rule)
    rule.unanswered()
    assert rule.doubtful(640_000_000) is None


def test_what_a_blind_agent_saw_is_taken_back_and_what_it_saw_before_is_not() -> None:
    rule = seen((300, "iad", "."), (600, "fra", "x"))
    rule.forgive("fra", 600_000_001)
    assert rule.doubtful(610_000_000)
    rule.forgive("fra", 600_000_000)
    assert state(seen((700, "iad", "x"), rule=rule)) is State.OK


def test_what_regions_said_before_the_first_failure_is_no_evidence_against_it() -> None:
    """Of five regions two have looked since, and neither reached it."""
    before = [(second, region, ".") for second, region in enumerate("abcde", start=100)]
    rule = seen(*before, (400, "a", "x"), (401, "b", "x"))
    assert state(rule) is State.FAILING


def test_what_was_down_in_one_region_alone_is_not_over_because_that_region_fell_silent() -> None:
    """That the others reach it, as they always did, says nothing; of an outage everywhere it does."""
    others = [(second, region, ".") for second in range(1200, 4500, INTERVAL_S) for region in ("fra", "iad")]
    alone = seen((300, "sin", "x"), (600, "sin", "x"), (900, "sin", "x"), *others)
    assert state(alone, State.DEGRADED) is State.DEGRADED
    everywhere = seen((300, "sin", "x"), (600, "sin", "x"), (900, "sin", "x"), *others)
    assert state(everywhere, State.FAILING) is State.OK


def test_an_outage_ended_with_the_first_good_run_where_it_was_not_with_the_one_that_made_it_sure() -> None:
    rule = seen((200, "sin", "."), (300, "fra", "x"), (400, "iad", "x"))
    assert state(rule) is State.FAILING
    seen((600, "fra", "."), (700, "iad", "."), (800, "sin", "."), (900, "fra", "."), rule=rule)
    over = rule.standing(State.FAILING, 900_000_000)
    assert (over.state, over.since_us, over.regions) == (State.OK, 600_000_000, ("fra", "iad"))


@pytest.mark.parametrize(
    ("runs", "since_s", "regions"),
    [
        # A passing error that Virginia denied, and then an outage of both.
        ("fra300x iad308. iad450. fra600x iad750x", 600, ("fra", "iad")),
        # Frankfurt has failed once more before Virginia denied it.
        ("fra300x fra600x iad608. fra900x iad1050x", 900, ("fra", "iad")),
        # Frankfurt says nothing of what Virginia sees since.
        ("fra300x iad308. iad600x iad750x", 600, ("iad", "fra")),
        # Singapore reaches it all the time: it is no outage of its own.
        ("fra300x sin310. iad450x sin460. fra600x", 300, ("fra", "iad")),
        ("fra300x iad450x", 300, ("fra", "iad")),
    ],
)
def test_an_outage_began_after_the_last_time_that_a_region_which_is_down_reached_it(
    runs: str, since_s: int, regions: tuple[str, ...]
) -> None:
    rule, ids = Availability({}, interval_s=INTERVAL_S), {}
    for run in runs.split():
        region, second, letter = run[:3], int(run[3:-1]), run[-1]
        ids[region, second] = uuid4()
        rule = Availability(json.loads(json.dumps(rule.memory())), interval_s=INTERVAL_S)
        rule.observe(Sample(region, second * 1_000_000, ids[region, second], SEEN[letter], f"at {second}", ()))
    found = rule.standing(State.OK, 0)
    for current in (State.OK, State.FAILING):
        again = rule.standing(current, 0)
        assert (again.since_us, again.after, again.regions) == (found.since_us, found.after, found.regions)
    assert (found.state, found.since_us // 1_000_000, found.regions) == (State.FAILING, since_s, regions)
    assert (found.after, found.facts["detail"]) == (ids[regions[0], since_s].hex, f"at {since_s}")


def test_one_run_that_is_read_twice_is_one_failure() -> None:
    assert state(seen((300, "fra", "x"), (300, "fra", "x"))) is State.OK


def test_the_end_of_a_later_outage_names_no_region_that_was_down_in_an_earlier_one_alone() -> None:
    first = seen((300, "fra", "x"), (310, "iad", "x"), (600, "fra", "."), (610, "iad", "."))
    assert first.standing(State.FAILING, 0).regions == ("fra", "iad")
    again = [(900, "iad", "x"), (910, "sin", "x"), (920, "fra", "."), (1200, "iad", "."), (1210, "sin", ".")]
    assert seen(*again, rule=first).standing(State.FAILING, 0).regions == ("iad", "sin")
