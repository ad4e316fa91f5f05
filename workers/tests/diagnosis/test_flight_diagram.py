"""The ladder of one connection."""

from dataclasses import replace

from workers.diagnosis.probe.flight_diagram import MAX_ROWS, flight_diagram
from workers.measurement.evidence import Direction, Exchange, Handshake, TlsRecord, Transfer, Trial, TrialEvidence

RTT_US = 100_000
HANDSHAKE = Handshake(started_us=100_100, hello_bytes=517, ended_us=201_000, version="TLSv1.3")


def sent(at_us: int, size_bytes: int = 100) -> Transfer:
    return Transfer(at_us=at_us, direction=Direction.SENT, size_bytes=size_bytes)


def received(at_us: int, size_bytes: int = 1448) -> Transfer:
    return Transfer(at_us=at_us, direction=Direction.RECEIVED, size_bytes=size_bytes)


def overflowing() -> TrialEvidence:
    """A 16 KB record that the first window does not hold: its end comes a round trip later."""
    return TrialEvidence(
        trial=Trial.FULL,
        started_us=0,
        connect_us=RTT_US,
        syn_rtt_us=RTT_US,
        handshake=HANDSHAKE,
        exchanges=(Exchange(asked_us=202_000, sent_us=202_000, first_application_us=302_500),),
        transfers=(
            sent(100_100, 517),
            received(200_500),
            received(201_000),
            sent(202_000),
            received(302_000, 574),
            received(302_500, 12_000),
            received(402_600, 6_000),
        ),
        records=(
            TlsRecord(at_us=302_000, content_type=23, length_bytes=260, application=False),
            TlsRecord(at_us=302_500, content_type=23, length_bytes=16_401, end_us=402_600, application=True),
        ),
    )


def test_each_flight_is_a_row_that_says_what_it_carried() -> None:
    diagram = flight_diagram(overflowing())

    assert [row.label for row in diagram.rows] == [
        "SYN",
        "SYN, ACK",
        "ClientHello",
        "ServerHello",
        "Finished, request",
        "answer: a record of 16.4 kB",
        "rest of a record",
    ]
    assert [row.direction is Direction.SENT for row in diagram.rows] == [True, False, True, False, True, False, False]


def test_a_pause_within_the_servers_answer_is_marked_in_round_trips() -> None:
    rows = flight_diagram(overflowing()).rows

    assert [row.marked for row in rows] == [False] * 6 + [True]
    assert rows[-1].gap_rtt == 1.0
    assert rows[-1].gap_us == 100_100


def test_waiting_for_the_answer_to_ones_own_flight_is_no_mark() -> None:
    rows = flight_diagram(overflowing()).rows

    assert rows[3].gap_rtt == 1.0
    assert not rows[3].marked


def test_a_short_round_trip_is_told_but_never_counted() -> None:
    trial = TrialEvidence(
        trial=Trial.FULL,
        started_us=0,
        connect_us=2_000,
        syn_rtt_us=2_000,
        transfers=(received(9_000), received(20_000)),
    )

    diagram = flight_diagram(trial)

    assert diagram.rtt_us == 2_000
    assert {row.gap_rtt for row in diagram.rows} == {None}


def test_a_pause_of_our_own_is_not_the_servers() -> None:
    asked = (Exchange(asked_us=0, sent_us=0), Exchange(asked_us=2_000_000, sent_us=2_000_000, idle_us=1_990_000))
    trial = TrialEvidence(
        trial=Trial.FULL,
        started_us=0,
        syn_rtt_us=RTT_US,
        exchanges=asked,
        transfers=(sent(0), sent(2_000_000), received(2_100_000)),
    )

    assert [row.idle for row in flight_diagram(trial).rows] == [False, True, False]
    assert not any(row.marked for row in flight_diagram(trial).rows)


def two_turns(version: str, *, hello_retry: bool = False) -> TrialEvidence:
    """A handshake in which we had to say something twice."""
    return TrialEvidence(
        trial=Trial.FULL,
        started_us=0,
        syn_rtt_us=RTT_US,
        handshake=replace(HANDSHAKE, version=version, hello_retry=hello_retry, ended_us=301_000),
        exchanges=(Exchange(asked_us=302_000, sent_us=302_000),),
        transfers=(sent(100_100), received(201_000), sent(201_500), received(301_000), sent(302_000)),
    )


def test_tls_1_2_finishes_before_it_asks() -> None:
    ours = [row.label for row in flight_diagram(two_turns("TLSv1.2")).rows if row.direction is Direction.SENT]
    assert ours == ["ClientHello", "key exchange, Finished", "request"]


def test_a_retried_hello_is_said_twice() -> None:
    diagram = flight_diagram(two_turns("TLSv1.3", hello_retry=True))
    ours = [row.label for row in diagram.rows if row.direction is Direction.SENT]
    assert ours == ["ClientHello", "ClientHello again", "Finished, request"]


def test_without_tls_there_are_requests_and_answers() -> None:
    trial = TrialEvidence(
        trial=Trial.PLAIN,
        started_us=0,
        connect_us=RTT_US,
        syn_rtt_us=RTT_US,
        exchanges=(Exchange(asked_us=RTT_US, sent_us=RTT_US),),
        transfers=(sent(RTT_US), received(200_000), received(200_000, 0)),
    )

    assert [row.label for row in flight_diagram(trial).rows] == ["SYN", "SYN, ACK", "request", "answer"]


def test_a_server_that_dribbles_does_not_fill_the_screen() -> None:
    dribble = tuple(received(10_000 * number, 1) for number in range(100))
    diagram = flight_diagram(TrialEvidence(trial=Trial.FULL, started_us=0, transfers=dribble))

    assert len(diagram.rows) == MAX_ROWS
    assert diagram.dropped == 100 - MAX_ROWS


def test_a_connection_that_was_never_made_has_no_rows() -> None:
    assert flight_diagram(TrialEvidence(trial=Trial.FULL, started_us=0)).rows == ()
