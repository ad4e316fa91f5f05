"""Budgets, failure rates, certificates and presence, each by itself."""

from uuid import uuid4

import pytest

from backend.alerts.judgement.budgets import Budget, OverBudget
from backend.alerts.judgement.certificates import DAY_US, CertificateEnds, DaysLeft, Reading
from backend.alerts.judgement.presence import Presence
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.metrics import COLUMNS, METRICS, POSITIONS, measured_by, written
from backend.alerts.parameters import KINDS, InvalidRuleError, checked
from backend.alerts.states import State
from backend.runs.models import Run

BUDGET = Budget(metric="ttfb_ms", limit=800, critical_limit=2_000, of_last=3, regions=1)


def ttfb(region: str, at_us: int, value_ms: float | None) -> Sample:
    values: list[float | None] = [None] * len(COLUMNS)
    values[POSITIONS["ttfb_ms"]] = None if value_ms is None else value_ms * 1_000
    return Sample(region, at_us, uuid4(), Seen.UP, "", tuple(values))


def spent(budget: Budget, *values: float | None) -> State:
    rule, state = OverBudget({}, budget), State.OK
    for at_us, value in enumerate(values):
        rule.observe(ttfb("fra", at_us, value))
        state = rule.standing(state, at_us).state
    return state


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ((900, 900), "ok"),
        ((900, 900, 900), "degraded"),
        ((900, 100, 900), "degraded"),
        ((100, 9_000, 100), "ok"),
        ((2_100, 2_100, 2_100), "failing"),
        ((900, 900, 900, 790, 790), "degraded"),
        ((900, 900, 900, 700, 700), "ok"),
        ((900, None, 900, 900), "degraded"),
        ((800, 800, 800), "ok"),
        ((900, 900, 900, 760, 760), "ok"),
    ],
)
def test_the_median_of_the_last_runs_is_held_against_the_limit(values: tuple[float | None, ...], state: str) -> None:
    assert spent(BUDGET, *values) == State(state)


def test_a_budget_may_need_several_regions() -> None:
    rule = OverBudget({}, Budget(metric="ttfb_ms", limit=800, critical_limit=None, of_last=1, regions=2))
    rule.observe(ttfb("fra", 1, 900))
    assert rule.standing(State.OK, 1).state is State.OK
    rule.observe(ttfb("iad", 2, 900))
    found = rule.standing(State.OK, 2)
    assert (found.state, found.regions, found.facts["value"]) == (State.DEGRADED, ("fra", "iad"), 900)


@pytest.mark.parametrize(("left", "told"), [(13.99, 14), (13.6, 14), (1.4, 1), (0.3, 0), (-1, 0)])
def test_the_days_of_a_certificate_are_those_that_dates_count(left: float, told: int) -> None:
    eyes = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    eyes.show("fra", Reading(0, round(left * DAY_US), "shop.example", "r"))
    assert eyes.standing(State.OK, 0).facts["days"] == told


@pytest.mark.parametrize(("days", "state"), [(15, "ok"), (13.5, "degraded"), (2.9, "failing"), (-1, "failing")])
def test_a_certificate_is_told_of_before_it_ends(days: float, state: str) -> None:
    rule = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    assert rule.standing(State.OK, 0).state is State.OK
    now_us = 100 * DAY_US
    rule.show("fra", Reading(now_us, now_us + round(days * DAY_US), "shop.example", uuid4().hex))
    found = CertificateEnds(rule.memory(), DaysLeft(warn=14, critical=3)).standing(State.OK, now_us)
    assert found.state == State(state)
    assert found.state is State.OK or found.facts["expired"] is (days < 0)


@pytest.mark.parametrize(
    ("lifetime", "left", "state"),
    [
        (6.6, 6.5, "ok"),
        (6.6, 3.3, "ok"),
        (6.6, 1.6, "degraded"),
        (6.6, 0.8, "failing"),
        (6.6, -1, "failing"),
        (47, 13.9, "ok"),
        (47, 11.7, "degraded"),
        (47, 2.9, "failing"),
        (90, 13.9, "degraded"),
        (398, 14.1, "ok"),
    ],
)
def test_a_certificate_that_lives_for_days_is_told_of_once_it_should_have_been_renewed(
    lifetime: float, left: float, state: str
) -> None:
    """One of six days always ends within fourteen."""
    rule = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    reading = Reading(0, round(left * DAY_US), "shop.example", "r", round(lifetime * DAY_US))
    rule.show("fra", reading)
    found = CertificateEnds(rule.memory(), DaysLeft(warn=14, critical=3)).standing(State.OK, 0)
    assert found.state == State(state)
    assert found.since_us <= 0


def test_of_several_certificates_the_one_that_is_late_is_told_and_not_the_one_that_ends_first() -> None:
    rule = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    rule.show("fra", Reading(-2 * DAY_US, 4 * DAY_US, "short.example", "r", 6 * DAY_US))
    rule.show("fra", Reading(0, 5 * DAY_US, "short.example", "r", 6 * DAY_US))
    rule.show("sin", Reading(0, 13 * DAY_US, "long.example", "r", 398 * DAY_US))
    found = rule.standing(State.OK, 0)
    assert (found.state, found.facts["host"]) == (State.DEGRADED, "long.example")
    assert found.since_us == -DAY_US


def test_a_certificate_counts_in_every_region_that_saw_one_lately() -> None:
    rule = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    rule.show("fra", Reading(0, 80 * DAY_US, "shop.example", "r"))
    rule.show("sin", Reading(0, 5 * DAY_US, "shop.example", "r"))
    rule.show("fra", Reading(DAY_US, 80 * DAY_US, "shop.example", "r"))
    assert rule.standing(State.OK, DAY_US).state is State.DEGRADED
    # Singapore is not measured any more.
    rule.show("fra", Reading(3 * DAY_US, 80 * DAY_US, "shop.example", "r"))
    assert rule.standing(State.DEGRADED, 3 * DAY_US).state is State.OK


def test_of_two_certificates_the_one_that_ends_first_is_told_of_whichever_was_seen_first() -> None:
    rule = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    rule.show("fra", Reading(0, 80 * DAY_US, "shop.example", "r"))
    rule.show("sin", Reading(1, 5 * DAY_US, "shop.example", "r"))
    assert rule.standing(State.OK, 1).facts["days"] == 5


def test_one_region_with_data_is_enough_and_a_region_without_agents_is_no_witness() -> None:
    rule = Presence({}, patience_us=10, began_us=0)
    rule.expect(["fra", "iad"], ["sin"], 100)
    rule.observe(ttfb("fra", 95, 1))
    assert rule.standing(State.OK, 100).state is State.OK
    assert rule.standing(State.OK, 106).regions == ("fra", "iad")
    rule.expect(["sin"], ["fra", "iad"], 106)
    assert rule.standing(State.OK, 106).state is State.OK


def test_every_metric_is_a_column_of_a_run_and_can_be_written() -> None:
    columns = {field.column for field in Run._meta.concrete_fields}
    assert set(COLUMNS) <= columns
    assert all(written(name, 1234.5) for name in METRICS)
    assert measured_by("lcp_ms", "page")
    assert not measured_by("lcp_ms", "probe")
    assert not measured_by("ttfb_ms", "pair")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_defaults_of_every_kind_are_sound(kind: str) -> None:
    assert checked(kind, {}) == KINDS[kind].defaults


@pytest.mark.parametrize(
    ("kind", "params", "field"),
    [
        ("budget", {"metric": "speed"}, "metric"),
        ("budget", {"limit": "fast"}, "limit"),
        ("budget", {"limit": True}, "limit"),
        ("budget", {"limit": 800, "critical_limit": 700}, "critical_limit"),
        ("failures", {"failed": 6, "of_last": 5}, "failed"),
        ("failures", {"regions": 0}, "regions"),
        ("certificate", {"warn_days": 3, "critical_days": 3}, "critical_days"),
        ("no_data", {"intervals": 1}, "intervals"),
        ("agent", {"silent_s": 5}, "silent_s"),
        ("availability", {"confirm": "yes"}, "confirm"),
        ("regression", {"metrics": []}, "metrics"),
        ("regression", {"metrics": ["ttfb_ms", 7]}, "metrics"),
        ("regression", {"min_change_pct": 0.5}, "min_change_pct"),
        ("regression", {"tell": "never"}, "tell"),
        ("cdn", {"limit": 1}, "limit"),
    ],
)
def test_what_cannot_be_is_refused_with_the_field_at_fault(kind: str, params: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRuleError) as error:
        checked(kind, params)
    assert list(error.value.faults) == [f"params.{field}"]
    assert error.value.faults[f"params.{field}"].endswith(".")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidRuleError, match="no kind of rule"):
        checked("weather", {})
