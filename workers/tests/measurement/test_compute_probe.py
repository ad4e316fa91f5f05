"""From marks to phases: pure arithmetic on captures made by hand and at random."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.captures_probe import (
    Arrival,
    ClockReading,
    ConnectCapture,
    HandshakeCapture,
    HopCapture,
    LookupCapture,
    NameCapture,
    ProbeCapture,
    Read,
    ResponseCapture,
    SendCapture,
    Write,
)
from workers.measurement.compute.probe.evidence import Deeper
from workers.measurement.compute.probe.probe import probe_measurement
from workers.measurement.evidence import CertificateFault
from workers.measurement.messages import Clock
from workers.measurement.timing import Phases, phases_of

MS = 1_000_000
OFFSET = 1_700_000_000_000_000_000


def clocks(at_ns: int, *, step_ns: int = 0) -> ClockReading:
    return ClockReading(wall_ns=at_ns + OFFSET + step_ns, monotonic_ns=at_ns)


def arrival(at_ms: float, *, late_ms: float = 0.0, stamped: bool = True) -> Arrival:
    """Came in at one time, seen by us later."""
    kernel_ns = round(at_ms * MS) + OFFSET if stamped else None
    return Arrival(user_ns=round((at_ms + late_ms) * MS), kernel_ns=kernel_ns)


def read(at_ms: float, writes: int = 1, size: int = 100, **how: Any) -> Read:
    return Read(arrival=arrival(at_ms, **how), size=size, writes=writes)


def hop(**changes: Any) -> HopCapture:
    """DNS 10 ms, connect 20, TLS 21 network and 2 own, send 0, wait 50, download 5; we were late before each step."""
    values: dict[str, Any] = {
        "url": "https://example.test/",
        "host": "example.test",
        "port": 443,
        "address": "192.0.2.1",
        "lookup": LookupCapture(asked_ns=0, answered=arrival(10, late_ms=3)),
        "connect": ConnectCapture(started_ns=13 * MS, ended_ns=40 * MS, rtt_us=20_000),
        "handshake": HandshakeCapture(
            flights_sent_ns=(42 * MS,), own_ns=2 * MS, reads=2, version="TLSv1.3", cipher="X", protocol="http/1.1"
        ),
        "send": SendCapture(started_ns=70 * MS, ended_ns=70 * MS),
        "reads": (read(62), read(63, late_ms=4), read(120, 2, late_ms=9), read(125, 2)),
        "response": ResponseCapture(first_read=2, last_read=3, status=200, head_bytes=40, body_bytes=160),
        "received_bytes": 400,
    }
    return HopCapture(**(values | changes))


def probe(*hops: HopCapture, step_ns: int = 0) -> ProbeCapture:
    return ProbeCapture(before=clocks(0), after=clocks(1000 * MS, step_ns=step_ns), hops=hops)


def phases(*hops: HopCapture, step_ns: int = 0) -> Phases:
    return phases_of(probe_measurement(probe(*hops, step_ns=step_ns)).hops[0].timing)


def test_phases_are_those_of_the_network_and_our_own_lateness_is_in_none() -> None:
    measurement = probe_measurement(probe(hop()))
    assert phases_of(measurement.hops[0].timing) == Phases(
        dns_us=10_000,
        connect_us=20_000,
        tls_us=23_000,
        send_us=0,
        wait_us=50_000,
        download_us=5_000,
        ttfb_us=103_000,
        total_us=108_000,
    )
    assert measurement.tls_network_us == 21_000
    assert measurement.clock is Clock.KERNEL
    assert measurement.scheduling_lag_us == 9_000


def test_a_second_hop_begins_where_the_first_ended() -> None:
    first, second = probe_measurement(probe(hop(), hop())).hops
    assert first.timing.end_us == second.timing.start_us == 108_000
    assert second.timing.end_us == 216_000
    assert (first.connection, second.connection) == (1, 2)


def test_a_name_took_as_long_as_the_first_connection_waited_for_it() -> None:
    """A redirect's next request asks a resolver that knows the answer by then; a visitor does not ask again."""
    slow, quick = (LookupCapture(asked_ns=0, answered=arrival(took_ms), resolver="192.0.2.53") for took_ms in (610, 10))
    journey = probe(hop(url="http://example.test/", port=80, lookup=slow, handshake=None), hop(lookup=quick))
    again, elsewhere = Deeper.of(journey), Deeper.of(journey)
    again.names.append(NameCapture(host="example.test", lookup=quick, again=(quick,)))
    elsewhere.names.append(NameCapture(host="example.test", lookup=replace(quick, resolver="192.0.2.54")))
    for deeper, took_us in ((None, 610_000), (again, 610_000), (elsewhere, 10_000)):
        evidence = probe_measurement(journey, deeper).evidence
        assert evidence is not None
        assert [one.took_us for one in evidence.names] == [took_us]


def test_a_clock_that_was_set_meanwhile_is_not_believed() -> None:
    measurement = probe_measurement(probe(hop(), step_ns=5 * MS))
    assert measurement.clock is Clock.USER
    assert measurement.scheduling_lag_us is None
    assert phases_of(measurement.hops[0].timing).wait_us == 59_000


def test_one_missing_stamp_makes_the_users_clock_count_for_all() -> None:
    reads = (*hop().reads[:2], read(120, 2, late_ms=9, stamped=False), read(125, 2))
    measurement = probe_measurement(probe(hop(reads=reads)))
    assert measurement.clock is Clock.USER
    assert phases_of(measurement.hops[0].timing).wait_us == 59_000


def test_the_end_of_a_stream_needs_no_stamp() -> None:
    reads = (*hop().reads, read(140, 2, size=0, stamped=False))
    measurement = probe_measurement(
        probe(hop(reads=reads, response=ResponseCapture(first_read=2, last_read=4, status=200)))
    )
    assert measurement.clock is Clock.KERNEL
    assert phases_of(measurement.hops[0].timing).download_us == 20_000


def test_what_lay_behind_a_missing_packet_came_when_that_was_repaired() -> None:
    """The kernel hands all of it on with the repair, under the stamp of the last packet."""
    late = (*hop().reads[:3], read(125, 2, late_ms=19))
    for held_reads, download_us in (((), 5_000), ((3,), 24_000)):
        assert phases(hop(reads=late, held_reads=held_reads)).download_us == download_us


def test_our_own_lateness_is_in_no_phase_where_another_read_lay_behind_a_missing_packet() -> None:
    late = (read(62), read(63, late_ms=60), read(140, 2), read(145, 2, late_ms=19))
    found = phases(hop(reads=late, held_reads=(3,)))
    assert (found.tls_us, found.download_us) == (23_000, 24_000)


def test_after_a_lost_syn_the_connection_took_as_long_as_we_waited() -> None:
    lost = ConnectCapture(started_ns=0, ended_ns=1020 * MS, rtt_us=20_000, retransmits=1)
    measurement = probe_measurement(probe(hop(connect=lost)))
    assert phases_of(measurement.hops[0].timing).connect_us == 1_020_000
    assert measurement.connections[0].rtt_us is None


def test_a_phase_takes_as_long_as_it_does_whenever_it_begins() -> None:
    found = phases(hop(lookup=LookupCapture(asked_ns=4 * MS, answered=arrival(10, late_ms=3))))
    assert (found.dns_us, found.connect_us) == (6_000, 20_000)
    lost = ConnectCapture(started_ns=13 * MS, ended_ns=1033 * MS, rtt_us=20_000, retransmits=1)
    assert phases(hop(connect=lost)).connect_us == 1_020_000
    waiting = hop(send=SendCapture(started_ns=70 * MS, ended_ns=74 * MS), reads=hop().reads[:2], response=None)
    assert (phases(waiting).send_us, phases(waiting).wait_us) == (4_000, None)


def test_a_connection_took_no_longer_than_we_waited_for_it() -> None:
    """The kernel counts in steps of its own."""
    rounded = ConnectCapture(started_ns=13 * MS, ended_ns=40 * MS, rtt_us=28_000)
    assert phases(hop(connect=rounded)).connect_us == 27_000


def test_a_second_flight_of_ours_parts_those_of_the_server() -> None:
    twice = HandshakeCapture(flights_sent_ns=(40 * MS, 65 * MS), own_ns=MS, reads=3, version="TLSv1.2")
    reads = (read(59), read(60), read(85, 2), read(120, 3), read(125, 3))
    seen = hop(handshake=twice, reads=reads, response=ResponseCapture(first_read=3, last_read=4, status=200))
    measurement = probe_measurement(probe(seen))
    assert measurement.connections[0].tls_round_trips == 2
    assert measurement.tls_network_us == 40_000


def test_what_the_server_sent_before_our_second_flight_left_is_no_answer_to_it() -> None:
    """Go sends a retried hello and the change of cipher behind it in two packets: the second came while we answered the
    first, and was read after that."""
    retried = HandshakeCapture(flights_sent_ns=(40 * MS, 61 * MS), own_ns=MS, reads=3, version="TLSv1.3")
    reads = (read(60, size=93), read(60.1, 2, late_ms=1, size=6), read(81, 2), read(120, 3), read(125, 3))
    writes = (Write(40 * MS, 1575), Write(61 * MS, 426))
    response = ResponseCapture(first_read=3, last_read=4, status=200)
    measurement = probe_measurement(probe(hop(handshake=retried, reads=reads, writes=writes, response=response)))
    assert measurement.connections[0].tls_round_trips == 2


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(read(61.5, 2, size=6), id="later than we left"),
        pytest.param(read(61.5, 2, stamped=False), id="when we looked"),
    ],
)
def test_what_comes_sooner_than_half_a_round_trip_after_our_second_flight_is_no_answer_to_it(behind: Read) -> None:
    """The way may part two packets for longer than we take to answer the first, and nobody may have stamped them."""
    retried = HandshakeCapture(flights_sent_ns=(40 * MS, 61 * MS), own_ns=MS, reads=3, version="TLSv1.3")
    reads = (read(60, size=93), behind, read(81, 2), read(120, 3), read(125, 3))
    writes = (Write(40 * MS, 1575), Write(61 * MS, 426))
    response = ResponseCapture(first_read=3, last_read=4, status=200)
    measurement = probe_measurement(probe(hop(handshake=retried, reads=reads, writes=writes, response=response)))
    assert measurement.connections[0].tls_round_trips == 2


def test_an_answer_that_is_quicker_than_the_first_round_trip_is_one() -> None:
    """TLS 1.2 within 5 ms: the first packet to a host may have waited for its address, a short one for anything."""
    old = HandshakeCapture(flights_sent_ns=(40 * MS, 45 * MS), own_ns=MS, reads=2, version="TLSv1.2")
    quick = ConnectCapture(started_ns=13 * MS, ended_ns=18 * MS, rtt_us=5_000)
    reads, writes = (read(44), read(46, 2), read(120, 3), read(125, 3)), (Write(40 * MS, 400), Write(45 * MS, 93))
    measurement = probe_measurement(probe(hop(connect=quick, handshake=old, reads=reads, writes=writes)))
    assert measurement.connections[0].tls_round_trips == 2


def test_a_pause_of_a_round_trip_is_a_round_trip_where_it_can_be_told() -> None:
    handshake = hop().handshake
    assert handshake is not None
    reads = (read(62), read(82), read(120, 2), read(125, 2))
    far = hop(reads=reads)
    near = hop(reads=reads, connect=ConnectCapture(started_ns=0, ended_ns=MS, rtt_us=900))
    assert probe_measurement(probe(far)).connections[0].tls_round_trips == 2
    assert probe_measurement(probe(near)).connections[0].tls_round_trips == 1


@pytest.mark.parametrize(
    ("paused_ms", "round_trips"),
    [
        # Signing with RSA 4096 behind the 4 KB of a long chain that OpenSSL sends ahead.
        (12, 1),
        (26, 1),
        (150, 1),
        # A full window, and a small rest that waits for an acknowledgement, which is delayed by 40 or 200 ms.
        (20, 2),
        (18, 2),
        (22, 2),
        (62, 2),
        (221, 2),
    ],
)
def test_a_pause_that_is_no_round_trip_is_none(paused_ms: float, round_trips: int) -> None:
    reads = (read(62), read(63), read(63 + paused_ms), read(400, 2), read(405, 2))
    handshake = HandshakeCapture(flights_sent_ns=(42 * MS,), own_ns=2 * MS, reads=3, version="TLSv1.3")
    response = ResponseCapture(first_read=3, last_read=4, status=200, head_bytes=40, body_bytes=160)
    paused = hop(
        reads=reads, handshake=handshake, response=response, send=SendCapture(started_ns=350 * MS, ended_ns=350 * MS)
    )
    assert probe_measurement(probe(paused)).connections[0].tls_round_trips == round_trips


@pytest.mark.parametrize(
    ("first_bytes", "round_trips"),
    [
        # The usual window of ten full segments, less one, and a larger one.
        (10 * 1448, 2),
        (9 * 1448, 2),
        (32 * 1448, 2),
        # As much, and no whole number of segments: OpenSSL's buffer of 4 KB, and a server that has no more.
        (3 * 4096, 1),
        (10 * 1448 + 700, 1),
        (4 * 1448, 1),
    ],
)
@pytest.mark.parametrize("paused_ms", [12, 26, 34])
def test_what_filled_a_window_waits_for_a_round_trip_however_long_that_is_on_an_unsteady_way(
    first_bytes: int, round_trips: int, paused_ms: float
) -> None:
    """The SYN took 20 ms."""
    first = (read(62, size=first_bytes // 2), read(63, size=first_bytes - first_bytes // 2))
    reads = (*first, read(63 + paused_ms), read(400, 2), read(405, 2))
    handshake = HandshakeCapture(flights_sent_ns=(42 * MS,), own_ns=2 * MS, reads=3, version="TLSv1.3")
    response = ResponseCapture(first_read=3, last_read=4, status=200, head_bytes=40, body_bytes=160)
    paused = hop(
        reads=reads, handshake=handshake, response=response, send=SendCapture(started_ns=350 * MS, ended_ns=350 * MS)
    )
    assert probe_measurement(probe(paused)).connections[0].tls_round_trips == round_trips


def test_a_flight_that_a_narrow_link_draws_out_and_the_next_are_a_round_trip_apart() -> None:
    reads = (read(62), read(66), read(70), read(82), read(86), read(120, 2), read(125, 2))
    handshake = HandshakeCapture(flights_sent_ns=(42 * MS,), own_ns=2 * MS, reads=5, version="TLSv1.3")
    response = ResponseCapture(first_read=5, last_read=6, status=200, head_bytes=40, body_bytes=160)
    narrow = hop(
        reads=reads, handshake=handshake, response=response, send=SendCapture(started_ns=90 * MS, ended_ns=90 * MS)
    )
    assert probe_measurement(probe(narrow)).connections[0].tls_round_trips == 2


def test_what_was_not_reached_is_absent() -> None:
    refused = HopCapture(url="http://example.test/", host="example.test", port=80, address="192.0.2.1")
    measurement = probe_measurement(probe(refused))
    assert phases_of(measurement.hops[0].timing) == Phases()
    connection = measurement.connections[0]
    assert (connection.connect, connection.tls, connection.rtt_us, connection.received_bytes) == (None,) * 4
    assert connection.protocol is None
    assert connection.requests == 0
    assert measurement.tls_network_us is None
    assert measurement.scheduling_lag_us is None


def test_an_answer_that_never_ended_has_no_download_and_no_end() -> None:
    measurement = probe_measurement(probe(hop(response=ResponseCapture(first_read=2, status=200))))
    assert measurement.hops[0].timing.download is None
    assert measurement.hops[0].timing.end_us is None
    assert measurement.hops[0].timing.first_byte_us == 103_000


def test_a_send_never_outlasts_the_wait_for_its_answer() -> None:
    seen = hop(send=SendCapture(started_ns=119 * MS, ended_ns=122 * MS))
    assert (phases(seen).send_us, phases(seen).wait_us) == (1_000, 0)


def test_faults_of_the_certificate_are_told_with_their_place() -> None:
    handshake = hop().handshake
    assert handshake is not None
    faults = (CertificateFault(code=20, depth=0, text="unable"), CertificateFault(code=10, depth=1, text="expired"))
    measurement = probe_measurement(probe(hop(handshake=replace(handshake, faults=faults, chain=(b"no DER",)))))
    assert measurement.connections[0].certificate_error == "the server's certificate: unable; issuer 1: expired"
    assert measurement.connections[0].certificate is None


def test_no_hops_are_no_measurement_but_no_error() -> None:
    measurement = probe_measurement(probe())
    assert measurement.hops == ()
    assert measurement.connections == ()


times = st.integers(0, 10_000 * MS)
arrivals = st.builds(
    lambda user_ns, late_ns, stamped: Arrival(
        user_ns=user_ns, kernel_ns=user_ns - late_ns + OFFSET if stamped else None
    ),
    times,
    st.integers(-5 * MS, 500 * MS),
    st.booleans(),
)
reads = st.builds(Read, arrival=arrivals, size=st.integers(0, 100), writes=st.integers(0, 3))


@st.composite
def captures(draw: st.DrawFn) -> ProbeCapture:
    """Anything a probe could have seen, in any order, however unlikely."""
    hops = []
    for _ in range(draw(st.integers(0, 3))):
        seen = tuple(draw(st.lists(reads, min_size=1, max_size=6)))
        index = st.integers(0, len(seen) - 1)
        handshake = st.builds(
            HandshakeCapture,
            flights_sent_ns=st.lists(times, max_size=3).map(tuple),
            own_ns=st.integers(0, 10 * MS),
            reads=index,
            version=st.just("TLSv1.3"),
        )
        hops.append(
            HopCapture(
                url="https://example.test/",
                host="example.test",
                port=443,
                lookup=draw(st.none() | st.builds(LookupCapture, asked_ns=times, answered=arrivals)),
                connect=draw(
                    st.none()
                    | st.builds(
                        ConnectCapture,
                        started_ns=times,
                        ended_ns=times,
                        rtt_us=st.none() | st.integers(1, 10**6),
                        retransmits=st.integers(0, 2),
                    )
                ),
                handshake=draw(st.none() | handshake),
                send=draw(st.none() | st.builds(SendCapture, started_ns=times, ended_ns=times)),
                response=draw(st.none() | st.builds(ResponseCapture, first_read=index, last_read=st.none() | index)),
                reads=seen,
            )
        )
    return probe(*hops, step_ns=draw(st.integers(-MS, MS)))


@given(captures())
def test_phases_follow_one_another_and_add_up_whatever_was_seen(capture: ProbeCapture) -> None:
    at_us = 0
    for seen in probe_measurement(capture).hops:
        timing = seen.timing
        assert timing.start_us == at_us
        for span in (timing.dns, timing.connect, timing.tls, timing.send, timing.wait, timing.download):
            if span is not None:
                assert span.start_us == at_us
                at_us = span.end_us
        assert timing.end_us in (None, at_us)
