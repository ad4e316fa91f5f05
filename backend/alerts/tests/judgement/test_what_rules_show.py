"""What is told beside a rule's verdict: since when, which runs show it, and how bad it is."""

from uuid import UUID

import pytest

from backend.alerts.judgement.budgets import Budget, OverBudget
from backend.alerts.judgement.certificates import DAY_US, CertificateEnds, DaysLeft, Reading
from backend.alerts.judgement.failures import FailureLimit, Failures
from backend.alerts.judgement.findings import DeepLook, FindingLimit, Found, standing
from backend.alerts.judgement.presence import Presence
from backend.alerts.judgement.samples import Sample, Seen, Standing
from backend.alerts.metrics import COLUMNS, POSITIONS
from backend.alerts.states import State
from workers.measurement.finding import Severity


def run(number: int, region: str = "fra", *, ttfb_ms: float = 100, seen: Seen = Seen.UP) -> Sample:
    values: list[float | None] = [None] * len(COLUMNS)
    values[POSITIONS["ttfb_ms"]] = ttfb_ms * 1_000
    return Sample(region, number, UUID(int=number), seen, f"refused {number}", tuple(values))


def shown(found: Standing) -> tuple[int, int]:
    return int(found.before, 16), int(found.after, 16)


def test_a_budget_shows_the_newest_runs_on_either_side_of_its_limit_and_the_worst_region() -> None:
    rule = OverBudget({}, Budget(metric="ttfb_ms", limit=800, critical_limit=None, of_last=3, regions=1))
    for number, ttfb_ms in enumerate([100, 200, 900, 900, 700, 950], start=1):
        rule.observe(run(number, ttfb_ms=ttfb_ms))
    for number, ttfb_ms in enumerate([1_200, 1_300, 1_400], start=11):
        rule.observe(run(number, "sin", ttfb_ms=ttfb_ms))
    found = rule.standing(State.OK, 20)
    assert (found.since_us, found.regions, shown(found)) == (4, ("fra", "sin"), (5, 6))
    assert found.facts["value"] == 1_300


@pytest.mark.parametrize(("left", "ago"), [(10, 4), (14, 0), (3, 0), (2, 1), (-1, 4)])
def test_a_certificate_is_short_since_so_many_days_are_left_as_are_asked_for(left: int, ago: int) -> None:
    """Fewer than 14 are degraded, fewer than 3 failing: each since its own day."""
    rule = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    now_us = 100 * DAY_US
    ends_us = now_us + left * DAY_US
    rule.show("fra", Reading(now_us - 20 * DAY_US, ends_us, "shop.example", "r"))
    rule.show("fra", Reading(now_us, ends_us, "shop.example", "r"))
    found = rule.standing(State.OK, now_us)
    assert found.state is (State.FAILING if left <= 3 else State.DEGRADED)
    assert found.since_us == now_us - ago * DAY_US


def failing(story: str, *, failed: int = 3, of_last: int = 5) -> tuple[Failures, Standing]:
    rule = Failures({}, FailureLimit(failed=failed, of_last=of_last, regions=1))
    for number, letter in enumerate(story, start=1):
        rule.observe(run(number, seen={"x": Seen.DOWN, ".": Seen.UP, "?": Seen.NOTHING}[letter]))
    return rule, rule.standing(State.OK, 99)


@pytest.mark.parametrize(
    ("story", "state"),
    [
        ("x.x.", "ok"),
        ("x.x.x", "failing"),
        ("x?.?x?.?x", "failing"),
        ("xx..x.", "failing"),
        ("xx...x", "ok"),
        ("xxx", "failing"),
        ("xxx..", "failing"),
        ("xxx...", "ok"),
        ("xxx..x..", "failing"),
    ],
)
def test_a_region_counts_from_its_third_failure_of_five_until_three_in_a_row_are_good(story: str, state: str) -> None:
    assert failing(story)[1].state == State(state)


def test_a_region_counts_as_long_as_so_many_of_the_last_runs_failed() -> None:
    assert failing("xxx.......", of_last=10)[1].state is State.FAILING
    assert failing("xxx........", of_last=10)[1].state is State.OK


def test_failures_are_told_with_how_many_and_since_when_and_what_the_newest_said() -> None:
    found = failing("..x.xx")[1]
    assert (found.since_us, shown(found)) == (6, (4, 6))
    assert found.facts == {"failed": 3, "of_last": 5, "detail": "refused 6"}
    # A good run in the middle of it shows no state without it.
    assert shown(failing("..xxx.")[1]) == (2, 5)


def test_a_cause_is_told_by_its_worst_and_by_what_would_be_gained_at_most() -> None:
    limit = FindingLimit(min_severity=Severity.LOW, ids=frozenset(), found=2, of_last=3, regions=1)
    found = [{"it": Found("low", 5_000)}, {"it": Found("critical", None)}, {"it": Found("medium", 3_000)}]
    looks = [
        DeepLook(region="fra", at_us=at_us, run_id=f"{at_us}", found=it, not_judged=frozenset())
        for at_us, it in enumerate(found, start=1)
    ]
    told = standing("it", {"fra": looks}, limit, current=State.OK, now_us=9)
    assert told.state is State.FAILING
    assert (told.facts["severity"], told.facts["saving_us"], told.facts["seen"]) == ("critical", 5_000, 3)


def test_a_rule_that_names_causes_says_nothing_of_others() -> None:
    limit = FindingLimit(min_severity=Severity.LOW, ids=frozenset({"that"}), found=1, of_last=1, regions=1)
    look = DeepLook(region="fra", at_us=1, run_id="1", found={"it": Found("high", None)}, not_judged=frozenset())
    assert standing("it", {"fra": [look]}, limit, current=State.OK, now_us=9).state is State.OK


def test_there_is_no_data_since_the_newest_run_and_not_from_before_anybody_watched() -> None:
    rule = Presence({}, patience_us=10, began_us=0)
    rule.expect(["fra", "iad"], [], 0)
    for number, region in [(40, "fra"), (35, "iad")]:
        rule.observe(run(number, region))
    rule.observe(run(95, seen=Seen.NOTHING))
    found = rule.standing(State.OK, 100)
    assert (found.state, found.since_us, found.facts["seen_us"]) == (State.NO_DATA, 40, 40)
    rule.restart(85)
    assert rule.standing(State.OK, 100).since_us == 85
    rule.restart(91)
    assert not rule.standing(State.OK, 100).firm


def test_what_is_not_measured_shows_the_last_run_that_failed_by_our_own_fault_and_its_region_first() -> None:
    rule = Presence({}, patience_us=10, began_us=0)
    for number, region, seen in [(40, "fra", Seen.UP), (70, "iad", Seen.NOTHING), (95, "iad", Seen.NOTHING)]:
        rule.observe(run(number, region, seen=seen))
    # Nobody measured in a slot that was missed: there is nothing to show of it.
    rule.observe(run(97, "iad", seen=Seen.NOTHING)._replace(detail=""))
    rule = Presence(rule.memory(), patience_us=10, began_us=0)
    rule.expect(["fra", "iad"], [], 80)
    found = rule.standing(State.OK, 100)
    assert (found.regions, found.after, found.facts["detail"]) == (("iad", "fra"), UUID(int=95).hex, "refused 95")
    rule.observe(run(98, "iad"))
    silent = rule.standing(State.OK, 109)
    assert (silent.regions, silent.after, silent.facts["detail"]) == (("fra", "iad"), "", "")


def test_a_region_that_joined_or_had_no_agents_is_given_time_to_bring_data() -> None:
    rule = Presence({}, patience_us=10, began_us=0)
    rule.expect(["fra"], ["sin"], 80)
    rule.expect(["fra", "iad", "sin"], [], 95)
    assert rule.standing(State.OK, 100).regions == ("fra", "sin")
    assert rule.standing(State.OK, 105).regions == ("fra", "iad", "sin")
    never = rule.standing(State.OK, 105)
    assert (never.since_us, never.facts["seen_us"]) == (0, None)


def test_regions_are_named_in_the_order_in_which_they_became_bad_and_the_worst_is_counted() -> None:
    spent = OverBudget({}, Budget(metric="ttfb_ms", limit=800, critical_limit=None, of_last=1, regions=1))
    failed = Failures({}, FailureLimit(failed=1, of_last=3, regions=1))
    for number, region in enumerate(["sin", "fra", "sin"], start=1):
        spent.observe(run(number, region, ttfb_ms=900))
        failed.observe(run(number, region, seen=Seen.DOWN))
    for found in (spent.standing(State.OK, 9), failed.standing(State.OK, 9)):
        assert (found.since_us, found.regions) == (1, ("sin", "fra"))
    assert failed.standing(State.OK, 9).facts["failed"] == 2
