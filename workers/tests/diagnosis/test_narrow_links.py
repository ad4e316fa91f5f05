"""What a narrow link takes is no fault of the server, and is not claimed beside one."""

from dataclasses import replace
from statistics import median

import pytest

from workers.diagnosis.probe import answers, handshakes, transport
from workers.diagnosis.probe.flights import packet_time_us
from workers.measurement.evidence import Direction, ProbeEvidence, Transfer, Trial
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, connection, deep, probe

# A megabit a second.
NARROW_BYTES_S = 125_000
PAGE = Server(body_bytes=20_000)


@pytest.mark.parametrize("sign_us", [25_000, 60_000, 200_000])
@pytest.mark.parametrize("way", [Path(up_bytes_s=NARROW_BYTES_S), Path(rate_bytes_s=NARROW_BYTES_S)])
def test_a_slow_key_is_told_without_what_a_narrow_way_takes_for_the_hello(way: Path, sign_us: int) -> None:
    told = found(handshakes.RULES, deep(way, Server(sign_us=sign_us)))
    if Id.TLS_KEY_COST in told or sign_us > 50_000:
        assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(sign_us, abs=3_000)


def test_a_narrow_way_to_the_server_is_no_slow_key() -> None:
    assert not found(handshakes.RULES, deep(Path(up_bytes_s=NARROW_BYTES_S / 2), Server()))


@pytest.mark.parametrize("rtt_ms", [5, 20, 80])
def test_a_narrow_way_to_a_server_is_no_slow_key_where_the_shorter_hellos_lost_packets(rtt_ms: float) -> None:
    """What got lost after the first word makes that no later."""
    way, server = Path(rtt_ms=rtt_ms, up_bytes_s=NARROW_BYTES_S / 2), Server()
    lossy = {Trial.CLASSICAL: (1,), Trial.TLS12: (1,)}
    made = [
        connection(replace(way, lost=lossy.get(kind, ()), seed=number), server, kind)
        for number, kind in enumerate(DEEP)
    ]
    assert not found(handshakes.RULES, probe(made))


def test_a_large_key_is_not_charged_for_the_way() -> None:
    told = found(handshakes.RULES, deep(Path(up_bytes_s=NARROW_BYTES_S), Server(key_bits=4096, sign_us=6_000)))
    assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(6_000, abs=2_000)


@pytest.mark.parametrize("pause_us", [160_000, 400_000])
def test_a_pause_is_told_without_what_a_narrow_link_takes_for_the_rest(pause_us: int) -> None:
    way = Path(rtt_ms=337, rate_bytes_s=NARROW_BYTES_S)
    paused, smooth = (deep(way, one) for one in (replace(PAGE, body_stall=(1_200, pause_us)), PAGE))
    real_us = cost(paused, "whole") - cost(smooth, "whole")
    told = found(answers.RULES, paused)
    assert told[Id.HTTP_BODY_STALL].saving_us == pytest.approx(real_us, abs=15_000)


@pytest.mark.parametrize("handshake_bytes", [17_000, 26_000, 40_000])
def test_a_chain_that_fills_the_window_costs_what_a_narrow_link_takes_for_its_rest_too(handshake_bytes: int) -> None:
    way = Path(rtt_ms=300, rate_bytes_s=2 * NARROW_BYTES_S)
    long, fitting = (deep(way, replace(PAGE, handshake_bytes=one)) for one in (handshake_bytes, 14_000))
    saving_us = found(handshakes.RULES, long)[Id.TLS_CHAIN_EXCEEDS_IW].saving_us
    assert saving_us == pytest.approx(shaken_us(long) - shaken_us(fitting), rel=0.03)
    assert Id.TLS_CHAIN_EXCEEDS_IW not in found(handshakes.RULES, fitting)


@pytest.mark.parametrize("rtt_ms", [200, 250, 300])
def test_a_small_window_on_a_narrow_link_is_no_stall_of_the_handshake(rtt_ms: float) -> None:
    """From one flight to the next it takes a round trip, and a packet on the link."""
    way = Path(rtt_ms=rtt_ms, iw=2, rate_bytes_s=0.3 * NARROW_BYTES_S)
    evidence = deep(way, replace(PAGE, handshake_bytes=17_000))
    told = {*found(handshakes.RULES, evidence), *left_open(handshakes.RULES, evidence)}
    assert Id.TLS_HANDSHAKE_STALL not in told


def test_a_small_answer_that_is_held_behind_tickets_on_a_narrow_link_is_no_thinking() -> None:
    """The link takes its time for the tickets, and for the answer, beside the acknowledgement that comes late."""
    way = Path(rtt_ms=45, nagle=True, late_ack_us=200_000, rate_bytes_s=0.3 * NARROW_BYTES_S)
    evidence = deep(way, Server(body_bytes=700, head_apart=True))
    assert Id.HTTP_THINK_TIME not in found(answers.RULES, evidence)


@pytest.mark.parametrize(
    ("id", "way", "server"),
    [
        (Id.TLS_HANDSHAKE_STALL, Path(rtt_ms=150), Server(handshake_bytes=3_500, stall=(700, 130_000))),
        (Id.TLS_CERT_FLUSH_STALL, Path(rtt_ms=150, nagle=True), Server(handshake_bytes=5_500, flush_bytes=4_096)),
    ],
)
def test_a_pause_of_the_handshake_is_told_without_what_a_narrow_link_takes_for_what_follows(
    id: Id, way: Path, server: Server
) -> None:
    way, whole = replace(way, rate_bytes_s=NARROW_BYTES_S), replace(server, stall=None, flush_bytes=None)
    paused, smooth = deep(way, server), deep(replace(way, nagle=False), whole)
    saving_us = found(handshakes.RULES, paused)[id].saving_us
    assert saving_us == pytest.approx(shaken_us(paused) - shaken_us(smooth), rel=0.03)


@pytest.mark.parametrize(
    ("way", "server"),
    [
        pytest.param(
            Path(rtt_ms=8, rate_bytes_s=30_000),
            Server(handshake_bytes=900, record_bytes=1_370, head_bytes=150, body_bytes=1_464),
            id="as an acknowledgement",
        ),
        pytest.param(
            Path(rtt_ms=4.9, mss=1_400, rate_bytes_s=11_484),
            Server(handshake_bytes=3_011, body_bytes=30),
            id="as a stall",
        ),
        pytest.param(
            Path(rtt_ms=15.3, rate_bytes_s=43_230),
            Server(handshake_bytes=3_654, version="TLSv1.2", body_bytes=269),
            id="as a full window",
        ),
    ],
)
@pytest.mark.parametrize("jitter", [0, 1])
def test_what_comes_late_behind_one_full_packet_may_be_the_links(way: Path, server: Server, jitter: float) -> None:
    """Three full ones in a row, which would show the link, came nowhere; but nothing came too soon for it either."""
    evidence = deep(replace(way, jitter=jitter), replace(server, tickets_bytes=0))
    assert found((*transport.RULES, *handshakes.RULES), evidence).keys() <= {Id.TCP_RTT_HIGH}


def test_what_one_packet_waits_for_behind_a_quick_handshake_is_not_the_links() -> None:
    evidence = deep(Path(rtt_ms=8, nagle=True), Server(handshake_bytes=900, head_apart=True, body_bytes=700))
    assert Id.TCP_NAGLE_DELAYED_ACK in found(transport.RULES, evidence)


def test_an_empty_read_behind_a_full_packet_shows_no_link() -> None:
    sent, full = (Transfer(at_us=0, direction=one, size_bytes=1_448) for one in (Direction.SENT, Direction.RECEIVED))
    (trial,) = deep(Path(), PAGE, trials=[Trial.FULL]).trials
    empty = replace(full, at_us=90_000, size_bytes=0)
    assert packet_time_us(replace(trial, transfers=(sent, replace(full, at_us=80_000), empty))) == 0


def shaken_us(evidence: ProbeEvidence) -> float:
    shakes = [trial.handshake for trial in evidence.of(Trial.FULL)]
    return median(shake.network_us or 0 for shake in shakes if shake is not None)
