"""What a measured pair brings to a verdict: legs that ended, each with its own connection, and what is usual there."""

from dataclasses import replace

import pytest

from workers.diagnosis.pair.facts import facts_of
from workers.diagnosis.pair.samples import PairRun, PairSample, run_of
from workers.diagnosis.pair.verdict import compare, judge
from workers.measurement.pair import Leg
from workers.tests.builders import build_pair
from workers.tests.diagnosis.noise import fixed, leg, warnings


@pytest.mark.parametrize("unended", [Leg.A, Leg.B])
@pytest.mark.parametrize("reused", [False, True])
def test_an_answer_without_an_end_leaves_out_its_pair_alone(unended: Leg, reused: bool) -> None:
    exchanges = tuple(
        replace(one, timing=replace(one.timing, download=None)) if (one.leg, one.reused) == (unended, reused) else one
        for one in build_pair().exchanges
    )
    run = run_of(build_pair(exchanges=exchanges))
    assert (run.cold is None, run.reused is None) == (not reused, reused)


def test_a_leg_is_told_with_the_facts_of_its_own_connection() -> None:
    cold = run_of(build_pair()).cold
    assert cold is not None
    (near, far) = build_pair().connections
    for one, connection in ((cold.a, near), (cold.b, far)):
        assert (one.address, one.port, one.tls_version) == (connection.address, connection.port, connection.tls_version)
        assert (one.rtt_us, one.tls_round_trips) == (connection.rtt_us, connection.tls_round_trips)
    unknown = run_of(build_pair(connections=())).cold
    assert unknown is not None
    assert (unknown.a.address, unknown.a.port, unknown.a.rtt_us, unknown.a.tls_round_trips) == (None,) * 4


@pytest.mark.parametrize(
    ("closing", "name", "further_us"), [(Leg.A, "the CDN", 21_000), (Leg.B, "the origin", -21_000)]
)
def test_who_closes_its_connections_is_called_by_its_name(closing: Leg, name: str, further_us: int) -> None:
    comparison = compare([PairRun(cold=pair, not_kept=(closing,)) for pair in fixed(24, leg(), leg())])
    (warning,) = comparison.cold.warnings
    assert warning.text.startswith(f"The connection of {name} was closed after its first answer")
    reason = comparison.cold.reasons[-1]
    assert reason.text.startswith(f"T{name[1:]} closes its connection after each answer")
    assert reason.difference_us == further_us


@pytest.mark.parametrize("closed", [12, 13])
def test_a_server_that_closes_no_more_than_half_of_its_connections_is_not_said_to_close_them(closed: int) -> None:
    pairs = enumerate(fixed(24, leg(), leg()))
    runs = [PairRun(cold=pair, not_kept=(Leg.B,) if number < closed else ()) for number, pair in pairs]
    assert ("not_kept" in warnings(compare(runs).cold)) is (closed > 12)


def test_how_many_pairs_are_missing_is_told_in_words_that_fit_their_number() -> None:
    moved = PairRun(cold=PairSample(a=leg(status=301), b=leg()))
    compared = [compare([*[PairRun()] * count, *[moved] * count]).cold for count in (1, 2)]
    texts = [[warning.text for warning in one.warnings] for one in compared]
    assert texts == [
        [
            "1 pair could not be measured on both legs and is left out.",
            "1 pair had answers of different status and is left out.",
        ],
        [
            "2 pairs could not be measured on both legs and are left out.",
            "2 pairs had answers of different status and are left out.",
        ],
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_of_bodies_that_differ_it_is_told_which_is_which_and_who_does_not_compress(turned: bool) -> None:
    packed, plain = leg(body_bytes=31_000, content_encoding="br"), leg(body_bytes=180_000)
    legs = (plain, packed) if turned else (packed, plain)
    (warning,) = judge(fixed(24, *legs)).warnings
    assert warning.text == (
        "The bodies differ by 83 %: 180.0 kB (not compressed) from the CDN, 31.0 kB (br) from the origin."
        " The CDN does not compress it."
        if turned
        else "The bodies differ by 83 %: 31.0 kB (br) from the CDN, 180.0 kB (not compressed) from the origin."
        " The origin does not compress it."
    )


def test_of_bodies_that_both_are_compressed_nobody_is_said_not_to_compress() -> None:
    one, other = (leg(body_bytes=size, content_encoding="br") for size in (31_000, 180_000))
    (warning,) = judge(fixed(24, one, other)).warnings
    assert warning.text == "The bodies differ by 83 %: 31.0 kB (br) from the CDN, 180.0 kB (br) from the origin."


def test_of_an_unknown_address_no_other_family_is_told() -> None:
    assert warnings(judge(fixed(24, leg(), leg(address="2001:db8::1")))) == set()
    assert warnings(judge(fixed(24, leg(address="192.0.2.1"), leg()))) == set()


def test_what_is_usual_on_a_leg_is_its_middle_and_what_was_newest() -> None:
    legs = [leg(rtt_us=trip, body_bytes=trip, etag=f'"{trip}"') for trip in (10_000, 90_000, 12_000)]
    facts = facts_of([PairSample(a=one, b=leg()) for one in legs], Leg.A, with_dns=False)
    assert (facts.rtt_us, facts.body_bytes, facts.etag) == (12_000, 12_000, '"12000"')
