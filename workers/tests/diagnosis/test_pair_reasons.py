"""Why one leg of a pair is faster: every cause with what it costs, also where causes act against each other."""

from random import Random

import pytest

from workers.diagnosis.pair.samples import LegSample, PairSample, Verdict
from workers.diagnosis.pair.verdict import judge
from workers.measurement.pair import CacheState
from workers.tests.diagnosis.noise import fixed, leg, reasons, warnings


def test_a_nearer_cdn_is_explained_by_its_distance() -> None:
    near = leg(12_000, connect_us=5_000, tls_us=6_000, rtt_us=5_000)
    far = leg(52_000, connect_us=45_000, tls_us=46_000, rtt_us=45_000)
    verdict = judge(fixed(24, near, far))
    assert verdict.verdict is Verdict.CDN_FASTER
    assert verdict.main_reason is not None
    assert (verdict.main_reason.id, verdict.main_reason.text) == (
        "distance",
        "The origin is farther away than the CDN: a round trip takes 45 ms against 5.0 ms.",
    )
    assert reasons(verdict) == {"distance": pytest.approx(-120, abs=0.5)}


def test_distance_is_told_of_open_connections_too() -> None:
    """Nobody connects there, and each answer still takes its round trip."""
    near = leg(21_000, connect_us=0, tls_us=0, rtt_us=20_000, cache=CacheState.HIT)
    far = leg(152_000, connect_us=0, tls_us=0, rtt_us=100_000)
    verdict = judge(fixed(24, near, far))
    assert reasons(verdict) == {"distance": pytest.approx(-80, abs=0.5), "cache_hit": pytest.approx(-51, abs=0.5)}
    assert verdict.main_reason is not None
    assert verdict.main_reason.id == "distance"


def test_more_tls_round_trips_are_told_with_their_versions() -> None:
    old = leg(tls_us=41_000, tls_round_trips=2, tls_version="TLSv1.2", rtt_us=20_000)
    new = leg(tls_us=21_000, rtt_us=20_000)
    verdict = judge(fixed(24, old, new))
    assert verdict.main_reason is not None
    assert verdict.main_reason.text == (
        "The TLS handshake of the CDN takes 2 round trips, that of the origin 1 (TLSv1.2 against TLSv1.3)."
    )
    assert reasons(verdict) == {"tls_round_trips": pytest.approx(20, abs=0.1)}


def test_round_trips_of_which_every_second_handshake_takes_one_more_are_told_as_the_half_that_they_are() -> None:
    """Else both would be said to take two."""
    old, new = leg(tls_us=21_000, tls_round_trips=2), leg()
    pairs = [PairSample(a=old, b=old if number % 2 else new) for number in range(60)]
    assert judge(pairs).reasons[0].text == "The TLS handshake of the CDN takes 2 round trips, that of the origin 1.5."
    turned = [PairSample(a=pair.b, b=new) for pair in pairs]
    assert judge(turned).reasons[0].text == "The TLS handshake of the CDN takes 1.5 round trips, that of the origin 1."


def test_a_cdn_that_misses_is_explained_by_its_misses() -> None:
    verdict = judge(fixed(24, leg(80_000, cache=CacheState.MISS), leg(30_000)))
    assert verdict.verdict is Verdict.ORIGIN_FASTER
    assert reasons(verdict) == {"cache_miss": pytest.approx(50, abs=0.2)}
    assert verdict.reasons[0].text.startswith(
        "24 of 24 answers of the CDN did not come from its cache, and begin later than those of the origin: "
    )
    assert warnings(verdict) == {"all_misses"}


def test_a_cdn_that_answers_from_its_cache_is_praised_for_it() -> None:
    verdict = judge(fixed(24, leg(11_000, cache=CacheState.HIT, age_s=7), leg(90_000)))
    assert reasons(verdict) == {"cache_hit": pytest.approx(-79, abs=0.2)}
    assert verdict.reasons[0].text.startswith(
        "The CDN answers from its cache, and the origin takes longer to begin its answer: "
    )
    assert warnings(verdict) == set()


def test_a_cdn_that_never_keeps_such_answers_is_said_so() -> None:
    verdict = judge(fixed(24, leg(80_000, cache=CacheState.DYNAMIC), leg(30_000)))
    assert "does not keep such answers" in verdict.warnings[0].text


def test_a_cdn_that_lost_the_compression_is_caught() -> None:
    plain = leg(download_us=61_000, body_bytes=180_000)
    packed = leg(download_us=9_000, body_bytes=31_000, content_encoding="gzip")
    verdict = judge(fixed(24, plain, packed))
    assert verdict.verdict is Verdict.ORIGIN_FASTER
    assert verdict.reasons[0].id == "compression_lost"
    assert (
        verdict.reasons[0].text == "The CDN does not compress what the origin sends as gzip: 180.0 kB against 31.0 kB."
    )
    assert warnings(verdict) == {"bytes_differ"}
    assert "differ by 83 %" in verdict.warnings[0].text


def test_more_bytes_and_a_slower_way_are_other_reasons() -> None:
    larger = judge(fixed(24, leg(download_us=61_000, body_bytes=180_000), leg(download_us=9_000, body_bytes=31_000)))
    assert larger.reasons[0].id == "bytes"
    slower = judge(fixed(24, leg(download_us=61_000), leg(download_us=9_000)))
    assert (slower.reasons[0].id, warnings(slower)) == ("download", set())


def test_only_one_leg_over_tls_is_said_so() -> None:
    bare = leg(tls_us=0, tls_round_trips=None, tls_version=None)
    verdict = judge(fixed(24, leg(), bare))
    assert verdict.reasons[0].text == "Only the CDN is asked over TLS: the handshake takes 11 ms."


def test_a_slow_name_and_a_slow_server_are_told_apart() -> None:
    verdict = judge(fixed(24, leg(60_000, dns_us=22_000), leg(30_000)))
    assert reasons(verdict) == {"server_wait": pytest.approx(30, abs=0.2), "dns": pytest.approx(20, abs=0.1)}


def test_causes_that_act_against_each_other_in_one_phase_are_both_told() -> None:
    old = leg(55_000, connect_us=20_000, tls_us=41_000, rtt_us=20_000, tls_round_trips=2, tls_version="TLSv1.2")
    far = leg(50_000, connect_us=50_000, tls_us=51_000, rtt_us=50_000)
    verdict = judge(fixed(24, old, far))
    assert reasons(verdict) == {
        "distance": pytest.approx(-90, abs=0.2),
        "server_wait": pytest.approx(35, abs=0.2),
        "tls_round_trips": pytest.approx(20, abs=0.2),
    }
    texts = {reason.id: reason.text for reason in verdict.reasons}
    assert texts["server_wait"] == (
        "The CDN takes longer to begin its answer than the origin: 35 ms against 0.20 ms beyond the round trip."
    )


def test_what_is_always_the_same_bears_nothing_of_a_difference_that_comes_and_goes() -> None:
    """A server that thinks every second time, behind a body that always stalls."""
    slow, quick = leg(330_000, download_us=283_000), leg(20_000, download_us=283_000)
    pairs = [PairSample(a=slow if number % 5 < 3 else quick, b=leg(20_000, download_us=1_000)) for number in range(25)]
    verdict = judge(pairs)
    assert verdict.by_phase is not None
    assert verdict.by_phase.download == pytest.approx(282_000, abs=100)
    assert verdict.by_phase.wait == verdict.by_phase.total - verdict.by_phase.download


def test_round_trips_that_a_window_costs_a_body_are_told_as_distance() -> None:
    near = leg(12_000, connect_us=10_000, tls_us=11_000, download_us=10_500, rtt_us=10_000, body_bytes=20_000)
    far = leg(52_000, connect_us=50_000, tls_us=51_000, download_us=50_500, rtt_us=50_000, body_bytes=20_000)
    assert reasons(judge(fixed(24, near, far))) == {"distance": pytest.approx(-160, abs=0.5)}


def test_a_body_that_needed_no_further_round_trip_is_no_matter_of_distance() -> None:
    near = leg(12_000, connect_us=10_000, tls_us=11_000, download_us=60_000, rtt_us=10_000, body_bytes=12_000)
    far = leg(52_000, connect_us=50_000, tls_us=51_000, download_us=110_000, rtt_us=50_000, body_bytes=12_000)
    found = reasons(judge(fixed(24, near, far)))
    assert found == {"distance": pytest.approx(-120, abs=0.5), "download": pytest.approx(-50, abs=0.5)}


def test_nobody_is_called_farther_away_whose_round_trip_is_not_longer() -> None:
    """A connection that took long to open for another reason, such as a packet that was lost."""
    late, quick = leg(connect_us=60_000), leg(connect_us=10_000)
    verdict = judge(fixed(24, late, quick))
    assert verdict.reasons[0].text == "A connection to the CDN takes longer to open than one to the origin."


@pytest.mark.parametrize("thinks_us", [0, 25_000])
def test_a_round_trip_over_open_connections_is_told_as_distance_and_no_server_is_blamed_for_it(thinks_us: int) -> None:
    open_already = {"dns_us": None, "connect_us": None, "tls_us": None, "tls_round_trips": None}
    near = leg(12_000 + thinks_us, rtt_us=10_000, **open_already)
    far = leg(72_000, rtt_us=70_000, **open_already)
    verdict = judge(fixed(24, near, far))
    thinking = {"server_wait": pytest.approx(thinks_us / 1000, abs=0.5)} if thinks_us else {}
    assert reasons(verdict) == {"distance": pytest.approx(-60, abs=0.5), **thinking}
    assert "The origin is farther away than the CDN: a round trip takes 70 ms against 10 ms." in [
        reason.text for reason in verdict.reasons
    ]


@pytest.mark.parametrize(("further_us", "is_told"), [(0, False), (40_000, True)])
def test_round_trips_over_open_connections_that_differ_by_chance_are_no_distance(
    further_us: int, is_told: bool
) -> None:
    """Both are far and restless: the middles of two dozen differ, and neither is surely the farther one."""
    random = Random(4)

    def opened(rtt_us: float) -> LegSample:
        fresh = {"dns_us": None, "connect_us": None, "tls_us": None, "tls_round_trips": None}
        return leg(rtt_us + 30_000, rtt_us=round(rtt_us), **fresh)

    far = 100_000 + further_us
    pairs = [
        PairSample(a=opened(random.gauss(far, 20_000)), b=opened(random.gauss(100_000, 20_000))) for _ in range(24)
    ]
    assert ("distance" in reasons(judge(pairs))) is is_told
