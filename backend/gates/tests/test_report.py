"""A gate as Markdown."""

from dataclasses import replace

import pytest

from backend.gates.documents import Bounds, RuleFound
from backend.gates.models import Gate, GateRule
from backend.gates.questions import AskedRule
from backend.gates.report import markdown_report
from backend.gates.tests.world import TEN, World, failing
from backend.gates.wording import limit_sentence, rule_sentence, undecided_sentence
from backend.runs.models import PendingRun
from backend.sites.actions import rename
from backend.sites.deploys import DeployMarker
from workers.measurement.messages import Outcome

pytestmark = pytest.mark.django_db
PAGE = "https://monitor.example/gates/1/"


def report(world: World, gate: Gate) -> str:
    view = world.view(gate)
    return markdown_report(view, url=PAGE)


def sentences(world: World, gate: Gate) -> list[str]:
    view = world.view(gate)
    return [rule.sentence for rule in view.rules]


def test_a_failure_says_what_by_how_much_where_and_why(world: World) -> None:
    world.history()
    rules = (TEN, AskedRule(metric="total", max_value=9_000, level="warn"))
    text = report(world, world.play(world.ask(*rules, deploy=DeployMarker(version="9f3c2e1")), lambda run: 1.5))
    assert text.startswith("### ❌ fail: Shop, 9f3c2e1\n")
    assert "| First byte (probe) | +10 % | 200 ms |" in text or "| First byte (probe) | +10 % | 19" in text
    assert "✅ pass (warns only)" in text
    assert "First byte by region: ap +" in text or "First byte by region: eu +" in text
    assert "What grew: waiting for the server" in text
    assert f"[All runs and intervals]({PAGE})" in text


def test_how_sure_bounds_are_is_said_whether_or_not_runs_failed(world: World) -> None:
    world.history()
    made = 0

    def one_fails(run: PendingRun) -> float | Outcome:
        nonlocal made
        made += 1
        return failing(run) if made == 5 else 1.0

    well, spoilt = world.play(world.ask()), world.play(world.ask(confidence=0.975), one_fails)
    assert " in 3 regions, 1 of 3 looks, confidence 95 %.\n" in report(world, well)
    assert " in 3 regions, 1 of 3 looks, 1 failed, confidence 97.5 %.\n" in report(world, spoilt)
    assert report(world, spoilt).count("failed. The reason: The server refused the connection") == 1
    assert "A run failed" not in report(world, spoilt)


def test_runs_are_said_to_come_from_the_regions_that_made_them(world: World) -> None:
    world.history()
    world.silence("ap")
    text = report(world, world.play(world.ask()))
    assert "- ap is left out: its agents are silent." in text
    assert " runs in 2 regions, 1 of 3 looks" in text


def test_names_cannot_break_out_of_the_text(world: World) -> None:
    world.history()
    rename(actor=None, site=world.site, name="<img src=x> | [a](b) `c` **d**")
    text = report(world, world.play(world.ask()))
    assert "\\<img src=x\\> \\| \\[a\\](b) \\`c\\` \\*\\*d\\*\\*" in text


def test_an_error_and_an_open_gate_have_a_report_too(world: World) -> None:
    gate = world.ask()
    assert report(world, gate).startswith("### queued: Shop\n\nUnder way.")
    text = report(world, world.play(gate))
    assert text.startswith("### ⚠️ error: Shop\n\nOnly 0 scheduled runs")
    assert "not judged" in text


def test_what_was_never_judged_is_not_waited_for_once_the_gate_has_ended(world: World) -> None:
    gate = world.ask()
    assert sentences(world, gate) == ["First byte is not judged yet."]
    assert sentences(world, world.play(gate)) == ["First byte was not judged."]


def test_a_limit_is_told_as_it_was_asked_for() -> None:
    assert limit_sentence(GateRule(metric="tls_ms", max_change_pct=10, min_change=5)) == "+10 % and 5 ms"
    assert limit_sentence(GateRule(metric="tls_ms", max_value=7.5)) == "7.5 ms"
    assert limit_sentence(GateRule(metric="ttfb_ms", max_change_pct=10)) == "+10 %"


def test_a_limit_in_per_cent_of_what_often_takes_next_to_no_time_says_how_much_it_allows_at_least() -> None:
    assert limit_sentence(GateRule(metric="tls_ms", max_change_pct=10)) == "+10 % and 1 ms"
    assert limit_sentence(GateRule(metric="tbt_ms", max_change_pct=5)) == "+5 % and 10 ms"
    rule = GateRule(metric="tbt_ms", max_change_pct=10, verdict="pass")
    longer = replace(a_finding(pct=Bounds(value=100.0, low=50.0, high=200.0)), change=3.0)
    assert rule_sentence(rule, longer).endswith(", +3.0 ms, limit +10 % and 10 ms.")


def test_a_fail_below_its_limit_says_why_it_is_one() -> None:
    rule = GateRule(metric="ttfb_ms", max_change_pct=10, verdict="fail")
    below = Bounds(value=6.2, low=0.6, high=12.0)
    told = "First byte +6.2 % (+0.6 to +12.0 %), limit +10 %."
    assert rule_sentence(rule, a_finding(pct=below)) == f"{told} It is surely slower, by at least half of the limit."
    above = rule_sentence(rule, a_finding(pct=Bounds(value=16.2, low=10.6, high=22.0)))
    assert above == "First byte +16.2 % (+10.6 to +22.0 %), limit +10 %."


def test_a_change_that_must_have_a_size_is_told_with_it() -> None:
    """Four times as long, and allowed: it is a millisecond."""
    rule = GateRule(metric="download_ms", max_change_pct=20, min_change=5, verdict="pass")
    longer = replace(a_finding(pct=Bounds(value=393.6, low=296.5, high=488.7)), change=0.94)
    told = "Download +393.6 % (+296.5 to +488.7 %), +0.94 ms, limit +20 % and 5 ms."
    assert rule_sentence(rule, longer) == told
    shorter = replace(a_finding(pct=Bounds(value=-2.5, low=-9.0, high=4.2)), change=-1.04)
    assert rule_sentence(rule, shorter).startswith(
        "Download \N{MINUS SIGN}2.5 % (\N{MINUS SIGN}9.0 to +4.2 %), \N{MINUS SIGN}1.0 ms,"
    )


def test_of_rules_that_only_warn_none_is_said_to_hold_that_does_not(world: World) -> None:
    world.history()
    first = AskedRule(metric="ttfb", max_change_pct=10, level="warn")
    gate = world.play(world.ask(first, AskedRule(metric="total", max_value=9_000, level="warn")), lambda run: 1.5)
    assert gate.verdict == "pass"
    assert gate.summary.startswith("First byte +")
    assert gate.summary.endswith("It only warns.")


def test_what_is_no_time_does_not_become_slower() -> None:
    rule = GateRule(metric="bytes", max_change_pct=10, verdict="fail")
    told = rule_sentence(rule, a_finding(pct=Bounds(value=6.2, low=0.6, high=12.0)))
    assert told.endswith("limit +10 %. It is surely more, by at least half of the limit.")


def test_a_change_is_written_in_the_table_as_it_is_in_the_sentence(world: World) -> None:
    world.history()
    text = report(world, world.play(world.ask(), lambda run: 0.8))
    (row,) = [line for line in text.splitlines() if line.startswith("| First byte")]
    assert "| \N{MINUS SIGN}1" in row
    assert "(\N{MINUS SIGN}1" in row
    assert "-" not in row


@pytest.mark.parametrize(("extra", "told"), [(1, "about 1 more run would decide."), (1_200, "about 1,200 more runs ")])
def test_the_runs_that_would_decide_are_counted_in_words_that_fit_their_number(extra: int, told: str) -> None:
    assert told in undecided_sentence(replace(a_finding(), extra_runs_to_decide=extra))


def test_what_rounds_to_nothing_has_no_sign_of_its_own() -> None:
    rule = GateRule(metric="ttfb_ms", max_change_pct=10, verdict="pass")
    told = rule_sentence(rule, a_finding(pct=Bounds(value=-0.04, low=-9.3, high=10.2)))
    assert told.startswith("First byte +0.0 % (")


def test_a_limit_is_told_as_exactly_as_it_takes_to_see_on_which_side_it_is() -> None:
    rule = GateRule(metric="ttfb_ms", max_value=0.8, verdict="fail")
    assert rule_sentence(rule, a_finding()) == "First byte 0.90 ms (0.84 ms to 0.96 ms), limit 0.80 ms."


def a_finding(pct: Bounds | None = None) -> RuleFound:
    return RuleFound(
        value=Bounds(value=0.9, low=0.84, high=0.96),
        pct=pct,
        limit_pct=None if pct is None else 10.0,
        change=None,
        p_value=0.001,
        before_runs=None,
        before=None,
        after_runs=36,
        after=0.9,
        failed=0,
        robust_cv=0.05,
        batch_sd=0.03,
        smallest_detectable_pct=5,
        extra_runs_to_decide=0,
        regions=(),
        left_out=(),
        grown=(),
    )
