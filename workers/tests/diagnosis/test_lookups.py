"""Slow lookups, long chains of aliases, and what only looks like them."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.probe import names
from workers.measurement.evidence import Alias, Depth, NameEvidence, Question
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import facts, found, left_open, said
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, name, probe


def questions(**took_us: int | None) -> tuple[Question, ...]:
    return tuple(Question(record_type=kind, took_us=us, code="NOERROR") for kind, us in took_us.items())


def aliases(count: int) -> tuple[Alias, ...]:
    return tuple(Alias(name=f"a{n}.example.org", target=f"a{n + 1}.example.org", ttl_s=300) for n in range(count))


def causes(*looked_up: NameEvidence, **changes: Any) -> set[Id]:
    return {one.id for one in found(names.RULES, probe([], names=looked_up, **changes)).values()}


def searched(*others_us: int, took_us: int = 620_000, **changes: Any) -> NameEvidence:
    """A name of which the resolver was asked for addresses first, then for others that it did not know either."""
    asked = dict(zip(("HTTPS", "CAA", "TXT"), others_us, strict=False))
    values = {"took_us": took_us, "again_us": 20_000, "questions": questions(A=took_us, AAAA=took_us, **asked)}
    return name(**(values | changes))


def test_a_name_that_takes_long_to_be_searched_each_time_is_slow() -> None:
    evidence = probe([], names=(searched(600_000, 610_000, 640_000),))
    finding = found(names.RULES, evidence)[Id.DNS_SLOW]
    assert finding.saving_us == 595_000
    assert facts(finding)["resolver_rtt_ms"] == 20.0
    assert facts(finding)["searches_ms"] == (620.0, 600.0, 610.0, 640.0)


@pytest.mark.parametrize("others_us", [(), (600_000,), (600_000, 610_000, 30_000)])
def test_what_was_not_slow_each_time_or_not_asked_often_enough_is_left_open(others_us: tuple[int, ...]) -> None:
    evidence = probe([], names=(searched(*others_us),))
    assert left_open(names.RULES, evidence) == {Id.DNS_SLOW: NotJudgedReason.NOT_REPEATED}
    assert not found(names.RULES, evidence)


def test_where_connections_wait_in_a_queue_lookups_may_have_too() -> None:
    """One connection that was late is chance: most must have been."""
    slow, short = searched(160_000, 210_000, took_us=190_000), name(took_us=80_000, again_us=20_000, min_ttl_s=20)
    many = searched(160_000, 210_000, took_us=190_000, aliases=aliases(4))
    calm, chance, queued = (
        [connection(Path(rtt_ms=30), Server(), syn_rtt_us=trip_us) for trip_us in trips_us]
        for trips_us in ([30_000] * 4, [*[30_000] * 7, 400_000], [30_000, 400_000, 150_000, 230_000])
    )
    for trials in (calm, chance):
        assert found(names.RULES, probe(trials, names=(slow,))).keys() == {Id.DNS_SLOW}
        assert found(names.RULES, probe(trials, names=(short,))).keys() == {Id.DNS_CNAME_CHAIN}
    for one, id in ((slow, Id.DNS_SLOW), (short, Id.DNS_CNAME_CHAIN)):
        evidence = probe(queued, names=(one,))
        assert not found(names.RULES, evidence)
        assert left_open(names.RULES, evidence)[id] is NotJudgedReason.UNSTEADY
    assert found(names.RULES, probe(queued, names=(many,)))[Id.DNS_CNAME_CHAIN].saving_us is None


@pytest.mark.parametrize(("late", "told"), [(0, True), (2, True), (4, False), (7, False)])
def test_where_some_connections_were_as_late_each_search_may_have_been(late: int, told: bool) -> None:
    """A radio that sends again what got lost keeps some packets for a while, of names as of connections."""
    trips_us = [*[20_000] * (17 - late), *[170_000] * late]
    trials = [connection(Path(rtt_ms=20), Server(), syn_rtt_us=trip_us) for trip_us in trips_us]
    evidence = probe(trials, names=(searched(170_000, 200_000, 320_000, took_us=284_000),))
    assert (Id.DNS_SLOW in found(names.RULES, evidence)) is told
    assert (left_open(names.RULES, evidence).get(Id.DNS_SLOW) is NotJudgedReason.UNSTEADY) is not told


def test_a_resolver_that_refuses_a_question_has_not_searched() -> None:
    refused = tuple(Question(record_type=kind, took_us=900_000, code="SERVFAIL") for kind in ("HTTPS", "CAA", "TXT"))
    assert left_open(names.RULES, probe([], names=(searched(questions=refused),)))


@pytest.mark.parametrize(("took_us", "again_us"), [(50_000, 1_000), (120_000, 60_000), (49_000, 40_000)])
def test_a_quick_lookup_or_a_far_resolver_is_no_fault(took_us: int, again_us: int) -> None:
    assert causes(name(took_us=took_us, again_us=again_us)) == set()


def test_what_nobody_may_keep_is_searched_for_again_so_that_the_way_to_the_resolver_is_unknown() -> None:
    evidence = probe([], names=(searched(300_000, 300_000, 300_000, took_us=310_000, again_us=305_000, min_ttl_s=0),))
    assert left_open(names.RULES, evidence)[Id.DNS_SLOW] is NotJudgedReason.NOT_MEASURED
    assert not left_open(names.RULES, probe([], names=(name(took_us=310_000, again_us=305_000, min_ttl_s=300),)))


def test_a_moment_of_bad_luck_does_not_make_a_name_slow() -> None:
    lucky_later = name(took_us=230_000, again_us=80_000, questions=questions(A=230_000, AAAA=230_000, HTTPS=80_000))
    assert causes(lucky_later) == set()
    assert Id.DNS_SLOW not in left_open(names.RULES, probe([], names=(searched(30_000, 25_000, 40_000),)))


def test_a_question_that_got_lost_leaves_it_open() -> None:
    unanswered = Question(record_type="AAAA")
    lost = name(took_us=1_020_000, again_us=20_000, questions=(*questions(A=20_000), unanswered))
    evidence = probe([], names=(lost,))
    assert left_open(names.RULES, evidence) == {Id.DNS_SLOW: NotJudgedReason.LOSS}


def test_an_answer_that_had_to_be_fetched_by_tcp_and_was_not_waited_for_is_no_lost_packet() -> None:
    """The address of the other family was there: 50 ms later the name was known well enough."""
    whole = searched(600_000, 610_000, 640_000)
    cut = tuple(replace(one, took_us=None) if one.record_type == "AAAA" else one for one in whole.questions)
    assert causes(replace(whole, questions=cut)) == {Id.DNS_SLOW}
    quick = name(took_us=90_000, again_us=60_000, questions=cut)
    assert not said(names.RULES, probe([], names=(quick,)))


def test_an_answer_for_the_other_family_that_nobody_waited_for_is_no_lost_packet() -> None:
    """A resolver that searches for one after the other: the address was there, and the lookup ended with it."""
    whole = searched(600_000, 610_000, 640_000)
    late = tuple(replace(one, took_us=None, code=None) if one.record_type == "AAAA" else one for one in whole.questions)
    assert causes(replace(whole, questions=late)) == {Id.DNS_SLOW}
    loose = replace(whole, questions=(*late, *questions(A=320_000)), took_us=940_000, left_loose=1)
    assert causes(loose) == {Id.DNS_SLOW}
    waited_for = replace(whole, questions=late, took_us=2_620_000)
    assert left_open(names.RULES, probe([], names=(waited_for,))) == {Id.DNS_SLOW: NotJudgedReason.LOSS}


@pytest.mark.parametrize(
    ("depth", "reason"),
    [(Depth.LIGHT, NotJudgedReason.NEEDS_DEEP_PROBE), (Depth.DEEP, NotJudgedReason.NOT_MEASURED)],
)
def test_without_the_way_to_the_resolver_nothing_is_said(depth: Depth, reason: NotJudgedReason) -> None:
    evidence = probe([], names=(name(took_us=620_000, again_us=None),), depth=depth)
    assert left_open(names.RULES, evidence) == {Id.DNS_SLOW: reason}


def test_three_aliases_are_a_chain_and_two_are_none() -> None:
    assert causes(name(aliases=aliases(3))) == {Id.DNS_CNAME_CHAIN}
    assert causes(name(aliases=aliases(2))) == set()


def test_a_chain_claims_no_more_than_its_lookup_took_longer() -> None:
    evidence = probe([], names=(name(aliases=aliases(4), took_us=30_000, again_us=20_000),))
    assert found(names.RULES, evidence)[Id.DNS_CNAME_CHAIN].saving_us == 10_000


def test_each_alias_that_the_resolver_leaves_to_the_asker_costs_the_way_to_it() -> None:
    """Though it knew all answers: the second lookup took as long."""
    evidence = probe([], names=(name(aliases=aliases(3), took_us=80_000, again_us=20_000, left_loose=3),))
    finding = found(names.RULES, evidence)[Id.DNS_CNAME_CHAIN]
    assert finding.saving_us == 60_000
    assert facts(finding)["left_loose"] == 3
    assert causes(name(aliases=aliases(3), took_us=320_000, again_us=80_000, left_loose=3)) == {Id.DNS_CNAME_CHAIN}


def test_a_slow_search_and_what_loose_aliases_cost_are_told_apart() -> None:
    others = (600_000, 610_000, 640_000)
    findings = found(
        names.RULES, probe([], names=(searched(*others, took_us=680_000, aliases=aliases(3), left_loose=3),))
    )
    assert findings[Id.DNS_SLOW].saving_us == 595_000
    assert findings[Id.DNS_CNAME_CHAIN].saving_us == 60_000


@pytest.mark.parametrize(("search_us", "slow"), [(15_000, False), (300_000, True)])
def test_a_resolver_that_searches_for_each_loose_alias_is_waited_for_as_often(search_us: int, slow: bool) -> None:
    """The way there and the search, once for the name and three times for what it leads to."""
    way_us = 20_000
    each_us = way_us + search_us
    looked_up = searched(each_us, each_us, each_us, took_us=4 * each_us, aliases=aliases(3), left_loose=3)
    findings = found(names.RULES, probe([], names=(looked_up,)))
    assert findings[Id.DNS_CNAME_CHAIN].saving_us == 3 * each_us
    assert (findings[Id.DNS_SLOW].saving_us if Id.DNS_SLOW in findings else None) == (search_us if slow else None)


def test_a_moment_of_bad_luck_is_no_search_for_loose_aliases() -> None:
    looked_up = searched(35_000, 35_000, 35_000, took_us=2_000_000, aliases=aliases(3), left_loose=3)
    assert found(names.RULES, probe([], names=(looked_up,)))[Id.DNS_CNAME_CHAIN].saving_us == 3 * 35_000


def test_the_milliseconds_of_a_slow_chain_are_told_once() -> None:
    evidence = probe([], names=(searched(600_000, 610_000, aliases=aliases(4)),))
    findings = found(names.RULES, evidence)
    assert findings.keys() == {Id.DNS_SLOW, Id.DNS_CNAME_CHAIN}
    assert findings[Id.DNS_CNAME_CHAIN].saving_us is None


def test_a_short_time_to_live_counts_when_the_resolver_had_to_ask() -> None:
    assert causes(name(min_ttl_s=20, took_us=40_000, again_us=18_000)) == {Id.DNS_CNAME_CHAIN}
    assert causes(name(min_ttl_s=60, took_us=40_000, again_us=18_000)) == set()
    assert causes(name(min_ttl_s=20, took_us=19_000, again_us=1_000)) == set()


def test_what_is_left_of_a_kept_answer_is_no_short_time_to_live() -> None:
    assert causes(name(min_ttl_s=20, took_us=41_000, again_us=40_000)) == set()


def test_names_on_the_way_are_told_apart_from_the_target() -> None:
    evidence = probe([], names=(searched(600_000, 600_000, host="old.example.org"), name()))
    hosts = [one.host for one in said(names.RULES, evidence) if one.id is Id.DNS_SLOW and hasattr(one, "host")]
    assert hosts == ["old.example.org"]


def test_a_name_that_this_machine_knows_costs_nothing() -> None:
    assert said(names.RULES, probe([], names=(NameEvidence(host="www.example.org", addresses=("192.0.2.1",)),))) == []
