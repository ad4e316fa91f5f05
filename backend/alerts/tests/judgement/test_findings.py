"""When a cause is there to stay, and when it is over: a letter a run, the newest last.

`x` found, `.` not found, `?` could not judge it, `o` found as mere information.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.alerts.judgement.findings import DeepLook, FindingLimit, Found, causes, standing, undecided
from backend.alerts.states import State
from workers.measurement.finding import Severity

ID = "tls.record_overflow"
TWICE = FindingLimit(min_severity=Severity.MEDIUM, ids=frozenset(), found=2, of_last=2, regions=1)
ONCE = FindingLimit(min_severity=Severity.MEDIUM, ids=frozenset(), found=1, of_last=1, regions=1)
NOW_US = 100


def looks(**letters: str) -> dict[str, list[DeepLook]]:
    severities = {"x": "high", "c": "critical", "o": "info"}
    return {
        region: [
            DeepLook(
                region=region,
                at_us=place,
                run_id=f"{region}{place}",
                found={ID: Found(severities[letter], 380_000)} if letter in severities else {},
                not_judged=frozenset({ID}) if letter == "?" else frozenset(),
            )
            for place, letter in enumerate(story)
        ]
        for region, story in letters.items()
    }


def state(limit: FindingLimit = TWICE, current: State = State.OK, **letters: str) -> State:
    return standing(ID, looks(**letters), limit, current=current, now_us=NOW_US).state


@pytest.mark.parametrize("story", ["", "x", ".x", "x.", "x.x.", "?x?", "oo", "??"])
def test_a_cause_is_not_told_of_before_it_was_seen_often_enough(story: str) -> None:
    assert state(fra=story) is State.OK


@pytest.mark.parametrize("story", ["xx", ".xx", "x?x", "x??x?"])
def test_a_cause_seen_in_two_runs_that_could_judge_it_is_told_of(story: str) -> None:
    assert state(fra=story) is State.DEGRADED


@pytest.mark.parametrize("story", ["xx.", "xx.?", "xx??", "xx", "xx.x"])
def test_it_stays_until_it_was_absent_as_often(story: str) -> None:
    assert state(fra=story, current=State.DEGRADED) is State.DEGRADED


@pytest.mark.parametrize("story", ["xx..", "xx.?.", "xxoo", ".."])
def test_it_is_over_when_it_was_absent_as_often(story: str) -> None:
    assert state(fra=story, current=State.DEGRADED) is State.OK


def test_a_run_that_could_not_judge_it_is_neither_alarm_nor_recovery() -> None:
    assert state(ONCE, fra="?") is State.OK
    assert state(ONCE, fra="x?") is State.DEGRADED
    assert state(ONCE, State.DEGRADED, fra="?") is State.DEGRADED
    assert state(ONCE, State.DEGRADED, fra="") is State.DEGRADED


def test_what_makes_visitors_fail_is_failing() -> None:
    assert state(fra="cc") is State.FAILING


def test_so_many_regions_must_have_it() -> None:
    two = FindingLimit(min_severity=Severity.MEDIUM, ids=frozenset(), found=1, of_last=1, regions=2)
    assert state(two, fra="x", iad=".") is State.OK
    assert state(two, fra="x", iad="x") is State.DEGRADED


def test_it_is_over_only_when_no_region_has_it_any_more() -> None:
    assert state(ONCE, State.DEGRADED, fra=".", iad="x") is State.DEGRADED
    assert state(ONCE, State.DEGRADED, fra=".", iad=".") is State.OK


def test_only_the_causes_of_the_rule_are_meant() -> None:
    other = FindingLimit(min_severity=Severity.MEDIUM, ids=frozenset({"dns.slow"}), found=1, of_last=1, regions=1)
    assert causes(looks(fra="xx"), other) == set()
    assert causes(looks(fra="xx"), TWICE) == {ID}
    assert causes(looks(fra="oo"), TWICE) == set()


def test_the_standing_names_the_runs_and_what_it_costs() -> None:
    seen = standing(ID, looks(fra=".x?x", iad="."), TWICE, current=State.OK, now_us=NOW_US)
    assert (seen.since_us, seen.before, seen.after, seen.regions) == (1, "", "fra3", ("fra",))
    assert seen.facts == {"finding": ID, "severity": "high", "saving_us": 380_000, "seen": 2, "looked": 2}
    three = FindingLimit(min_severity=Severity.MEDIUM, ids=frozenset(), found=2, of_last=3, regions=1)
    assert standing(ID, looks(fra=".xx"), three, current=State.OK, now_us=NOW_US).before == "fra0"


@pytest.mark.parametrize(
    ("story", "current", "expected"),
    [
        ("x", State.OK, ["fra"]),
        (".x", State.OK, ["fra"]),
        ("xx", State.OK, []),
        ("x.", State.OK, []),
        ("x?", State.OK, ["fra"]),
        ("xx.", State.DEGRADED, ["fra"]),
        ("xx..", State.DEGRADED, []),
        ("xx", State.DEGRADED, []),
        ("", State.OK, []),
    ],
)
def test_one_more_run_is_wanted_where_the_last_one_said_something_else(
    story: str, current: State, expected: list[str]
) -> None:
    assert undecided(ID, looks(fra=story), TWICE, current=current) == expected


LETTERS = st.text("x.?oc", max_size=12)
LIMITS = st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(1, 2)).map(
    lambda n: FindingLimit(min_severity=Severity.LOW, ids=frozenset(), found=n[0], of_last=n[0] + n[1], regions=n[2])
)


@given(LETTERS, LETTERS, LIMITS)
def test_runs_that_could_not_judge_change_nothing(fra: str, iad: str, limit: FindingLimit) -> None:
    for current in (State.OK, State.DEGRADED):
        judged = state(limit, current, fra=fra.replace("?", ""), iad=iad.replace("?", ""))
        assert state(limit, current, fra=fra, iad=iad) is judged


@given(LETTERS, LIMITS)
def test_a_cause_that_is_told_of_is_not_over_by_the_same_runs(fra: str, limit: FindingLimit) -> None:
    bad = state(limit, State.OK, fra=fra)
    if bad is not State.OK:
        assert state(limit, bad, fra=fra) is bad


@given(LETTERS, LIMITS)
def test_enough_runs_without_it_end_it(fra: str, limit: FindingLimit) -> None:
    assert state(limit, State.DEGRADED, fra=fra + "." * limit.of_last) is State.OK
