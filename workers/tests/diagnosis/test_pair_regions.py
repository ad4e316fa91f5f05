"""Pairs of several regions: one verdict on all of them."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from workers.diagnosis.pair.reasons import Reason
from workers.diagnosis.pair.samples import Verdict
from workers.diagnosis.pair.verdict import PairVerdict, judge, overall
from workers.tests.diagnosis.noise import calm, fixed, leg, series


def region(apart_us: float, count: int = 25, **changes: Any) -> PairVerdict:
    return judge(series(Random(str(apart_us)), count, calm, apart_us=apart_us), **changes)


def test_regions_count_the_same_however_many_pairs_they_have() -> None:
    both = overall({"fra": region(-25_000, 200), "sin": region(-9_000)})
    assert both.verdict is Verdict.CDN_FASTER
    assert both.difference is not None
    assert both.by_phase is not None
    assert both.difference.estimate_us == pytest.approx(-17_000, abs=300)
    assert both.by_phase.total == both.difference.estimate_us
    assert both.pairs == 225
    assert both.sentence.endswith("225 pairs in 2 regions).")


def test_regions_that_contradict_each_other_are_named() -> None:
    both = overall({"fra": region(21_000), "sin": region(-60_000), "nyc": region(-50_000)})
    assert [warning.text for warning in both.warnings] == [
        "The regions contradict each other: the CDN is faster in sin, nyc, the origin in fra."
    ]


def test_several_regions_have_a_reason_together() -> None:
    """The mean of its shares, in the words of the region where it weighs most."""
    apart = {"fra": region(-25_000), "sin": region(-9_000)}
    both = overall(apart)
    shares = [one.main_reason.difference_us for one in apart.values() if one.main_reason]
    assert both.main_reason is not None
    assert both.main_reason.id == apart["fra"].reasons[0].id
    assert both.main_reason.difference_us == pytest.approx(sum(shares) / 2, abs=1)
    assert both.main_reason.text == f"fra: {apart['fra'].reasons[0].text}"
    assert overall({"fra": apart["fra"], "sin": region(-9_000, 12)}).reasons == apart["fra"].reasons


def test_in_what_regions_contradict_each_other_lies_no_reason_together() -> None:
    """One origin begins its answer as much earlier as the other's later; that one is also further away is left."""
    quick, slow = leg(), leg(51_000)
    slow_and_far = leg(56_000, connect_us=15_000, tls_us=16_000, rtt_us=15_000)
    both = overall(
        {"fra": judge(fixed(25, slow, quick)), "sin": judge(fixed(25, quick, slow_and_far)), "nyc": judge([])}
    )
    (reason,) = both.reasons
    assert reason.id == "distance"
    assert reason.difference_us == pytest.approx(-7_500, abs=100)
    assert reason.text.startswith("sin: ")


def because(verdict: PairVerdict, **shares_us: int) -> PairVerdict:
    reasons = (Reason(id=id, text=f"Words of {id}.", difference_us=us) for id, us in shares_us.items())
    return replace(verdict, reasons=tuple(reasons))


def test_a_closed_connection_is_no_cause_of_how_cold_ones_differ_in_several_regions_either() -> None:
    """What a further request will cost is no share of the difference, however much it is."""
    shown = overall(
        {
            "fra": because(region(25_000), distance=20_000, connection_not_reused=90_000),
            "sin": because(region(25_000), distance=20_000, connection_not_reused=90_000),
        }
    )
    assert [reason.id for reason in shown.reasons] == ["distance", "connection_not_reused"]


def test_waits_of_several_regions_are_one_share_whatever_each_is_for() -> None:
    """Each waits longest, so that together they do too: that they do for different causes makes it no less."""
    shown = overall(
        {
            "fra": because(region(100_000), cache_miss=60_000, distance=40_000),
            "sin": because(region(100_000), server_wait=50_000, distance=40_000),
        }
    )
    assert [(reason.id, reason.difference_us) for reason in shown.reasons] == [
        ("cache_miss", 55_000),
        ("distance", 40_000),
    ]
    assert shown.reasons[0].text == "fra: Words of cache_miss."


def test_regions_with_too_few_pairs_do_not_count() -> None:
    few = overall({"fra": region(-40_000, 12), "sin": judge([])})
    assert (few.verdict, few.sentence) == (Verdict.INCONCLUSIVE, "12 of 20 pairs: no verdict yet.")
    one = overall({"fra": region(-40_000, 12), "sin": region(30_000)})
    assert one.verdict is Verdict.ORIGIN_FASTER
    assert overall({}).verdict is Verdict.INCONCLUSIVE


def test_what_later_requests_pay_is_no_reason_for_how_cold_ones_differ() -> None:
    alone = because(region(25_000), connection_not_reused=90_000)
    assert (alone.main_reason, overall({"fra": alone}).main_reason) == (None, None)
