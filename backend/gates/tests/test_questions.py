"""What can be asked of a gate, up to where, and of which monitors."""

from dataclasses import replace
from datetime import timedelta

import pytest

from backend.gates.addresses import Address, MonitorUrl
from backend.gates.questions import AskedRule, Baseline, InvalidGateError, Question, Runs, check, comparisons
from backend.sites.models import Monitor

TEN = AskedRule(metric="ttfb", max_change_pct=10)
ASKED = Question(rules=(TEN,))
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def faults(question: Question) -> dict[str, str]:
    try:
        check(question)
    except InvalidGateError as error:
        return error.faults
    return {}


def of_runs(**changes: object) -> dict[str, str]:
    return faults(replace(ASKED, runs=Runs(**changes)))  # type: ignore[arg-type]  # keyword by keyword


def of_rule(**changes: object) -> dict[str, str]:
    return faults(replace(ASKED, rules=(replace(TEN, **changes),)))  # type: ignore[arg-type]  # keyword by keyword


def of_baseline(**changes: object) -> dict[str, str]:
    return faults(replace(ASKED, baseline=Baseline(**changes)))  # type: ignore[arg-type]  # keyword by keyword


@pytest.mark.parametrize(
    "found",
    [
        of_runs(per_region=3, max_per_region=3),
        of_runs(per_region=50, max_per_region=50, discard_first=3),
        of_runs(discard_first=0, regions=("eu",) * 20),
        of_rule(max_change_pct=1_000, min_change=1e9),
        of_rule(max_change_pct=None, max_value=1e12),
        of_baseline(window=HOUR, min_samples=10),
        of_baseline(window=30 * DAY, min_samples=10_000),
        of_baseline(mode="url", address=Address(urls=(MonitorUrl(monitor="probe", url="https://old.example/"),) * 5)),
        faults(replace(ASKED, rules=(TEN,) * 20, confidence=0.8, timeout_s=10)),
        faults(replace(ASKED, confidence=0.999, timeout_s=3_600, phase="before")),
    ],
)
def test_as_much_may_be_asked_as_is_said(found: dict[str, str]) -> None:
    assert found == {}


@pytest.mark.parametrize(
    ("found", "at_fault"),
    [
        (faults(replace(ASKED, rules=())), {"rules"}),
        (faults(replace(ASKED, rules=(TEN,) * 21)), {"rules"}),
        (of_runs(per_region=2), {"runs/per_region"}),
        (of_runs(per_region=51, max_per_region=51), {"runs/per_region", "runs/max_per_region"}),
        (of_runs(max_per_region=51), {"runs/max_per_region"}),
        (of_runs(discard_first=4), {"runs/discard_first"}),
        (of_runs(discard_first=-1), {"runs/discard_first"}),
        (of_runs(regions=("eu",) * 21), {"runs/regions"}),
        (of_rule(max_change_pct=1_000.1), {"rules/0/max_change_pct"}),
        (of_rule(max_value=100.0), {"rules/0/max_change_pct"}),
        (of_rule(max_change_pct=None, max_value=1.1e12), {"rules/0/max_value"}),
        (of_rule(min_change=1.1e9), {"rules/0/min_change"}),
        (of_rule(min_change=-1.0), {"rules/0/min_change"}),
        (of_rule(level="shrug"), {"rules/0/level"}),
        (of_baseline(window=HOUR - timedelta(seconds=1)), {"baseline/window"}),
        (of_baseline(window=30 * DAY + timedelta(seconds=1)), {"baseline/window"}),
        (of_baseline(min_samples=9), {"baseline/min_samples"}),
        (of_baseline(min_samples=10_001), {"baseline/min_samples"}),
        (of_baseline(mode="stars"), {"baseline/mode"}),
        (
            of_baseline(
                mode="url", address=Address(urls=(MonitorUrl(monitor="probe", url="https://old.example/"),) * 6)
            ),
            {"baseline/urls"},
        ),
        (
            of_baseline(address=Address(urls=(MonitorUrl(monitor="probe", url="https://a.example/"),))),
            {"baseline/urls"},
        ),
        (faults(replace(ASKED, release=Address(base="https://a.example/"))), {"release/url"}),
        (
            faults(
                replace(ASKED, phase="before", baseline=Baseline(mode="url", address=Address(base="https://a.example")))
            ),
            {"baseline/mode"},
        ),
        (faults(replace(ASKED, phase="before", baseline=Baseline(mode="gate"))), {"baseline/mode", "baseline/gate"}),
        (faults(replace(ASKED, confidence=0.79)), {"confidence"}),
        (faults(replace(ASKED, confidence=0.9991)), {"confidence"}),
        (faults(replace(ASKED, timeout_s=9)), {"timeout_s"}),
        (faults(replace(ASKED, timeout_s=3_601)), {"timeout_s"}),
        (faults(replace(ASKED, phase="during")), {"phase"}),
        (faults(replace(ASKED, on_inconclusive="shrug")), {"on_inconclusive"}),
    ],
)
def test_and_no_more(found: dict[str, str], at_fault: set[str]) -> None:
    assert set(found) == at_fault


def monitor(pk: int, kind: str, *, profile: str = "native", paused: bool = False) -> Monitor:
    return Monitor(pk=pk, kind=kind, profile=profile, paused=paused)


PROBE, PAGE, PHONE = monitor(3, "probe"), monitor(1, "page"), monitor(2, "page", profile="mobile-4g")


def asked(*rules: AskedRule, of: tuple[Monitor, ...] = (PHONE, PAGE, PROBE), **changes: object) -> list[int]:
    """The monitors that rules are about, by number."""
    question = replace(ASKED, rules=rules or (TEN,), **changes)  # type: ignore[arg-type]  # keyword by keyword
    return [one.monitor.pk for one in comparisons(question, of)]


def test_where_no_monitor_is_named_the_probe_is_asked_and_pages_only_for_what_it_does_not_see() -> None:
    assert asked() == [3]
    assert asked(replace(TEN, metric="lcp")) == [1]
    assert asked(of=(PHONE, PAGE)) == [1]


def test_one_that_is_paused_is_asked_only_where_it_is_named_or_alone() -> None:
    paused = monitor(3, "probe", paused=True)
    assert asked(of=(PAGE, paused)) == [1]
    assert asked(of=(PAGE, paused), monitors=("probe",)) == [3]
    assert asked(of=(paused,)) == [3]


def test_a_kind_names_all_monitors_of_it_and_a_rule_may_narrow_what_the_gate_is_about() -> None:
    assert asked(monitors=("page",)) == [2, 1]
    assert asked(replace(TEN, monitors=("probe",)), TEN, monitors=("page",)) == [3, 2, 1]
    assert asked(TEN, replace(TEN, metric="lcp"), monitors=("probe", "page")) == [2, 1, 3, 2, 1]


def test_a_pair_is_no_monitor_that_a_gate_could_ask() -> None:
    with pytest.raises(InvalidGateError) as raised:
        asked(of=(monitor(1, "pair"),))
    assert raised.value.faults == {"rules/0/metric": "No monitor of this site measures ttfb_ms."}


@pytest.mark.parametrize(
    ("profile", "fault"), [("native", "The monitors measure with the profile mobile-4g."), ("mobile-4g", "native")]
)
def test_every_monitor_must_measure_with_the_profile_that_is_named(profile: str, fault: str) -> None:
    with pytest.raises(InvalidGateError) as raised:
        asked(monitors=("page",), profile=profile)
    assert set(raised.value.faults) == {"profile"}
    assert fault in raised.value.faults["profile"]
    assert asked(of=(PHONE,), profile="mobile-4g") == [2]


@pytest.mark.parametrize(("monitors", "rules", "is_allowed"), [(5, 8, True), (5, 9, False), (6, 1, False)])
def test_five_monitors_and_forty_comparisons_are_judged_at_once(monitors: int, rules: int, is_allowed: bool) -> None:
    pages = tuple(monitor(pk, "page") for pk in range(monitors))
    if is_allowed:
        assert len(asked(*[TEN] * rules, of=pages, monitors=("page",))) == monitors * rules
    else:
        with pytest.raises(InvalidGateError, match="At most 5 monitors and 40 comparisons"):
            asked(*[TEN] * rules, of=pages, monitors=("page",))
