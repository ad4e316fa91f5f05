"""The one sentence about a whole gate."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from backend.gates.documents import Bounds, Grown, RuleFound
from backend.gates.models import Gate, GateRule
from backend.gates.tests.test_report import a_finding
from backend.gates.wording import rule_sentence, summary

MINUS = "\N{MINUS SIGN}"
NONE: Mapping[int, Counter[str]] = {}
Pair = tuple[GateRule, RuleFound | None]


def changed(pct: float, verdict: str, *, level: str = "fail", metric: str = "ttfb_ms") -> Pair:
    rule = GateRule(monitor_id=1, metric=metric, max_change_pct=10, verdict=verdict, level=level)
    return rule, a_finding(pct=Bounds(value=pct, low=pct - 3, high=pct + 3))


def unmeasured(reason: str = "9 of 27 runs failed; at most 30 % may.") -> Pair:
    return GateRule(monitor_id=1, metric="total_ms", max_change_pct=10, verdict="error", reason=reason), None


def at_most(greatest: float, verdict: str) -> Pair:
    return GateRule(monitor_id=1, metric="tls_ms", max_value=greatest, verdict=verdict), a_finding()


def told(verdict: str, *rules: Pair, failures: Mapping[int, Counter[str]] = NONE) -> str:
    return summary(Gate(verdict=verdict), rules, failures)


def test_of_rules_that_all_hold_each_is_named_with_what_it_came_to() -> None:
    text = told("pass", changed(1.2, "pass"), at_most(2, "pass"), changed(-2, "pass", metric="total_ms"))
    assert text == f"All 3 rules hold: First byte +1.2 %, TLS 0.90 ms, Total {MINUS}2.0 %."


def test_two_rules_that_hold_are_both_named() -> None:
    assert told("pass", changed(1, "pass"), at_most(2, "pass")) == "All 2 rules hold: First byte +1.0 %, TLS 0.90 ms."


def test_one_rule_that_holds_is_told_in_full() -> None:
    assert told("pass", changed(1, "pass")) == f"First byte +1.0 % ({MINUS}2.0 to +4.0 %), limit +10 %."


def test_of_rules_that_fail_the_largest_change_is_told_and_how_many_are_like_it() -> None:
    rules = (changed(1, "pass"), changed(20, "fail"), changed(40, "fail", metric="total_ms"), changed(30, "fail"))
    assert told("fail", *rules) == "Total +40.0 % (+37.0 to +43.0 %), limit +10 %. 2 more like it."
    assert told("fail", *rules[:2]) == "First byte +20.0 % (+17.0 to +23.0 %), limit +10 %."


def test_what_is_proven_is_told_before_what_could_not_be_measured_and_that_before_what_is_open() -> None:
    open_one = changed(4, "inconclusive")
    assert told("fail", open_one, unmeasured(), changed(20, "fail")).startswith("First byte +20.0 %")
    assert told("error", open_one, unmeasured()).startswith("Total: 9 of 27 runs failed")


def test_how_much_it_changed_counts_only_among_rules_that_came_to_the_same() -> None:
    assert told("fail", unmeasured(), at_most(0.5, "fail")).startswith("TLS 0.90 ms")
    assert told("inconclusive", changed(9, "pass"), changed(2, "inconclusive")).startswith("First byte +2.0 %")
    assert told("pass", changed(9, ""), changed(2, "pass")).startswith("First byte +2.0 %")


def test_of_what_grew_the_two_largest_parts_are_told() -> None:
    rule, found = changed(20, "fail")
    assert found is not None
    parts = tuple(Grown(phase=phase, ms=ms) for phase, ms in (("wait", 30.0), ("dns", 8.0), ("tls", 2.0)))
    told_parts = rule_sentence(rule, replace(found, grown=parts))
    assert told_parts.endswith(" What grew: waiting for the server by 30 ms, DNS by 8.0 ms.")


def test_a_rule_that_only_warns_is_not_told_beside_one_that_decides() -> None:
    assert told("pass", changed(50, "fail", level="warn"), changed(1, "pass")).startswith("First byte +1.0 %")


def test_a_rule_that_warns_alone_and_holds_warns_of_nothing() -> None:
    assert "only warns" not in told("pass", changed(1, "pass", level="warn"))


@pytest.mark.parametrize(
    ("failures", "end"),
    [
        (Counter({"Nobody answered.": 9}), " The reason: Nobody answered."),
        (Counter({"Nobody answered.": 7, "It was refused.": 2}), " Most often: Nobody answered."),
        (Counter(), "at most 30 % may."),
    ],
)
def test_what_runs_failed_with_is_said_where_they_were_too_many(failures: Counter[str], end: str) -> None:
    assert told("error", unmeasured(), failures={1: failures}).endswith(end)
    assert told("error", unmeasured(), failures={2: failures}).endswith("at most 30 % may.")
    # A verdict stands although a run or two failed.
    assert told("fail", changed(20, "fail"), failures={1: failures}).endswith("limit +10 %.")


def test_a_gate_before_the_release_says_what_it_is_for() -> None:
    before = Gate(verdict="pass", phase="before")
    assert summary(before, [changed(1, "")], NONE) == "Measured before the release; a later gate can compare with it."


def test_a_rule_left_open_says_its_reason_or_what_would_decide() -> None:
    rule, found = changed(4, "inconclusive")
    assert found is not None
    assert rule_sentence(rule, replace(found, extra_runs_to_decide=6)).endswith("about 6 more runs would decide.")
    assert rule_sentence(rule, replace(found, extra_runs_to_decide=None)).endswith("varies too much.")
    rule.reason = "It was as high at this time the day before."
    assert rule_sentence(rule, found).endswith(f"limit +10 %. {rule.reason}")


@pytest.mark.parametrize(
    ("smallest", "told_of_it"), [(9.9, " 9.9 %; about"), (14.2, " 14.2 %, which is more than the limit;")]
)
def test_a_rule_left_open_says_where_the_limit_asks_for_more_than_its_runs_can_tell(
    smallest: float, told_of_it: str
) -> None:
    rule, found = changed(4, "inconclusive")
    assert found is not None
    open_one = replace(found, smallest_detectable_pct=smallest, limit_pct=10.0, extra_runs_to_decide=6)
    assert f"The smallest change that these runs can tell is{told_of_it}" in rule_sentence(rule, open_one)


def test_a_greatest_value_left_open_says_so_too() -> None:
    rule, found = at_most(0.9, "inconclusive")
    assert found is not None
    assert rule_sentence(rule, replace(found, extra_runs_to_decide=6)).endswith(
        "limit 0.90 ms. About 6 more runs would decide."
    )
    rule.reason = "The machines of the agents were busy."
    assert rule_sentence(rule, found).endswith(f"limit 0.90 ms. {rule.reason}")
    rule.reason, rule.verdict = "", "pass"
    assert rule_sentence(rule, found).endswith("limit 0.90 ms.")


def test_a_change_in_its_own_unit_is_told_only_where_a_least_one_was_asked_for() -> None:
    rule, found = changed(20, "fail")
    assert found is not None
    with_size = replace(found, change=12.0)
    assert "12 ms" not in rule_sentence(rule, with_size)
    rule.min_change = 10
    assert ", +12 ms, limit" in rule_sentence(rule, with_size)
    assert ", +0 ms, limit" in rule_sentence(rule, replace(found, change=0.0))
    assert rule_sentence(rule, found).startswith("First byte +20.0 % (+17.0 to +23.0 %), limit +10 % and 10 ms.")
