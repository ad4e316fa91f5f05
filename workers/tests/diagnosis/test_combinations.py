"""Two faults of one server at once: each is told for what it is and costs, and neither is taken for a third."""

from dataclasses import replace
from statistics import median

import pytest

from workers.diagnosis.probe.diagnose import RULES
from workers.diagnosis.probe.windows import window_of
from workers.measurement.evidence import Direction, ProbeEvidence, TlsRecord, Transfer, Trial, TrialEvidence
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, connection, deep

PAGE = Server(body_bytes=20_000)


@pytest.mark.parametrize("share", [0.9, 0.95, 1.1])
def test_thinking_for_a_round_trip_and_then_pausing_as_long_is_no_small_window(share: float) -> None:
    """Behind the tickets of TLS 1.3 both look like a window that is full."""
    pause_us = round(share * 268_000)
    evidence = deep(Path(rtt_ms=268), replace(PAGE, think_us=(250_000,), body_stall=(5_000, pause_us)))
    assert Id.TCP_IW_SMALL not in found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.TCP_IW_SMALL] is NotJudgedReason.UNSTEADY


@pytest.mark.parametrize("think_ms", [120, 300])
def test_a_small_window_is_told_of_a_server_that_thinks_and_for_itself_alone(think_ms: int) -> None:
    server = replace(PAGE, body_bytes=40_000, handshake_bytes=900, think_us=(think_ms * 1000,))
    small, usual = (deep(Path(rtt_ms=100, iw=iw), server) for iw in (3, 10))
    assert found(RULES, small)[Id.TCP_IW_SMALL].saving_us == pytest.approx(
        cost(small, "whole") - cost(usual, "whole"), rel=0.1
    )
    assert Id.TCP_IW_SMALL not in found(RULES, usual)


@pytest.mark.parametrize("think_ms", [0, 90, 250])
def test_a_pause_costs_what_it_costs_however_long_the_server_thought_before(think_ms: int) -> None:
    server = replace(PAGE, think_us=(think_ms * 1000,))
    paused = deep(Path(rtt_ms=336), replace(server, body_stall=(9_000, 530_000)))
    real_us = cost(paused, "whole") - cost(deep(Path(rtt_ms=336), server), "whole")
    assert found(RULES, paused)[Id.HTTP_BODY_STALL].saving_us == pytest.approx(real_us, rel=0.03)


def test_a_small_window_says_nothing_of_records_where_there_are_none() -> None:
    secured = deep(Path(iw=3), replace(PAGE, body_bytes=40_000, handshake_bytes=900), trials=[Trial.TLS12] * 4)
    plain = tuple(replace(one, trial=Trial.FULL, handshake=None, records=()) for one in secured.trials)
    evidence = replace(secured, secure=False, trials=plain)
    assert Id.TCP_IW_SMALL in found(RULES, evidence)
    assert Id.TLS_RECORD_OVERFLOW not in left_open(RULES, evidence)


@pytest.mark.parametrize("body_bytes", [2_000, 4_000, 20_000])
def test_what_a_small_window_holds_behind_settings_is_no_thinking(body_bytes: int) -> None:
    """Tickets and settings of HTTP/2 fill a window of two: the answer waits until they are acknowledged. Both may have
    been read in one go."""
    server = Server(settings_bytes=80, body_bytes=body_bytes, handshake_bytes=900)
    small = deep(Path(rtt_ms=240, iw=1), server, trials=(*DEEP, *[Trial.HTTP2] * 3))
    together = replace(small, trials=tuple(map(read_together, small.trials)))
    for evidence in (small, together):
        assert Id.HTTP_THINK_TIME not in found(RULES, evidence)
    thinking = replace(server, think_us=(300_000,), body_bytes=20_000)
    assert Id.HTTP_THINK_TIME in found(RULES, deep(Path(rtt_ms=240), thinking))


def read_together(trial: TrialEvidence) -> TrialEvidence:
    """What came before the first answer has the stamp of its last packet."""
    before = [one.at_us for one in trial.records if one.application is False]
    moved = {at_us: max(before) for at_us in before}
    return replace(
        trial,
        transfers=tuple(replace(one, at_us=moved.get(one.at_us, one.at_us)) for one in trial.transfers),
        records=tuple(
            replace(one, at_us=max(before), end_us=max(before)) if one.application is False else one
            for one in trial.records
        ),
    )


def test_a_server_that_thinks_long_may_lose_its_window_before_any_rest() -> None:
    server = replace(PAGE, body_bytes=60_000, think_us=(250_000,))
    lost = deep(Path(rtt_ms=80, idle_restart=True), server)
    assert Id.TCP_IDLE_RESTART in {*found(RULES, lost), *left_open(RULES, lost)}
    assert Id.TCP_IDLE_RESTART not in {*found(RULES, kept := deep(Path(rtt_ms=80), server)), *left_open(RULES, kept)}


@pytest.mark.parametrize("pause_us", [80_500, 120_000])
def test_a_pause_that_shorter_handshakes_cannot_have_is_not_passed_over(pause_us: int) -> None:
    """The classical handshake is shorter by a key share, and ends before the byte at which the others stop."""
    held = Server(handshake_bytes=2_340, stall=(2_000, pause_us))
    long, classical = deep(Path(), held), deep(Path(), Server(handshake_bytes=1_240), trials=[Trial.CLASSICAL])
    others = tuple(one for one in long.trials if one.trial is Trial.FULL)
    evidence = replace(long, trials=(*others, *classical.trials))
    told = {*found(RULES, evidence), *left_open(RULES, evidence)}
    assert {Id.TLS_CERT_FLUSH_STALL, Id.TLS_HANDSHAKE_STALL} & told


@pytest.mark.parametrize(("body_bytes", "think_us"), [(4_000, 300), (20_000, 300), (30_000, 300), (30_000, 50_000)])
def test_a_connection_that_is_not_kept_begins_slowly_each_time(body_bytes: int, think_us: int) -> None:
    server, far = Server(body_bytes=body_bytes, think_us=(think_us,)), Path(rtt_ms=200)
    closing, keeping = deep(far, replace(server, keeps=False)), deep(far, server)
    opening_us = median(
        (trial.connect_us or 0) + (trial.handshake.network_us or 0)
        for trial in closing.of(Trial.RESUMED)
        if trial.handshake is not None
    )
    real_us = opening_us + cost(closing, "whole") - again_us(keeping)
    assert found(RULES, closing)[Id.HTTP_KEEPALIVE_OFF].saving_us == pytest.approx(real_us, rel=0.03)


@pytest.mark.parametrize(("status", "closes"), [(200, True), (304, True), (101, False), (404, False), (503, False)])
def test_a_connection_that_ends_with_a_refusal_or_goes_on_as_another_protocol_is_not_closed(
    status: int, closes: bool
) -> None:
    closing = deep(Path(rtt_ms=80), Server(keeps=False))
    answered = [
        replace(trial, exchanges=tuple(replace(one, status=status) for one in trial.exchanges))
        for trial in closing.trials
    ]
    assert (Id.HTTP_KEEPALIVE_OFF in found(RULES, replace(closing, trials=tuple(answered)))) is closes


def test_a_connection_that_is_opened_again_begins_with_the_window_that_a_short_handshake_left() -> None:
    """A full handshake lets a small window grow; one that continues a session brings too little for that."""
    server, far = Server(handshake_bytes=2_000, body_bytes=20_000, keeps=False), Path(rtt_ms=150, iw=2)
    closing = deep(far, server)
    resumed_us, full_us = (median(map(visited_us, closing.of(kind))) for kind in (Trial.RESUMED, Trial.CLASSICAL))
    assert resumed_us == pytest.approx(full_us + far.rtt_us, rel=0.01)
    assert found(RULES, closing)[Id.HTTP_KEEPALIVE_OFF].saving_us == pytest.approx(resumed_us - far.rtt_us, rel=0.01)


def test_a_window_of_small_packets_is_full_as_well_where_a_connection_is_not_kept() -> None:
    """Tickets, settings and a head take a segment each."""
    server = Server(settings_bytes=33, tickets_bytes=87, head_apart=True, body_bytes=20_000, keeps=False)
    far = Path(rtt_ms=150)
    closing = deep(far, server)
    resumed_us = median(map(visited_us, closing.of(Trial.RESUMED)))
    assert found(RULES, closing)[Id.HTTP_KEEPALIVE_OFF].saving_us == pytest.approx(resumed_us - far.rtt_us, rel=0.01)


def test_what_lost_packets_cost_an_opening_is_no_cost_of_closing() -> None:
    closing = deep(Path(rtt_ms=150), Server(body_bytes=20_000, keeps=False))
    saving_us = found(RULES, closing)[Id.HTTP_KEEPALIVE_OFF].saving_us
    unlucky = [replace(one, syn_retransmits=1, connect_us=(one.connect_us or 0) + 1_000_000) for one in closing.trials]
    resumed = {number for number, one in enumerate(closing.trials) if one.trial is Trial.RESUMED}
    for spared in (set(), resumed, resumed | {0}):
        trials = (closing.trials[number] if number in spared else one for number, one in enumerate(unlucky))
        told = found(RULES, replace(closing, trials=tuple(trials)))
        assert told[Id.HTTP_KEEPALIVE_OFF].saving_us == pytest.approx(saving_us, rel=0.01)


def visited_us(trial: TrialEvidence) -> int:
    """From the SYN to the end of the first answer, without what passes on our own side."""
    exchange, shake = trial.exchanges[0], trial.handshake
    assert shake is not None
    return (trial.connect_us or 0) + (shake.network_us or 0) + (exchange.ended_us or 0) - (exchange.sent_us or 0)


def again_us(evidence: ProbeEvidence) -> float:
    """What the second request of a connection took."""
    again = [trial.exchanges[1] for trial in evidence.of(Trial.FULL)]
    return median((one.ended_us or 0) - (one.sent_us or 0) for one in again)


def test_a_first_part_of_less_than_a_segment_shows_no_window() -> None:
    """The server paused for as long as a round trip; behind that its window of two shows, and begins too early."""
    rtt_us, trial = 330_000, connection(Path(rtt_ms=330), PAGE, Trial.TLS12)
    asked = trial.exchanges[0]
    assert asked.sent_us is not None
    came = [
        Transfer(at_us=asked.sent_us + trips * rtt_us, direction=Direction.RECEIVED, size_bytes=size)
        for trips, size in ((1, 1_106), (2, 2_896), (3, 16_104))
    ]
    exchange = replace(asked, first_application_us=came[0].at_us, ended_us=came[-1].at_us)
    assert window_of(replace(trial, handshake=None, records=(), exchanges=(exchange,), transfers=tuple(came))) is None


@pytest.mark.parametrize("interim", [100, 103])
def test_a_large_record_is_no_smaller_behind_an_interim_answer(interim: int) -> None:
    """Which has one of its own, and is read at once."""
    large, small = (deep(Path(rtt_ms=80), Server(record_bytes=size, body_bytes=20_000)) for size in (16_384, 4_096))
    alone = found(RULES, large)[Id.TLS_RECORD_OVERFLOW]
    announced = found(RULES, replace(large, trials=tuple(announcing(trial, interim) for trial in large.trials)))
    assert announced[Id.TLS_RECORD_OVERFLOW].saving_us == pytest.approx(alone.saving_us, rel=0.02)
    repaired = replace(small, trials=tuple(announcing(trial, interim) for trial in small.trials))
    assert Id.TLS_RECORD_OVERFLOW not in found(RULES, repaired)


def announcing(trial: TrialEvidence, interim: int) -> TrialEvidence:
    """Each answer comes directly behind an interim one."""
    begun = {one.first_application_us or 0 for one in trial.exchanges}
    records: list[TlsRecord] = []
    for one in trial.records:
        if one.at_us in begun and one.application:
            records.append(replace(one, end_us=one.at_us, length_bytes=41))
        records.append(one)
    asked = tuple(
        replace(one, interim=(interim,), first_readable_us=one.first_application_us) for one in trial.exchanges
    )
    return replace(trial, records=tuple(records), exchanges=asked)
