"""What a key costs where packets get lost that are a flight by themselves: nothing behind them tells of that."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import handshakes
from workers.measurement.evidence import ProbeEvidence, TcpState
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep, light

RULES = handshakes.RULES
ANYWHERE = pytest.mark.parametrize("rtt_ms", [5, 20, 80, 380])
LARGE = Server(sign_us=6_000, key_bits=4096, version="TLSv1.2")


@ANYWHERE
@pytest.mark.parametrize("jitter", [0, 0.05])
@pytest.mark.parametrize("lossy", [1, 2, 3])
def test_a_large_key_costs_what_it_costs_where_second_flights_get_lost(
    rtt_ms: float, jitter: float, lossy: int
) -> None:
    lost, clean = (deep(Path(rtt_ms=rtt_ms, jitter=jitter, lost=(3,)), LARGE, lossy=count) for count in (lossy, 0))
    saving_us = found(RULES, lost)[Id.TLS_KEY_COST].saving_us
    assert saving_us == pytest.approx(
        found(RULES, clean)[Id.TLS_KEY_COST].saving_us, rel=0.1, abs=jitter * rtt_ms * 1000
    )


@pytest.mark.parametrize(("rtt_ms", "signs_us"), [(20, 8_000), (20, 26_000), (80, 8_000), (80, 30_000), (380, 12_000)])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_large_key_costs_what_it_costs_behind_the_part_of_a_long_chain_that_is_sent_before(
    rtt_ms: float, signs_us: int, version: str
) -> None:
    """OpenSSL hands over what fills its buffer of 4 KB, and signs then."""
    server = replace(LARGE, handshake_bytes=6_900, stall=(4_096, signs_us), sign_us=600, version=version)
    finding = found(RULES, deep(Path(rtt_ms=rtt_ms), server))[Id.TLS_KEY_COST]
    assert finding.saving_us == pytest.approx(signs_us, rel=0.1)


def test_what_a_large_key_costs_is_not_known_where_it_may_be_a_round_trip() -> None:
    server = replace(LARGE, handshake_bytes=6_900, stall=(4_096, 20_000), sign_us=600)
    assert found(RULES, deep(Path(rtt_ms=20), server))[Id.TLS_KEY_COST].saving_us is None


def test_what_is_told_as_a_pause_of_the_handshake_is_not_told_as_the_cost_of_the_key_too() -> None:
    server = replace(LARGE, handshake_bytes=6_900, stall=(4_096, 120_000), sign_us=600)
    told = found(RULES, deep(Path(), server))
    assert told[Id.TLS_KEY_COST].saving_us is None
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(120_000, rel=0.1)


@ANYWHERE
def test_what_a_large_key_costs_is_not_known_of_one_handshake_that_lost_a_flight(rtt_ms: float) -> None:
    evidence = light(Path(rtt_ms=rtt_ms, lost=(3,)), LARGE)
    assert found(RULES, evidence)[Id.TLS_KEY_COST].saving_us is None


@ANYWHERE
def test_what_a_large_key_costs_is_not_known_where_the_only_answer_takes_as_long(rtt_ms: float) -> None:
    evidence = light(Path(rtt_ms=rtt_ms), replace(LARGE, think_us=(7_000,)))
    assert found(RULES, evidence)[Id.TLS_KEY_COST].saving_us is None


@ANYWHERE
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_slow_key_costs_what_it_costs_where_first_flights_of_one_packet_get_lost(rtt_ms: float, version: str) -> None:
    server = Server(sign_us=70_000, handshake_bytes=1_200, version=version)
    one = found(RULES, on_a_lossy_way(deep(Path(rtt_ms=rtt_ms, lost=(0,)), server, lossy=1)))
    assert one[Id.TLS_KEY_COST].saving_us == pytest.approx(70_000, rel=0.01)
    most = on_a_lossy_way(deep(Path(rtt_ms=rtt_ms, lost=(0,)), server, lossy=3))
    assert Id.TLS_KEY_COST not in found(RULES, most)


def on_a_lossy_way(evidence: ProbeEvidence) -> ProbeEvidence:
    """With packets that came out of order in the last connection."""
    last = evidence.trials[-1]
    marked = replace(last, tcp_ended=replace(last.tcp_ended or TcpState(), out_of_order_packets=1))
    return replace(evidence, trials=(*evidence.trials[:-1], marked))
