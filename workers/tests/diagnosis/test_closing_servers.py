"""Nagle's algorithm where a server ends the connection behind an answer, and with that sends all of it."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.probe import transport
from workers.diagnosis.probe.weighing import ASKED
from workers.measurement.evidence import ProbeEvidence, TcpState, Trial, TrialEvidence
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason, Severity
from workers.tests.diagnosis.judging import found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Connection, Server, asked_twice, connection, probe

SPLIT = Server(head_apart=True, body_bytes=700)
KINDS = (*[Trial.FULL] * 3, *[Trial.DELAYED_ACK] * 3)
ANYWHERE = pytest.mark.parametrize("rtt_ms", [20, 80, 380])


def closed_behind_the_second(path: Path, server: Server, trial: Trial) -> TrialEvidence:
    """With the end of the connection all of the second answer is sent at once."""
    made = Connection(replace(path, delayed_ack=trial is Trial.DELAYED_ACK), server, trial)
    handshake = made.shake()
    made.ask(0)
    made.server = replace(server, head_apart=False)
    made.ask(1)
    evidence = made.evidence(handshake)
    first, second = evidence.exchanges
    good_bye = replace(evidence.records[-1], length_bytes=19, application=False)
    exchanges = (first, replace(second, kept=False))
    return replace(evidence, exchanges=exchanges, records=(*evidence.records, good_bye))


@ANYWHERE
def test_nagle_shows_by_first_answers_where_a_server_closes_behind_the_second(rtt_ms: float) -> None:
    held, free = (
        [closed_behind_the_second(Path(rtt_ms=rtt_ms, nagle=nagle), SPLIT, one) for one in KINDS]
        for nagle in (True, False)
    )
    assert found(transport.RULES, probe(held)).keys() == {Id.TCP_NAGLE_DELAYED_ACK}
    assert not found(transport.RULES, probe(free))


@ANYWHERE
def test_one_answer_that_waits_for_exactly_a_round_trip_is_left_open_where_the_second_ends_all(rtt_ms: float) -> None:
    """Behind full packets nobody delays an acknowledgement, and a window may have stopped the first."""
    server = replace(SPLIT, body_bytes=3000)
    held = [closed_behind_the_second(Path(rtt_ms=rtt_ms, nagle=True), server, one) for one in KINDS]
    assert left_open(transport.RULES, probe(held))[Id.TCP_NAGLE_DELAYED_ACK] is NotJudgedReason.UNSTEADY


@ANYWHERE
def test_nagle_shows_although_the_first_connection_is_asked_to_be_closed(rtt_ms: float) -> None:
    """As Java's HttpServer and Python's close it: without a good-bye."""
    way = Path(rtt_ms=rtt_ms, nagle=True)
    asked = connection(replace(way, nagle=False), SPLIT)
    own = replace(asked, exchanges=(replace(asked.exchanges[0], kept=None),))
    evidence = probe(
        [own, *[connection(way, SPLIT, one) for one in KINDS[1:]], connection(way, SPLIT, Trial.CLASSICAL)]
    )
    assert found(transport.RULES, evidence).keys() == {Id.TCP_NAGLE_DELAYED_ACK}


def asked_to_end(way: Path, server: Server) -> ProbeEvidence:
    """The run's own answer ends with its connection, whose good-bye sends all that Nagle's algorithm holds."""
    own = connection(replace(way, nagle=False), server)
    own = replace(own, exchanges=(replace(own.exchanges[0], kept=None),))
    return probe([own, *[connection(way, server, one) for one in (*KINDS[1:], Trial.CLASSICAL)]])


@ANYWHERE
@pytest.mark.parametrize("body_bytes", [3000, 8000, 11000])
def test_an_end_that_waits_behind_tickets_shows_by_the_answer_that_ends_its_connection(
    rtt_ms: float, body_bytes: int
) -> None:
    """Behind tickets alone: those of the connection's first answer, while the second comes in one go."""
    one_write = Server(body_bytes=body_bytes, record_bytes=16384)
    told = found(transport.RULES, asked_to_end(Path(rtt_ms=rtt_ms, nagle=True), one_write))
    assert told.keys() == {Id.TCP_NAGLE_DELAYED_ACK}
    assert told[Id.TCP_NAGLE_DELAYED_ACK].saving_us == pytest.approx(rtt_ms * 1000, rel=0.02)


@ANYWHERE
def test_an_end_that_small_packets_of_their_own_would_keep_out_of_the_window_waits_for_nobody_else(
    rtt_ms: float,
) -> None:
    """Without Nagle's algorithm each ticket is a packet by itself: with ten others the window is full."""
    way, server = Path(rtt_ms=rtt_ms, nagle=True), Server(body_bytes=12_000, record_bytes=16384, tickets_apart=True)
    held, free = (connection(replace(way, nagle=nagle), server) for nagle in (True, False))
    assert free.exchanges[0].ended_us == pytest.approx(held.exchanges[0].ended_us, abs=1_000)
    own = asked_to_end(way, replace(server, tickets_apart=False)).trials[0]
    evidence = probe([own, *asked_to_end(way, server).trials[1:]])
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, evidence)


@ANYWHERE
def test_a_small_window_stops_the_answer_that_ends_its_connection_too(rtt_ms: float) -> None:
    server = Server(body_bytes=8000, record_bytes=16384)
    evidence = asked_to_end(Path(rtt_ms=rtt_ms, iw=6), server)
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, evidence)


@ANYWHERE
def test_a_server_that_rests_for_a_round_trip_before_its_last_records_holds_none_back(rtt_ms: float) -> None:
    server = Server(body_bytes=8000)
    resting = replace(server, body_stall=(7000, round(rtt_ms * 1000)))
    own = connection(Path(rtt_ms=rtt_ms), server)
    own = replace(own, exchanges=(replace(own.exchanges[0], kept=None),))
    others = [connection(Path(rtt_ms=rtt_ms), resting, one) for one in (*KINDS[1:], Trial.CLASSICAL)]
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, probe([own, *others]))


@ANYWHERE
def test_an_end_that_waits_behind_tickets_over_http_1_alone_holds_no_browser_up(rtt_ms: float) -> None:
    way, one_write = Path(rtt_ms=rtt_ms, nagle=True), Server(body_bytes=8000, record_bytes=16384)
    old = asked_to_end(way, one_write).trials
    new = [connection(replace(way, nagle=False), replace(one_write, settings_bytes=80), Trial.HTTP2)] * 3
    told = found(transport.RULES, probe([*old, *new]))[Id.TCP_NAGLE_DELAYED_ACK]
    assert told.severity is Severity.LOW


@ANYWHERE
def test_of_an_end_that_the_server_itself_writes_late_nagle_costs_the_rest(rtt_ms: float) -> None:
    """How late shows where the end of the connection sends it at once."""
    rest_us = round(rtt_ms * 400)
    resting = Server(body_bytes=700, body_stall=(300, rest_us))
    way = Path(rtt_ms=rtt_ms, nagle=True)
    held, free = (connection(replace(way, nagle=nagle), resting, Trial.DELAYED_ACK) for nagle in (True, False))
    told = found(transport.RULES, asked_to_end(way, resting))[Id.TCP_NAGLE_DELAYED_ACK]
    cost_us = (held.exchanges[0].ended_us or 0) - (free.exchanges[0].ended_us or 0)
    assert told.saving_us == pytest.approx(cost_us, abs=2_000)


@pytest.mark.parametrize(
    ("lag_us", "changes"),
    [
        pytest.param(0, {"tcp_ended": TcpState(out_of_order_packets=1)}, id="a packet lost"),
        pytest.param(5_000, {"kernel_clock": False}, id="late stamps"),
        pytest.param(20_000, {}, id="read late"),
    ],
)
def test_an_answer_that_was_disturbed_does_not_tell_how_late_the_server_writes_its_end(
    lag_us: int, changes: dict[str, Any]
) -> None:
    resting, way = Server(body_bytes=700, body_stall=(300, 32_000)), Path(nagle=True)
    own, *others = asked_to_end(way, resting).trials
    evidence = probe([replace(own, scheduling_lag_us=lag_us, **changes), *others])
    assert found(transport.RULES, evidence)[Id.TCP_NAGLE_DELAYED_ACK].saving_us == pytest.approx(120_000, rel=0.01)


@ANYWHERE
def test_what_the_server_has_still_to_say_behind_an_end_that_was_held_comes_no_sooner_without_nagle(
    rtt_ms: float,
) -> None:
    late_us = round(rtt_ms * 1_000)
    resting = Server(body_bytes=900, stops=((300, 0), (200, late_us // 4), (200, 3 * late_us)))
    evidence = asked_to_end(Path(rtt_ms=rtt_ms, nagle=True), resting)
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, evidence)


def took_us(trial: TrialEvidence, number: int) -> int:
    exchange = trial.exchanges[number]
    return (exchange.ended_us or 0) - (exchange.sent_us or 0)


@ANYWHERE
def test_small_packets_that_fill_the_window_leave_nagle_the_second_answers_alone(rtt_ms: float) -> None:
    """As fasthttp's records do, of which each is written by itself."""
    way = Path(rtt_ms=rtt_ms, nagle=True)
    server = Server(body_bytes=9_000, record_bytes=700, records_apart=True, version="TLSv1.2")
    held, free = (asked_twice(replace(way, nagle=nagle), server) for nagle in (True, False))
    assert took_us(free, 0) == pytest.approx(took_us(held, 0), abs=1_000)
    own, *others = asked_to_end(way, server).trials
    told = found(transport.RULES, probe([own, *(one for one in others if one.trial in ASKED), held, held, held]))
    assert told[Id.TCP_NAGLE_DELAYED_ACK].severity is Severity.MEDIUM
    assert told[Id.TCP_NAGLE_DELAYED_ACK].saving_us == pytest.approx(took_us(held, 1) - took_us(free, 1), rel=0.05)
