"""What a silence inside a handshake is put down to where several causes come together, and what each costs."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import handshakes, transport
from workers.measurement.evidence import CertificateCompression as Compression
from workers.measurement.evidence import Direction, ProbeEvidence, TcpState, Trial, TrialEvidence
from workers.measurement.finding import Confidence, NotJudgedReason, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, facts, found, left_open
from workers.tests.diagnosis.path import MSS, Path
from workers.tests.diagnosis.postponing import postponed
from workers.tests.diagnosis.servers import Server, deep

RULES = (*handshakes.RULES, *transport.RULES)
PAGE = Server(body_bytes=20_000)


def held_back(trial: TrialEvidence) -> TrialEvidence:
    """Its server keeps the last packet of its first flight until all before it are acknowledged."""
    assert trial.handshake is not None
    began_us, ended_us = trial.handshake.started_us, trial.handshake.ended_us or 0
    came = [one.at_us for one in trial.transfers if one.direction is Direction.RECEIVED]
    last_us = max(at_us for at_us in came if began_us < at_us <= ended_us)
    return postponed(trial, last_us - 1, 230_000)


def test_nagle_behind_a_full_window_is_told_apart_from_the_chain() -> None:
    """The window has doubled by then: a small end would have fitted, and only Nagle's algorithm holds it."""
    chain = deep(Path(rtt_ms=230), replace(PAGE, handshake_bytes=29_400))
    told = found(RULES, replace(chain, trials=tuple(map(held_back, chain.trials))))
    assert told[Id.TLS_CERT_FLUSH_STALL].saving_us == pytest.approx(230_000, rel=0.03)
    assert told[Id.TLS_CHAIN_EXCEEDS_IW].saving_us == pytest.approx(230_000, rel=0.03)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_chain_that_is_too_long_is_told_with_the_version_which_decides_whether_it_can_be_compressed(
    version: str,
) -> None:
    long = deep(Path(rtt_ms=150), replace(PAGE, handshake_bytes=20_000, version=version))
    told = found(RULES, long)[Id.TLS_CHAIN_EXCEEDS_IW]
    assert facts(told)["version"] == version


def compressed(evidence: ProbeEvidence, *answers: tuple[Compression | None, int]) -> ProbeEvidence:
    """With connections that offer to take certificates compressed: how they came, and how much smaller."""
    usual = evidence.of(Trial.FULL)[0]
    assert usual.handshake is not None
    hands = [
        replace(
            usual.handshake,
            certificate_message_bytes=18_000 - spared_bytes,
            certificate_inflated_bytes=None if how is None else 18_000,
            certificate_compression=how,
        )
        for how, spared_bytes in answers
    ]
    made = [replace(usual, trial=Trial.COMPRESSED, handshake=one, exchanges=()) for one in hands]
    return replace(evidence, trials=(*evidence.trials, *made))


@pytest.mark.parametrize(
    ("answers", "spared", "severity"),
    [
        ([(Compression.BROTLI, 9_000)], ("Chrome", "Firefox"), Severity.LOW),
        ([(Compression.ZLIB, 9_000)], ("Safari", "Firefox"), Severity.HIGH),
        # Not by enough, now and then only, in one way and another, and not at all.
        ([(Compression.BROTLI, 3_000)], None, Severity.HIGH),
        ([(None, 0), (Compression.BROTLI, 9_000)], None, Severity.HIGH),
        ([(Compression.BROTLI, 9_000), (Compression.ZLIB, 9_000)], None, Severity.HIGH),
        ([], None, Severity.HIGH),
    ],
)
def test_a_chain_that_fits_compressed_costs_those_alone_who_do_not_take_it_so(
    answers: list[tuple[Compression | None, int]], spared: tuple[str, ...] | None, severity: Severity
) -> None:
    long = compressed(deep(Path(rtt_ms=150), replace(PAGE, handshake_bytes=20_000)), *answers)
    told = found(RULES, long)[Id.TLS_CHAIN_EXCEEDS_IW]
    assert (facts(told)["compressed_for"], told.severity) == (spared, severity)
    assert (told.saving_us is None) is (severity is Severity.LOW)


def filled_up(trial: TrialEvidence, certificate_bytes: int, record_bytes: int) -> TrialEvidence:
    """Its server sends its handshake in records of that size."""
    shaken = trial.handshake
    assert shaken is not None
    until_us = shaken.ended_us or 0
    hello, *others = trial.records
    count = hello.length_bytes // record_bytes
    sealed = replace(hello, content_type=23, length_bytes=record_bytes, application=False)
    records = (*[sealed] * count, *(one for one in others if one.at_us > until_us))
    return replace(trial, records=records, handshake=replace(shaken, certificate_message_bytes=certificate_bytes))


@pytest.mark.parametrize(
    ("handshake_bytes", "certificate_bytes", "record_bytes", "told"),
    [
        (16_600, 900, 4112, False),
        (16_600, 3500, 4112, False),
        (29_000, 15_600, 4112, False),
        (20_000, 19_000, 69, True),
    ],
)
def test_filled_up_records_are_too_large_for_the_window_however_short_the_chain(
    handshake_bytes: int, certificate_bytes: int, record_bytes: int, told: bool
) -> None:
    evidence = deep(Path(rtt_ms=150), replace(PAGE, handshake_bytes=handshake_bytes))
    trials = tuple(filled_up(one, certificate_bytes, record_bytes) for one in evidence.trials)
    evidence = replace(evidence, trials=trials)
    assert (Id.TLS_CHAIN_EXCEEDS_IW in found(RULES, evidence)) is told
    if not told:
        assert left_open(RULES, evidence)[Id.TLS_CHAIN_EXCEEDS_IW] is NotJudgedReason.PADDED


def split_end(trial: TrialEvidence, by_us: int) -> TrialEvidence:
    """Its server says its last words in two parts, the second so much later."""
    assert trial.handshake is not None
    ended_us = trial.handshake.ended_us or 0
    later = postponed(trial, ended_us - 1, by_us)
    rest = next(one for one in later.transfers if one.at_us == ended_us + by_us)
    parts = (replace(rest, at_us=ended_us, size_bytes=6), replace(rest, size_bytes=rest.size_bytes - 6))
    others = [one for one in later.transfers if one is not rest]
    return replace(later, transfers=tuple(sorted([*others, *parts], key=lambda one: one.at_us)))


def test_an_end_that_nagle_holds_is_found_beside_one_whose_acknowledgement_nobody_delays() -> None:
    """Full segments are acknowledged at once: only where less has come do our delayed acknowledgements show."""
    server = replace(PAGE, version="TLSv1.2", handshake_bytes=5_853, stall=(96, 0))
    evidence = deep(Path(rtt_ms=100), server)
    late_us = {Trial.DELAYED_ACK: 143_000}
    trials = tuple(
        split_end(postponed(one, first_end_us(one) - 1, 100_000), late_us.get(one.trial, 100_000))
        for one in evidence.trials
    )
    told = found(RULES, replace(evidence, trials=trials))
    assert told[Id.TLS_CERT_FLUSH_STALL].saving_us == pytest.approx(100_000, rel=0.03)


@pytest.mark.parametrize("after_us", [0, 2_500])
def test_an_end_is_held_for_the_acknowledgement_of_what_was_said_first(after_us: int) -> None:
    """As a server's that says ServerHello, signs, and says the rest: its end comes a round trip after ServerHello."""
    server = replace(PAGE, handshake_bytes=2_100, stall=(133, after_us))
    evidence = deep(Path(rtt_ms=80, nagle=True), server)
    trials = (replace(one, tcp_secured=TcpState(data_segments_in=3)) for one in evidence.trials)
    told = found(RULES, replace(evidence, trials=tuple(trials)))
    assert told[Id.TLS_CERT_FLUSH_STALL].saving_us == pytest.approx(80_000 - after_us, rel=0.03)
    assert Id.TLS_HANDSHAKE_STALL not in told


def first_end_us(trial: TrialEvidence) -> int:
    """When the last packet of the server's first turn came."""
    sent = sorted(one.at_us for one in trial.transfers if one.direction is Direction.SENT)
    return max(one.at_us for one in trial.transfers if one.direction is Direction.RECEIVED and one.at_us <= sent[1])


def test_a_chain_that_fills_window_after_window_costs_each_of_them() -> None:
    evidence = deep(Path(rtt_ms=230), replace(PAGE, handshake_bytes=44_500))
    told = found(RULES, evidence)
    assert told[Id.TLS_CHAIN_EXCEEDS_IW].saving_us == pytest.approx(2 * 230_000, rel=0.03)
    assert Id.TLS_CERT_FLUSH_STALL not in told


@pytest.mark.parametrize("after_bytes", [3_000, 8_000, 8 * MSS])
def test_what_a_server_waits_for_before_its_window_is_full_is_no_cost_of_the_chain(after_bytes: int) -> None:
    """A round trip may be chance, and more than twice as much follows: no window that has doubled."""
    stalls = replace(PAGE, handshake_bytes=40_000, stall=(after_bytes, 100_000))
    evidence = deep(Path(rtt_ms=100), stalls)
    told = found(RULES, evidence)[Id.TLS_CHAIN_EXCEEDS_IW]
    assert facts(told)["bytes_before"] != after_bytes
    assert told.saving_us == pytest.approx(100_000, rel=0.03)
    assert left_open(RULES, evidence)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


def test_twice_as_much_behind_a_round_trip_is_no_window_that_grew_where_none_was_full() -> None:
    """The server rested behind five segments of ten."""
    evidence = deep(Path(rtt_ms=100), replace(PAGE, handshake_bytes=15 * MSS, stall=(5 * MSS, 100_000)))
    assert Id.TLS_CHAIN_EXCEEDS_IW not in {*found(RULES, evidence), *left_open(RULES, evidence)}
    assert left_open(RULES, evidence)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


@pytest.mark.parametrize(("handshake_bytes", "after_bytes"), [(18_000, 16_000), (24_000, 20_000)])
def test_a_server_that_stalls_behind_a_full_window_is_told_beside_the_chain(
    handshake_bytes: int, after_bytes: int
) -> None:
    """What is left would have fitted into the window that has grown; it waits for longer than a round trip."""
    stalls = replace(PAGE, handshake_bytes=handshake_bytes, stall=(after_bytes, 300_000))
    told = found(RULES, deep(Path(rtt_ms=100), stalls))
    assert told[Id.TLS_CHAIN_EXCEEDS_IW].saving_us == pytest.approx(100_000, rel=0.03)
    assert facts(told[Id.TLS_HANDSHAKE_STALL])["bytes_before"] == after_bytes
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(200_000, rel=0.03)


def test_packets_of_less_than_a_segment_fill_a_window_too() -> None:
    """As a server's that says ServerHello in one of its own, and the next record in another that is read with it."""
    evidence = deep(Path(rtt_ms=100, iw=9), Server(handshake_bytes=18_400, stall=(133, 0)))
    told = found(RULES, evidence)
    assert told[Id.TLS_CHAIN_EXCEEDS_IW].saving_us == pytest.approx(100_000, rel=0.03)
    assert Id.TLS_HANDSHAKE_STALL not in {*told, *left_open(RULES, evidence)}


def test_a_window_of_two_that_waits_for_a_late_acknowledgement_is_no_stall() -> None:
    """A small part, then a full segment: the client has no second full one, and takes its time to acknowledge."""
    slow = Path(rtt_ms=130, iw=2, late_ack_us=200_000)
    evidence = deep(slow, replace(PAGE, handshake_bytes=4_776, stall=(700, 100_000)))
    told = found(RULES, evidence)
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(100_000, rel=0.03)


@pytest.mark.parametrize("segments", [2, 3, 4])
@pytest.mark.parametrize(("iw", "body_bytes"), [(10, 20_000), (10, 60_000), (20, 150_000)])
def test_a_rest_behind_what_fills_a_small_window_is_no_full_one_where_the_servers_is_known_to_be_larger(
    iw: int, body_bytes: int, segments: int
) -> None:
    """Its answers stop behind ten segments, or more, of the same connections."""
    stalls = Server(handshake_bytes=9_000, stall=(segments * MSS, 100_000), body_bytes=body_bytes)
    evidence = deep(Path(rtt_ms=100, iw=iw), stalls)
    assert Id.TLS_CHAIN_EXCEEDS_IW not in {*found(RULES, evidence), *left_open(RULES, evidence)}
    assert left_open(RULES, evidence)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


@pytest.mark.parametrize("handshake_bytes", [2_000, 3_000, 4_776])
def test_a_window_of_one_packet_is_full_for_as_long_as_its_acknowledgement_is_late(handshake_bytes: int) -> None:
    slow = Path(rtt_ms=130, iw=1, late_ack_us=40_000)
    evidence = deep(slow, replace(PAGE, handshake_bytes=handshake_bytes))
    assert found(RULES, evidence).keys() == {Id.TCP_IW_SMALL}
    assert left_open(RULES, evidence) == {Id.TLS_CHAIN_EXCEEDS_IW: NotJudgedReason.HIDDEN}


@pytest.mark.parametrize("pause_ms", [145, 300])
@pytest.mark.parametrize("iw", [3, 4])
def test_behind_a_full_window_whose_segments_are_acknowledged_at_once_a_late_rest_is_a_stall(
    iw: int, pause_ms: int
) -> None:
    """No client delays its acknowledgement of two full segments in a row: as late as that is the server alone."""
    stalls = Server(body_bytes=20_000, handshake_bytes=9_000, stall=(iw * MSS, 1_000 * pause_ms))
    told = found(handshakes.RULES, deep(Path(rtt_ms=100, iw=iw), stalls))
    assert facts(told[Id.TLS_HANDSHAKE_STALL])["bytes_before"] == iw * MSS


@pytest.mark.parametrize("share", [0.9, 1.0, 1.1])
def test_a_server_that_has_said_less_than_a_packet_stalls_however_long(share: float) -> None:
    """Less than a segment fills no window, and Nagle's algorithm holds no full ones: a round trip is chance."""
    pause_us = round(share * 135_000)
    evidence = deep(Path(rtt_ms=135), replace(PAGE, handshake_bytes=2_700, stall=(700, pause_us)))
    told = found(RULES, evidence)
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(pause_us, rel=0.03)
    assert Id.TLS_CERT_FLUSH_STALL not in {*told, *left_open(RULES, evidence)}


def test_a_shorter_handshake_that_stops_at_the_same_byte_does_not_acquit_the_server() -> None:
    """Of the classical handshake only a small end is left there, which Nagle's algorithm could hold."""
    stalls = Server(handshake_bytes=2_700, stall=(700, 135_000), body_bytes=20_000)
    long = deep(Path(rtt_ms=135), stalls)
    classical = deep(Path(rtt_ms=135), replace(stalls, handshake_bytes=1_640), trials=[Trial.CLASSICAL])
    others = tuple(one for one in long.trials if one.trial is not Trial.CLASSICAL)
    told = found(RULES, replace(long, trials=(*others, *classical.trials)))
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(135_000, rel=0.03)
    assert Id.TLS_CERT_FLUSH_STALL not in told


@pytest.mark.parametrize(("left_bytes", "confidence"), [(600, Confidence.MEDIUM), (3_000, Confidence.HIGH)])
def test_a_stall_before_a_small_rest_is_told_with_less_confidence(left_bytes: int, confidence: Confidence) -> None:
    """Nagle's algorithm may have held that, and the way have lost it then, each time."""
    stalls = replace(PAGE, handshake_bytes=1_300 + left_bytes, stall=(1_300, 500_000))
    told = found(RULES, deep(Path(rtt_ms=100), stalls))
    assert told[Id.TLS_HANDSHAKE_STALL].confidence is confidence


@pytest.mark.parametrize(("pause_ms", "told"), [(295, False), (310, False), (345, True)])
def test_an_end_of_a_handshake_that_got_lost_alone_is_no_stall(pause_ms: int, told: bool) -> None:
    """It is sent again after two round trips and 200 ms, and nothing tells of that loss."""
    evidence = deep(Path(rtt_ms=45), Server(handshake_bytes=2_342, stall=(1_000, pause_ms * 1000)))
    assert (Id.TLS_HANDSHAKE_STALL in found(handshakes.RULES, evidence)) is told
    assert told or left_open(handshakes.RULES, evidence)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


def test_a_slow_key_before_a_small_first_flight_is_told_although_later_packets_overtook_each_other() -> None:
    """Its pause is as long as that of a packet that was sent again."""
    evidence = deep(Path(rtt_ms=400), replace(PAGE, handshake_bytes=1_095, sign_us=344_000, version="TLSv1.2"))
    mixed = (
        replace(
            one, tcp_secured=TcpState(out_of_order_packets=0), tcp_ended=replace(one.tcp_ended, out_of_order_packets=3)
        )
        for one in evidence.trials
        if one.tcp_ended is not None
    )
    told = found(RULES, replace(evidence, trials=tuple(mixed)))
    assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(344_000, rel=0.03)


@pytest.mark.parametrize(
    ("iw", "handshake_bytes"), [(20, 18_000), (10, 15_000), (10, 18_000), (4, 6_000), (3, 15_000), (2, 9_000)]
)
@pytest.mark.parametrize("body_bytes", [16_000, 40_000])
@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_pause_costs_no_more_than_what_the_round_trips_of_a_long_handshake_leave_of_it(
    rtt_ms: float, body_bytes: int, iw: int, handshake_bytes: int
) -> None:
    """These pass meanwhile: the first bytes are acknowledged before the server goes on."""
    stalled = Server(body_bytes=body_bytes, handshake_bytes=handshake_bytes, stall=(700, 150_000))
    halted, fluent = (deep(Path(rtt_ms=rtt_ms, iw=iw), one) for one in (stalled, replace(stalled, stall=None)))
    saved_us = found(handshakes.RULES, halted)[Id.TLS_HANDSHAKE_STALL].saving_us or 0
    assert saved_us == pytest.approx(cost(halted, "handshake") - cost(fluent, "handshake"), rel=0.03, abs=500)


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_record_that_waits_behind_a_small_packet_for_just_a_round_trip_may_be_held_back(rtt_ms: float) -> None:
    """The JDK's server with TLS 1.2: its last record waits behind its ticket, whose second packet is small. Two packets
    are acknowledged at once, so that no late acknowledgement shows it."""
    server = Server(handshake_bytes=1_796, stall=(1_745, 200))
    held, free = (deep(Path(rtt_ms=rtt_ms, nagle=nagle), server) for nagle in (True, False))
    assert left_open(handshakes.RULES, held)[Id.TLS_CERT_FLUSH_STALL] is NotJudgedReason.UNSTEADY
    assert Id.TLS_CERT_FLUSH_STALL not in {*left_open(handshakes.RULES, free), *found(handshakes.RULES, held)}
