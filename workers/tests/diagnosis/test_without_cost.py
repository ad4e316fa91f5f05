"""What hosts cost, told whole: the verdict in a sentence, what else to know, and when there is none."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.without.cost import Cost, cost_of
from workers.diagnosis.without.samples import LeftOut, Load, LoadPair, Metric
from workers.diagnosis.without.verdict import Verdict
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import FindingId
from workers.tests.diagnosis.load_pairs import DISTURBED, FAILED, HOST, USUAL, pair, sample, without
from workers.tests.diagnosis.test_without_verdict import SOONER

HOSTS = (HOST,)
SHOWS_NOTHING = dict.fromkeys((Metric.LCP, Metric.FCP, Metric.START_RENDER, Metric.SPEED_INDEX))


def pairs_of(metric: Metric, differences: list[int], **more: Any) -> list[LoadPair]:
    return [pair(sample(), without({metric: USUAL[metric] + one}, **more)) for one in differences]


def ids(cost: Cost) -> list[str]:
    return [warning.id for warning in cost.warnings]


def texts(cost: Cost) -> str:
    return " ".join(warning.text for warning in cost.warnings)


def test_the_first_sentence_is_what_a_person_wants() -> None:
    cost = cost_of(HOSTS, pairs_of(Metric.LCP, SOONER))
    assert (cost.verdict, cost.pairs, cost.left_out, cost.warnings) == (Verdict.SOONER, 10, {}, ())
    assert cost.sentence == (
        "Without tags.example the largest paint comes 332 ms sooner (95 %: 318 ms to 345 ms, 10 pairs of loads)."
    )


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (Metric.FCP, "the first content is painted 332 ms sooner"),
        (Metric.START_RENDER, "the screen (start render) changes first 332 ms sooner"),
        (Metric.SPEED_INDEX, "the screen (speed index) fills 332 ms sooner"),
        (Metric.FULLY_LOADED, "the page is fully loaded 332 ms sooner"),
    ],
)
def test_the_sentence_is_about_the_first_metric_that_differs(metric: Metric, words: str) -> None:
    assert f"Without tags.example {words} (95 %: " in cost_of(HOSTS, pairs_of(metric, SOONER)).sentence


def test_a_main_thread_is_blocked_more_or_less() -> None:
    more = cost_of(HOSTS, pairs_of(Metric.TBT, [-one for one in SOONER]))
    assert more.verdict is Verdict.MORE
    assert "the main thread is blocked 332 ms more (95 %: 318 ms to 345 ms" in more.sentence


def test_where_nothing_differs_the_sentence_says_how_sure_that_is() -> None:
    cost = cost_of(HOSTS, pairs_of(Metric.LCP, [-9_000, 5_000, -4_000, 6_000, 0, 0, 2_000, -3_000, 4_000, -1_000]))
    assert cost.verdict is Verdict.NO_DIFFERENCE
    assert cost.sentence == (
        "Without tags.example the largest paint comes neither sooner nor later (95 %: \N{MINUS SIGN}4 ms to 3 ms, "
        "10 pairs of loads)."
    )


def test_what_is_not_conclusive_says_so_and_what_could_not_have_been_seen() -> None:
    wild = [-900_000, 500_000, -400_000, 600_000, 0, 0, 200_000, -300_000, 400_000, -100_000]
    cost = cost_of(HOSTS, pairs_of(Metric.LCP, wild))
    assert cost.verdict is Verdict.INCONCLUSIVE
    assert cost.sentence.startswith("Not conclusive: without tags.example the largest paint comes ")
    assert "could not have been seen." in cost.sentence


def test_too_few_pairs_are_no_verdict() -> None:
    cost = cost_of(HOSTS, pairs_of(Metric.LCP, SOONER[:5]))
    assert (cost.verdict, cost.sentence) == (Verdict.INCONCLUSIVE, "5 of 8 pairs of loads: no verdict yet.")


def test_pairs_with_a_load_that_says_nothing_are_left_out_and_counted_by_their_reason() -> None:
    challenged = Load(left_out=LeftOut.CHALLENGED, failure=failure(FailureKind.PAGE_CHALLENGE))
    bad = [pair(FAILED, sample()), pair(sample(), DISTURBED), pair(DISTURBED, sample()), pair(sample(), challenged)]
    cost = cost_of(HOSTS, [*pairs_of(Metric.LCP, SOONER), *bad])
    assert (cost.pairs, cost.verdict) == (10, Verdict.SOONER)
    assert cost.left_out == {LeftOut.FAILED: 1, LeftOut.DISTURBED: 2, LeftOut.CHALLENGED: 1}
    assert "2 pairs of loads left out: the machine was busy with other work." in texts(cost)
    assert ids(cost) == ["left_out_challenged", "left_out_disturbed", "left_out_failed"]


def test_a_largest_paint_of_another_element_is_told_and_does_not_stand_for_all() -> None:
    times = {Metric.LCP: USUAL[Metric.LCP] - 300_000, Metric.FCP: USUAL[Metric.FCP] - 100_000}
    other = cost_of(HOSTS, [pair(sample(), without(times, largest="h1")) for _ in range(10)])
    assert "Without tags.example the largest paint is another element: h1 instead of img.hero." in texts(other)
    assert "the first content is painted 100 ms sooner" in other.sentence
    assert other.metrics[Metric.LCP].verdict is Verdict.SOONER
    once = [pair(sample(), without(times)) for _ in range(9)] + [pair(sample(), without(times, largest="h1"))]
    assert cost_of(HOSTS, once).warnings == ()
    assert "the largest paint comes 300 ms sooner" in cost_of(HOSTS, once).sentence


def test_a_host_that_no_load_asked_for_has_no_verdict() -> None:
    plain = [pair(sample(asked=frozenset({"www.example"})), sample(asked=frozenset({"www.example"})))] * 10
    cost = cost_of(HOSTS, plain)
    assert (cost.verdict, cost.metrics) == (Verdict.NOT_ASKED, {})
    assert cost.sentence == ("The page asked nothing of tags.example: there is no verdict. It asked www.example.")
    elsewhere = [pair(sample(asked=frozenset({"www.example"})), FAILED)] * 3
    assert cost_of(HOSTS, elsewhere).verdict is Verdict.NOT_ASKED
    both = cost_of((HOST, "typo.example"), pairs_of(Metric.LCP, SOONER))
    assert both.verdict is Verdict.SOONER
    assert "Without tags.example the largest paint" in both.sentence
    assert "The page asked nothing of typo.example: the verdict is on tags.example alone." in texts(both)


def test_of_many_hosts_the_first_ones_are_named() -> None:
    many = frozenset(f"{letter}.example" for letter in "abcdefghij")
    told = cost_of(HOSTS, [pair(sample(asked=many), sample(asked=many))]).sentence
    assert told.endswith(
        "It asked a.example, b.example, c.example, d.example, e.example, f.example, g.example, "
        "h.example and 2 more hosts."
    )


def test_a_host_that_only_some_loads_asked_for_is_told() -> None:
    seldom = [replace(one, with_hosts=Load(sample=sample(asked=frozenset()))) for one in pairs_of(Metric.LCP, [0] * 3)]
    cost = cost_of(HOSTS, [*pairs_of(Metric.LCP, SOONER), *seldom])
    assert "In 3 of 13 pairs the page asked nothing of tags.example." in texts(cost)


def test_several_hosts_are_named_as_people_name_them() -> None:
    asked = frozenset({"www.example", HOST, "a.example", "b.example"})
    pairs = [pair(sample(asked=asked), without({Metric.LCP: 900_000}, asked=asked)) for _ in range(8)]
    assert cost_of((HOST, "a.example", "b.example"), pairs).sentence.startswith(
        "Without tags.example, a.example and b.example the largest paint comes 300 ms sooner"
    )


def test_a_page_that_shows_nothing_without_a_host_breaks() -> None:
    cost = cost_of(HOSTS, [pair(sample(), without(SHOWS_NOTHING)) for _ in range(10)])
    assert cost.verdict is Verdict.BREAKS
    assert cost.sentence == "Without tags.example the screen stays empty: there is no page to compare with."
    never = sample(SHOWS_NOTHING)
    assert cost_of(HOSTS, [pair(never, never) for _ in range(10)]).verdict is not Verdict.BREAKS


def test_a_page_that_cannot_be_loaded_without_a_host_breaks_and_says_why() -> None:
    cost = cost_of(HOSTS, [pair(sample(), FAILED) for _ in range(3)])
    assert (cost.verdict, cost.pairs) == (Verdict.BREAKS, 0)
    assert cost.sentence == f"Without tags.example the page cannot be loaded: {FAILED.failure.detail}"  # type: ignore[union-attr]  # it has one
    down = cost_of(HOSTS, [pair(FAILED, FAILED)])
    assert (down.verdict, down.failure) == (Verdict.INCONCLUSIVE, FAILED.failure)
    assert down.sentence == "No pair of loads could be compared: there is no verdict."
    assert cost_of(HOSTS, [pair(sample(), DISTURBED) for _ in range(3)]).verdict is Verdict.INCONCLUSIVE


def test_a_page_does_not_break_where_our_own_browser_fails() -> None:
    ours = Load(left_out=LeftOut.FAILED, failure=failure(FailureKind.BROWSER_FAILED))
    cost = cost_of(HOSTS, [pair(sample(), ours) for _ in range(3)])
    assert (cost.verdict, cost.failure) == (Verdict.INCONCLUSIVE, ours.failure)


def test_a_page_that_is_tested_for_being_a_visitors_without_a_host_is_not_broken() -> None:
    challenged = Load(left_out=LeftOut.CHALLENGED, failure=failure(FailureKind.PAGE_CHALLENGE))
    cost = cost_of(HOSTS, [pair(sample(), challenged)] * 4)
    assert cost.verdict is Verdict.INCONCLUSIVE
    assert cost.left_out == {LeftOut.CHALLENGED: 4}


def test_the_last_failure_says_why_there_is_no_verdict() -> None:
    first, last = (
        Load(left_out=LeftOut.FAILED, failure=failure(kind))
        for kind in (FailureKind.DNS_NOT_FOUND, FailureKind.CONNECT_REFUSED)
    )
    assert cost_of(HOSTS, [pair(first, FAILED), pair(last, Load())]).failure == last.failure


def test_a_largest_paint_that_one_kind_of_loads_lacks_is_no_other_element() -> None:
    lost = [pair(sample(), without({Metric.LCP: None}, largest=None)) for _ in range(4)]
    assert "other_largest_paint" not in ids(cost_of(HOSTS, lost))


def test_a_page_that_asks_its_own_domain_for_less_than_half_is_another_page() -> None:
    halved, fewer = ([pair(sample(), without(own_requests=own)) for _ in range(8)] for own in (10, 9))
    assert cost_of(HOSTS, halved).verdict is not Verdict.BREAKS
    cost = cost_of(HOSTS, fewer)
    assert cost.verdict is Verdict.BREAKS
    assert "asks 9 files of its own domain instead of 20: it is no longer the same page." in cost.sentence


def test_what_two_loads_say_alone_breaks_no_page() -> None:
    for lesser in (FAILED, without(SHOWS_NOTHING), without(own_requests=1)):
        verdicts = [cost_of(HOSTS, [pair(sample(), lesser)] * count).verdict for count in (2, 3)]
        assert verdicts == [Verdict.INCONCLUSIVE, Verdict.BREAKS]
    assert cost_of(HOSTS, [pair(sample(), FAILED)] * 3 + [pair(sample(), sample())] * 3).verdict is not Verdict.BREAKS


def test_what_scripts_miss_is_told_where_they_do_not_fail_with_the_host() -> None:
    known, new = "Uncaught TypeError: old", "Uncaught ReferenceError: lib is not defined"
    pairs = [
        pair(sample(errors=frozenset({known})), without({Metric.LCP: 900_000}, errors=frozenset({known, new})))
        for _ in range(8)
    ]
    assert "Without tags.example scripts of the page fail: Uncaught ReferenceError: lib is not defined." in texts(
        cost_of(HOSTS, pairs)
    )
    assert ids(cost_of(HOSTS, pairs_of(Metric.LCP, SOONER, errors=frozenset()))) == []


def test_hosts_that_only_that_host_brings_go_with_it() -> None:
    brought = frozenset({"www.example", HOST, "pixel.example", "ads.example"})
    pairs = [pair(sample(asked=brought), without(asked=frozenset({"www.example", HOST}))) for _ in range(8)]
    assert cost_of(HOSTS, pairs).gone == ("ads.example", "pixel.example")
    once = [pair(sample(asked=brought), without()), *[pair(sample(), without()) for _ in range(7)]]
    assert cost_of(HOSTS, once).gone == ()


def test_what_causes_say_of_the_host_in_most_loads_stands_beside_it() -> None:
    cause = (FindingId.PAGE_THIRD_PARTY_BLOCKING, HOST)
    told = [310_000, 330_000, 300_000, 320_000, 305_000]
    pairs = [pair(sample(estimates_us={cause: us}), without()) for us in told]
    (estimate,) = cost_of(HOSTS, [*pairs, *[pair(sample(), without())] * 4]).estimates
    assert (estimate.id, estimate.host, estimate.saving_us) == (*cause, 310_000)
    assert cost_of(HOSTS, [*pairs, *[pair(sample(), without())] * 5]).estimates == ()
