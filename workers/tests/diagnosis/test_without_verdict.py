"""What a metric gains without hosts, by paired differences: claims, their doubt, and what could not have been seen."""

import pytest

from workers.diagnosis.pair.signed_rank import PairedDifferences
from workers.diagnosis.without.samples import TIMES, Metric
from workers.diagnosis.without.verdict import MIN_PAIRS, Verdict, different, judge
from workers.tests.diagnosis.load_pairs import USUAL, compared

SOONER = [-340_000, -300_000, -320_000, -350_000, -360_000, -330_000, -345_000, -310_000, -335_000, -325_000]


def test_what_comes_sooner_in_each_pair_is_told_with_its_middle_and_interval() -> None:
    told = judge(compared(Metric.LCP, SOONER))[Metric.LCP]
    assert (told.verdict, told.pairs) == (Verdict.SOONER, 10)
    assert (told.with_hosts, told.without) == (1_200_000, 867_500)
    assert told.estimate == pytest.approx(-331_250, abs=3_000)
    assert told.low is not None
    assert told.high is not None
    assert -360_000 <= told.low < told.estimate < told.high <= -300_000


def test_what_comes_later_is_told_as_plainly_and_amounts_are_more_or_less() -> None:
    assert judge(compared(Metric.FCP, [-one for one in SOONER]))[Metric.FCP].verdict is Verdict.LATER
    for metric, less in ((Metric.TBT, [120_000] * 10), (Metric.BYTES, [2_000] * 10), (Metric.REQUESTS, [3] * 10)):
        assert judge(compared(metric, less))[metric].verdict is Verdict.MORE
        assert judge(compared(metric, [-one for one in less]))[metric].verdict is Verdict.LESS


def test_seven_pairs_that_all_say_the_same_are_too_few_for_six_times_and_eight_are_enough() -> None:
    few, enough = (judge(compared(Metric.LCP, SOONER[:count])) for count in (MIN_PAIRS - 1, MIN_PAIRS))
    assert few[Metric.LCP].verdict is Verdict.INCONCLUSIVE
    assert few[Metric.LCP].seeable is None
    assert few[Metric.LCP].low is not None
    assert {one.verdict for one in few.values()} <= {Verdict.INCONCLUSIVE, Verdict.NO_DIFFERENCE, Verdict.LESS}
    assert {few[metric].verdict for metric in TIMES} == {Verdict.INCONCLUSIVE}
    assert enough[Metric.LCP].verdict is Verdict.SOONER
    assert 2 * 2 ** -(MIN_PAIRS - 1) > 0.05 / len(TIMES) >= 2 * 2**-MIN_PAIRS


def test_an_interval_that_cannot_be_had_is_not_invented() -> None:
    told = judge(compared(Metric.LCP, SOONER[:5]))[Metric.LCP]
    assert (told.low, told.high, told.seeable, told.verdict) == (None, None, None, Verdict.INCONCLUSIVE)
    assert judge([]) == {}


def test_the_surest_of_six_must_be_six_times_as_sure_and_the_next_less() -> None:
    # One of eight against it, the smallest but one: 4 of 256 cases are as far out.
    sure, fair = [-8, -7, -6, -5, -4, -3, -2, -1], [-8, -7, -6, -5, -4, -3, -2, 1]
    none = [-8, 7, -6, 5, -4, 3, -2, 1]
    metrics = dict(zip(TIMES, [fair, none, none, none, none, none], strict=True))
    assert different(metrics) == frozenset()
    assert different({Metric.LCP: fair}) == {Metric.LCP}
    stepped = dict(zip(TIMES, [sure, sure, sure, fair, none, none], strict=True))
    assert different(stepped) == set(TIMES[:4])
    assert different(dict(zip(TIMES, [sure, sure, fair, none, none, none], strict=True))) == set(TIMES[:2])


def test_less_than_a_frame_of_the_screen_is_no_difference_however_sure() -> None:
    verdicts = [judge(compared(Metric.LCP, [-us] * 10))[Metric.LCP].verdict for us in (16_000, 16_667)]
    assert verdicts == [Verdict.NO_DIFFERENCE, Verdict.SOONER]


def test_there_is_no_difference_where_the_interval_lies_within_three_percent() -> None:
    margin = round(0.03 * USUAL[Metric.LCP])
    near = [-margin, margin, -margin, margin, 0, 0, 0, 0, -1_000, 1_000]
    told = judge(compared(Metric.LCP, near))[Metric.LCP]
    assert (told.verdict, told.margin) == (Verdict.NO_DIFFERENCE, margin)
    wild = [one * 8 for one in near]
    told = judge(compared(Metric.LCP, wild))[Metric.LCP]
    assert told.verdict is Verdict.INCONCLUSIVE
    assert told.seeable is not None
    assert told.high is not None
    assert told.seeable >= told.high > told.margin


def test_what_could_have_been_seen_is_half_of_the_interval_that_a_claim_needs() -> None:
    apart = [place * 100_000 for place in (-9, -7, -5, -3, -1, 1, 3, 5, 7, 9)]
    told = judge(compared(Metric.LCP, apart))[Metric.LCP]
    sure = PairedDifferences(apart).interval(1 - 0.05 / len(TIMES))
    assert sure is not None
    assert told.seeable == (sure[1] - sure[0]) / 2 == sure[1] > 300_000


def test_a_page_that_is_never_blocked_is_blocked_no_less_without() -> None:
    told = judge(compared(Metric.TBT, [0] * 10))[Metric.TBT]
    assert (told.verdict, told.estimate, told.low, told.high) == (Verdict.NO_DIFFERENCE, 0, 0, 0)
    some = judge(compared(Metric.TBT, [0, 0, 0, 0, 0, 0, 0, 0, 90_000, 120_000]))[Metric.TBT]
    assert some.verdict is Verdict.INCONCLUSIVE


def test_what_a_side_lacks_is_compared_in_the_other_pairs_and_what_none_has_is_not_judged() -> None:
    told = judge(compared(Metric.LCP, [*SOONER, None, None]))[Metric.LCP]
    assert (told.pairs, told.verdict) == (10, Verdict.SOONER)
    assert Metric.LCP not in judge(compared(Metric.LCP, [None] * 10))


def test_what_is_counted_differs_by_one_or_not_at_all() -> None:
    told = judge(compared(Metric.REQUESTS, [-1] * 10))[Metric.REQUESTS]
    assert (told.verdict, told.seeable) == (Verdict.LESS, 1)
