"""Whether a run kept the numbers of its profile."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.shaping import Passage, keeps_profile, passages_of
from workers.measurement.evidence import Depth, Direction, ProbeEvidence, Transfer, Trial, TrialEvidence
from workers.measurement.profile import NATIVE, PROFILES, Profile

THREE_G = PROFILES["3g"]
# 1600 kbit/s: five microseconds a byte.
SHAPED = tuple((300_000 + 7500 * number, 1500) for number in range(20))


def test_native_is_neither_kept_nor_broken() -> None:
    assert keeps_profile(NATIVE, [Passage(syn_rtt_us=1)]) is None


def test_a_run_through_its_link_is_verified() -> None:
    assert keeps_profile(THREE_G, [Passage(syn_rtt_us=300_400, arrivals=SHAPED), Passage(syn_rtt_us=301_000)])


def test_one_handshake_quicker_than_the_link_is_enough_to_doubt_all() -> None:
    assert keeps_profile(THREE_G, [Passage(syn_rtt_us=300_400), Passage(syn_rtt_us=299_000)]) is False


def test_a_run_without_a_handshake_has_verified_nothing() -> None:
    assert keeps_profile(THREE_G, []) is False
    assert keeps_profile(THREE_G, [Passage()]) is False


def test_data_that_comes_too_fast_is_found_between_pauses() -> None:
    burst = tuple((at_us + 5_000_000, size) for at_us, size in ((0, 1500), (100, 8000), (200, 8000)))
    passage = Passage(syn_rtt_us=300_000, arrivals=(*SHAPED, *burst, (60_000_000, 1500)))
    assert keeps_profile(THREE_G, [passage]) is False


def test_a_profile_without_a_rate_is_known_by_its_round_trip_alone() -> None:
    profile = Profile(name="-/-/80/-", rtt_us=80_000)
    assert keeps_profile(profile, [Passage(syn_rtt_us=80_100, arrivals=((0, 1), (1, 10**6)))])


def test_a_profile_without_a_round_trip_is_known_by_its_rate_alone() -> None:
    profile = Profile(name="1600/-/-/-", down_kbit_s=1600)
    assert keeps_profile(profile, [Passage(syn_rtt_us=50, arrivals=SHAPED)])
    assert keeps_profile(profile, [Passage(syn_rtt_us=50, arrivals=((0, 1500), (10, 15_000)))]) is False


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 65_536)), max_size=40), st.integers(100, 10**6))
def test_whatever_a_link_lets_through_is_verified(packets: list[tuple[int, int]], kbit_s: int) -> None:
    free_us, arrivals = 0.0, []
    for pause_us, size in packets:
        free_us += pause_us + size * 8000 / kbit_s
        arrivals.append((round(free_us), size))
    profile = Profile(name="x", down_kbit_s=kbit_s)
    assert keeps_profile(profile, [Passage(syn_rtt_us=1, arrivals=tuple(arrivals))])


def test_the_passages_of_a_run_are_those_of_all_its_connections() -> None:
    transfers = (
        Transfer(at_us=0, direction=Direction.SENT, size_bytes=500),
        Transfer(at_us=300, direction=Direction.RECEIVED, size_bytes=1448),
    )
    trials = (
        TrialEvidence(trial=Trial.FULL, started_us=0, syn_rtt_us=300, transfers=transfers),
        TrialEvidence(trial=Trial.OTHER_FAMILY, started_us=9, syn_rtt_us=310, transfers=transfers, kernel_clock=False),
    )
    evidence = ProbeEvidence(
        depth=Depth.DEEP,
        host="example.com",
        port=443,
        secure=True,
        measured_at=datetime(2026, 11, 21, tzinfo=UTC),
        trials=trials,
    )
    assert passages_of(evidence) == [
        Passage(syn_rtt_us=300, arrivals=((300, 1448),)),
        Passage(syn_rtt_us=310),
    ]
