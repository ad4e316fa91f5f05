"""How large and how sure a difference of two legs has to be before it is told, and how large before it is ruled out."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from workers.diagnosis.pair.samples import PairRun, PairSample, Verdict
from workers.diagnosis.pair.verdict import Difference, PairVerdict, compare, judge, overall
from workers.measurement.pair import Leg
from workers.tests.diagnosis.noise import fixed, leg, warnings

CLAIMS = (Verdict.CDN_FASTER, Verdict.ORIGIN_FASTER)
Turn = Callable[[Sequence[PairSample]], list[PairSample]]


def spread(middle_us: int, reach_us: int, count: int = 24) -> list[PairSample]:
    """Differences that lie evenly to both sides of their middle."""
    apart_us = [middle_us + reach_us * (2 * number - count + 1) / (count - 1) for number in range(count)]
    return [PairSample(a=leg(60_000 + one), b=leg(60_000)) for one in apart_us]


def turned(pairs: Sequence[PairSample]) -> list[PairSample]:
    return [PairSample(a=pair.b, b=pair.a) for pair in pairs]


@pytest.mark.parametrize("turn", [list, turned])
def test_of_legs_that_take_long_three_hundredths_of_the_quicker_one_count_for_nothing(turn: Turn) -> None:
    """A second and 24 ms: 31 ms more or less is what nobody would feel, although 2 ms would be of a quick one."""
    within = judge(turn(fixed(24, leg(1_000_000), leg(1_028_000))))
    assert within.verdict is Verdict.NO_DIFFERENCE
    assert within.margin_us == pytest.approx(30_726, abs=4)
    assert judge(turn(fixed(24, leg(1_000_000), leg(1_034_000)))).verdict in CLAIMS


@pytest.mark.parametrize("turn", [list, turned])
def test_a_difference_below_the_margin_is_no_claim_on_either_side(turn: Turn) -> None:
    assert judge(turn(fixed(24, leg(31_500), leg()))).verdict is Verdict.NO_DIFFERENCE
    assert judge(turn(fixed(24, leg(32_500), leg()))).verdict in CLAIMS


@pytest.mark.parametrize("turn", [list, turned])
def test_what_may_as_well_be_beyond_the_margin_is_not_ruled_out(turn: Turn) -> None:
    """1.9 ms, but 2.8 ms are as likely."""
    verdict = judge(turn(spread(1_900, 3_900)))
    assert abs(verdict.estimate_us) < 2_000 < max(map(abs, interval(verdict)))
    assert verdict.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("turn", [list, turned])
def test_a_claim_needs_five_times_less_doubt_than_the_interval_that_is_told(turn: Turn) -> None:
    verdict = judge(turn(spread(3_000, 10_600)))
    low_us, high_us = interval(verdict)
    assert (low_us > 0) is (high_us > 0)
    assert verdict.verdict is Verdict.INCONCLUSIVE
    assert judge(turn(spread(3_000, 7_000))).verdict in CLAIMS


def interval(verdict: PairVerdict) -> tuple[int, int]:
    difference = verdict.difference
    assert difference is not None
    assert difference.low_us is not None
    assert difference.high_us is not None
    return difference.low_us, difference.high_us


def region(middle_us: int, reach_us: int, pairs: int = 20) -> PairVerdict:
    """A region's verdict of which only its interval matters."""
    one = judge(fixed(pairs, leg(), leg()))
    low_us, high_us = middle_us - reach_us, middle_us + reach_us
    return replace(one, difference=Difference(estimate_us=middle_us, low_us=low_us, high_us=high_us, confidence=0.95))


def test_of_four_regions_that_are_equally_sure_all_are_twice_as_sure_together() -> None:
    """Of one alone it is as sure as it was."""
    assert interval(overall({"fra": region(-20_000, 10_000)})) == (-30_000, -10_000)
    assert interval(overall({code: region(-20_000, 10_000) for code in "abcd"})) == (-25_000, -15_000)
    assert interval(overall({"fra": region(-20_000, 6_000), "sin": region(-10_000, 8_000)})) == (-20_000, -10_000)


def test_regions_make_a_claim_together_that_none_of_them_makes_alone() -> None:
    """11 ms more or less say nothing of 10 ms; half of it does."""
    assert overall({"fra": region(10_000, 11_000)}).verdict is Verdict.INCONCLUSIVE
    assert overall({code: region(10_000, 11_000) for code in "abcd"}).verdict is Verdict.ORIGIN_FASTER
    # At the confidence that is told it would be one already.
    assert overall({"fra": region(10_000, 9_000)}).verdict is Verdict.INCONCLUSIVE


def test_the_leg_whose_name_was_not_looked_up_is_named() -> None:
    by_address = replace(leg(), phases=replace(leg().phases, dns_us=None))
    (warning,) = judge(fixed(24, by_address, leg())).warnings
    assert warning.text == "The name of the CDN was not looked up, so that DNS is left out on both sides."


@pytest.mark.parametrize(("closed", "told"), [(12, set()), (13, {"not_kept"})])
def test_a_leg_closes_its_connections_when_it_does_so_in_most_runs(closed: int, told: set[str]) -> None:
    pairs = fixed(24, leg(), leg())
    runs = [PairRun(cold=pair, not_kept=(Leg.B,) if at < closed else ()) for at, pair in enumerate(pairs)]
    assert warnings(compare(runs).cold) == told


def test_where_none_of_all_pairs_could_be_measured_that_is_what_is_said() -> None:
    cold = compare([], failed=3).cold
    assert (cold.verdict, cold.sentence) == (Verdict.INCONCLUSIVE, "No pair could be measured.")
    assert warnings(cold) == {"failed_pairs"}


def test_of_an_interval_the_smaller_time_is_told_first_whichever_leg_is_quicker() -> None:
    pairs = spread(30_000, 4_000)
    slow, quick = judge(pairs), judge(turned(pairs))
    near_us, far_us = interval(slow)
    assert interval(quick) == (-far_us, -near_us)
    (told,) = {one.sentence.partition("(")[2] for one in (slow, quick)}
    assert told == f"95 %: {near_us / 1000:.0f} ms to {far_us / 1000:.0f} ms, 24 pairs)."


def test_wild_pairs_take_no_part_in_what_a_phase_is_said_to_cost() -> None:
    """A fifth of them waited a second for something else."""
    slow = leg(1_060_000, connect_us=900_000)
    verdict = judge([*fixed(20, leg(80_000), leg(60_000)), *[PairSample(a=slow, b=leg(60_000))] * 4])
    assert verdict.by_phase is not None
    assert verdict.by_phase.connect == 0
    assert verdict.by_phase.wait == pytest.approx(20_000, abs=50)


def test_runs_without_a_fresh_pair_are_told_and_change_no_verdict_on_the_others() -> None:
    pairs = fixed(24, leg(90_000), leg(60_000))
    runs = [*[PairRun(cold=pair) for pair in pairs], *[PairRun(reused=pair) for pair in pairs[:3]]]
    cold = compare(runs, failed=2).cold
    assert (cold.verdict, cold.sentence, cold.pairs) == (Verdict.ORIGIN_FASTER, judge(pairs).sentence, 24)
    assert warnings(cold) == {"failed_pairs"}
    assert "5" in cold.warnings[0].text


def test_each_leg_is_found_by_its_name_and_without_pairs_nothing_is_apart() -> None:
    verdict = judge(fixed(24, leg(90_000), leg(60_000)))
    assert verdict.a is not None
    assert (verdict.of(Leg.A), verdict.of(Leg.B)) == (verdict.a, verdict.b)
    assert verdict.a != verdict.b
    assert judge([]).estimate_us == 0
