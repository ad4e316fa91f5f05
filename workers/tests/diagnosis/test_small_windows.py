"""A server that begins with four segments and sends many certificates: which wait is the window's, and which theirs."""

from dataclasses import replace
from statistics import median

import pytest

from workers.diagnosis.catalogue import entry, fact_words
from workers.diagnosis.probe import handshakes, records, transport
from workers.diagnosis.probe.windows import agreed, window_of
from workers.measurement.evidence import (
    Direction,
    Exchange,
    ProbeEvidence,
    TcpState,
    TlsRecord,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason, Severity
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, deep, light

RULES = (*handshakes.RULES, *transport.RULES)
SMALL, USUAL = Path(rtt_ms=100, iw=4), Path(rtt_ms=100)
RESUMED = (Trial.RESUMED, Trial.RESUMED)
PAGE = Server(body_bytes=20_000)


def probed(path: Path, server: Server) -> ProbeEvidence:
    return deep(path, server, trials=(*DEEP, *RESUMED))


def visit_us(evidence: ProbeEvidence) -> float:
    """What a new visitor waits for the handshake and the page."""
    return median(
        trial.handshake.network_us + (trial.exchanges[0].ended_us or 0) - trial.exchanges[0].asked_us
        for trial in evidence.of(Trial.FULL)
        if trial.handshake is not None and trial.handshake.network_us is not None
    )


@pytest.mark.parametrize(
    ("handshake_bytes", "body_bytes"),
    [(3000, 20_000), (9400, 20_000), (9400, 60_000), (18_500, 20_000)],
)
def test_a_small_window_costs_what_a_new_visitor_would_be_spared(handshake_bytes: int, body_bytes: int) -> None:
    server = replace(PAGE, handshake_bytes=handshake_bytes, body_bytes=body_bytes)
    small, usual = probed(SMALL, server), probed(USUAL, server)
    claimed_us = found(RULES, small)[Id.TCP_IW_SMALL].saving_us
    assert claimed_us == pytest.approx(visit_us(small) - visit_us(usual), rel=0.1)


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_small_window_costs_nothing_that_the_server_s_own_pause_takes_anyway(rtt_ms: float) -> None:
    """Its last bytes are written only when a window that begins small has grown as well."""
    server = replace(PAGE, body_bytes=60_000, stops=((58_000, 4_500 * round(rtt_ms)),))
    small, usual = (probed(Path(rtt_ms=rtt_ms, iw=iw), server) for iw in (4, 10))
    assert abs(visit_us(small) - visit_us(usual)) < 100 * rtt_ms
    finding = found(RULES, small).get(Id.TCP_IW_SMALL)
    assert finding is None or finding.saving_us is None


def test_tickets_as_large_as_a_page_make_no_page_of_a_small_answer() -> None:
    """As Java's are, which hold the whole chain. The answer's end waits for its head, and not for a window."""
    server = Server(tickets_bytes=18_400, head_apart=True, body_bytes=1_000, think_us=(100_000,))
    assert Id.TCP_IW_SMALL not in found(RULES, probed(replace(USUAL, nagle=True), server))


def test_tickets_that_came_too_soon_to_be_an_answer_make_no_page_smaller() -> None:
    """As servers send them that hand them over with their part of the handshake."""
    evidence = probed(SMALL, replace(PAGE, tickets_bytes=3_000, body_bytes=16_000))
    early = replace(evidence, trials=tuple(map(with_early_tickets, evidence.trials)))
    assert Id.TCP_IW_SMALL in found(RULES, early)


def with_early_tickets(trial: TrialEvidence) -> TrialEvidence:
    """Its tickets come a fifth of a round trip after it has asked."""
    asked_us, at_us = trial.exchanges[0].asked_us, trial.exchanges[0].asked_us + 20_000
    tickets = [one for one in trial.records if one.application is False]
    until_us = max((one.end_us or 0 for one in tickets), default=0)
    return replace(
        trial,
        transfers=tuple(
            replace(one, at_us=at_us) if asked_us < one.at_us <= until_us else one for one in trial.transfers
        ),
        records=tuple(replace(one, at_us=at_us, end_us=at_us) if one in tickets else one for one in trial.records),
    )


@pytest.mark.parametrize("rtt_ms", [100, 300])
@pytest.mark.parametrize("think_us", [(15_000,), (22_000,)])
def test_a_server_that_thinks_behind_its_tickets_hides_nothing_of_what_a_small_window_costs(
    rtt_ms: float, think_us: tuple[int, ...]
) -> None:
    """What the acknowledgement of the tickets lets out comes so much sooner than the rest, in every flight."""
    server = replace(PAGE, body_bytes=60_000, think_us=think_us)
    small, usual = (probed(Path(rtt_ms=rtt_ms, iw=window), server) for window in (3, 10))
    claimed_us = found(RULES, small)[Id.TCP_IW_SMALL].saving_us
    assert claimed_us == pytest.approx(visit_us(small) - visit_us(usual), rel=0.1)


@pytest.mark.parametrize(("tickets_bytes", "settings_bytes"), [(574, 80), (1_600, 0)])
def test_a_window_that_tickets_fill_costs_the_round_trip_before_the_answer_too(
    tickets_bytes: int, settings_bytes: int
) -> None:
    """A larger one has room for them: a server that thinks for as long at first is slow for another reason."""
    server = replace(PAGE, handshake_bytes=900, tickets_bytes=tickets_bytes, settings_bytes=settings_bytes)
    small, usual = (probed(Path(rtt_ms=100, iw=window), server) for window in (2, 10))
    claimed_us = found(RULES, small)[Id.TCP_IW_SMALL].saving_us
    assert claimed_us == pytest.approx(visit_us(small) - visit_us(usual), rel=0.1)
    thinking = replace(server, body_bytes=30_000, think_us=(100_000, 300))
    small, usual = (probed(Path(rtt_ms=100, iw=window), thinking) for window in (4, 10))
    claimed_us = found(RULES, small)[Id.TCP_IW_SMALL].saving_us
    assert claimed_us == pytest.approx(visit_us(small) - visit_us(usual), rel=0.1)


@pytest.mark.parametrize("window", [3, 4])
@pytest.mark.parametrize(("rtt_ms", "think_us"), [(250, 40_000), (600, 110_000)])
def test_flights_that_thinking_behind_tickets_has_parted_are_no_round_trips(
    rtt_ms: float, think_us: int, window: int
) -> None:
    """What the tickets' acknowledgement lets out comes in between, round after round."""
    server = replace(PAGE, think_us=(think_us,))
    small, usual = (probed(Path(rtt_ms=rtt_ms, iw=one), server) for one in (window, 10))
    claimed_us = found(RULES, small)[Id.TCP_IW_SMALL].saving_us
    assert claimed_us == pytest.approx(visit_us(small) - visit_us(usual), rel=0.05)


def test_a_chain_too_long_for_any_window_claims_only_what_the_usual_one_would_wait() -> None:
    long = replace(PAGE, handshake_bytes=18_500)
    here, alone = (found(RULES, probed(path, long))[Id.TLS_CHAIN_EXCEEDS_IW] for path in (SMALL, USUAL))
    assert here.saving_us == pytest.approx(alone.saving_us, rel=0.1)


@pytest.mark.parametrize("window", [2, 3, 4])
def test_a_chain_behind_a_small_window_is_told_by_what_was_sent_and_not_by_what_is_usual(window: int) -> None:
    long = found(RULES, probed(replace(SMALL, iw=window), replace(PAGE, handshake_bytes=18_500)))[
        Id.TLS_CHAIN_EXCEEDS_IW
    ]
    assert facts(long)["bytes_before"] == window * 1_448
    explanation = entry(long.id).explanation
    assert "about 14 KB where that is the usual one" in explanation
    assert f"here what the evidence calls {fact_words('bytes_before')}" in explanation


def test_a_chain_of_usual_size_is_no_cause_beside_a_small_window() -> None:
    assert found(RULES, probed(SMALL, replace(PAGE, handshake_bytes=9400))).keys() == {Id.TCP_IW_SMALL}


def test_where_the_handshake_opens_the_window_only_returning_visitors_wait_for_it() -> None:
    finding = found(RULES, probed(SMALL, replace(PAGE, handshake_bytes=5500)))[Id.TCP_IW_SMALL]
    assert (finding.severity, finding.saving_us) == (Severity.MEDIUM, None)


@pytest.mark.parametrize("version", ["TLSv1.3", "TLSv1.2"])
def test_settings_and_a_head_of_http2_take_segments_that_are_no_part_of_a_small_window(version: str) -> None:
    server = replace(PAGE, settings_bytes=80, head_apart=True, version=version)
    finding = found(RULES, probed(SMALL, server))[Id.TCP_IW_SMALL]
    assert facts(finding)["initial_window_segments"] == 4
    assert not found(RULES, probed(USUAL, server)).keys()


@pytest.mark.parametrize(
    ("lengths", "first_bytes", "segments"),
    [
        # Go's first records, each in packets of its own: one, two, one, four, and two of the next.
        ((1_203, 2_389, 555, 4_761, 5_947, 7_133, 7_601), 1_208 + 2_394 + 560 + 4_766 + 2 * 1_448, 10),
        ((1_203, 2_389, 555, 4_761, 5_947), 1_208 + 2_394 + 560, 4),
        # One after another without a break.
        ((16_401, 13_000), 10 * 1_448, 10),
        ((1_203, 2_389, 555, 4_761, 5_947), 4 * 1_448, 4),
    ],
)
def test_a_segment_that_ends_with_its_record_counts_as_a_whole_one(
    lengths: tuple[int, ...], first_bytes: int, segments: int
) -> None:
    rtt_us, total = 20_000, sum(lengths) + 5 * len(lengths)
    transfers = [
        Transfer(at_us=at_us, direction=Direction.RECEIVED, size_bytes=size)
        for at_us, size in ((3 * rtt_us, first_bytes), (4 * rtt_us, total - first_bytes))
    ]
    trial = TrialEvidence(
        trial=Trial.TLS12,
        started_us=0,
        syn_rtt_us=rtt_us,
        exchanges=(
            Exchange(
                asked_us=2 * rtt_us,
                sent_us=2 * rtt_us,
                first_application_us=3 * rtt_us,
                ended_us=4 * rtt_us,
                status=200,
            ),
        ),
        transfers=(Transfer(at_us=2 * rtt_us, direction=Direction.SENT, size_bytes=200), *transfers),
        records=tuple(
            TlsRecord(at_us=3 * rtt_us, content_type=23, length_bytes=length, application=True) for length in lengths
        ),
        tcp_ended=TcpState(min_rtt_us=rtt_us, rcv_mss_bytes=1_448),
    )
    window = window_of(trial)
    assert window is not None
    assert window.segments == pytest.approx(segments, abs=0.05)


@pytest.mark.parametrize("record_bytes", [4096, 1400])
def test_records_of_the_size_that_would_be_advised_are_not_too_large_for_a_window_of_small_packets(
    record_bytes: int,
) -> None:
    """As through a tunnel: ten packets of 524 bytes are hardly more than one record."""
    narrow, page = Path(rtt_ms=80, mss=524), replace(PAGE, handshake_bytes=1000)
    small, large = (probed(narrow, replace(page, record_bytes=size)) for size in (record_bytes, 16_384))
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, small)
    assert Id.TLS_RECORD_OVERFLOW in found(records.RULES, large)


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        ((1_300, 1_900, 2_500, 3_100, 4_317), False),
        ((1_300, 7_000), True),
        ((4_700,), True),
        # As Apache writes: no larger ones come, and the first is whole long before the window is full.
        ((8_209, 3_900), False),
        ((250, 8_209, 3_900), False),
        # Tickets take their part of the window.
        ((14_000, 3_900), True),
    ],
)
def test_records_that_grow_or_are_whole_within_the_window_are_not_too_large(
    lengths: tuple[int, ...], told: bool
) -> None:
    def sized(trial: TrialEvidence) -> TrialEvidence:
        own = next(one for one in trial.records if one.application)
        others = (one for one in trial.records if not one.application)
        return replace(trial, records=(*others, *(replace(own, length_bytes=length) for length in lengths)))

    evidence = light(Path(), Server(body_bytes=12_000))
    evidence = replace(evidence, trials=tuple(map(sized, evidence.trials)))
    assert (Id.TLS_RECORD_OVERFLOW in found(records.RULES, evidence)) is told


def test_one_pause_of_a_busy_machine_makes_no_smaller_window() -> None:
    assert agreed([2.0, 3.8, 4.0, 4.8]) == 3.8
    assert agreed([4.0, 10.0]) is None


@pytest.mark.parametrize("body_bytes", [15_000, 20_000, 35_000, 40_000, 45_000, 100_000, 200_000])
def test_a_rest_that_takes_the_window_back_is_seen_whatever_the_size_of_the_page(body_bytes: int) -> None:
    server, way = replace(PAGE, body_bytes=body_bytes), replace(USUAL, grows_whole=True)
    resting, kept = (probed(replace(way, idle_restart=restarts), server) for restarts in (True, False))
    finding = found(RULES, resting)[Id.TCP_IDLE_RESTART]
    assert finding.saving_us == pytest.approx(rested_us(resting) - rested_us(kept), rel=0.1)
    assert Id.TCP_IDLE_RESTART not in found(RULES, kept)


@pytest.mark.parametrize("think_us", [150_000, 300_000])
def test_early_hints_do_not_hide_a_small_window(think_us: int) -> None:
    """They come a pause before the answer, in which the server thinks."""
    server = replace(PAGE, hints_bytes=120, think_us=(think_us,))
    small, usual = probed(replace(SMALL, iw=3), server), probed(USUAL, server)
    assert Id.TCP_IW_SMALL not in found(RULES, usual)
    saving_us = found(RULES, small)[Id.TCP_IW_SMALL].saving_us
    assert saving_us == pytest.approx(visit_us(small) - visit_us(usual), rel=0.1)


@pytest.mark.parametrize("body_bytes", [20_000, 60_000])
@pytest.mark.parametrize("think_us", [30_000, 70_000, 150_000])
def test_early_hints_do_not_hide_a_window_that_a_rest_takes_back(think_us: int, body_bytes: int) -> None:
    """Their acknowledgement lets out a part of the next flight, so that the pauses between flights are shorter."""
    server = replace(PAGE, hints_bytes=120, think_us=(think_us,), body_bytes=body_bytes)
    way = replace(USUAL, grows_whole=True)
    resting, kept = (probed(replace(way, idle_restart=restarts), server) for restarts in (True, False))
    saving_us = found(RULES, resting)[Id.TCP_IDLE_RESTART].saving_us
    assert saving_us == pytest.approx(rested_us(resting) - rested_us(kept), rel=0.1)
    assert Id.TCP_IDLE_RESTART not in found(RULES, kept)


@pytest.mark.parametrize("restarts", [True, False])
def test_what_a_rest_does_to_a_window_is_hidden_where_the_server_stops_by_itself(restarts: bool) -> None:
    stopping = replace(PAGE, body_bytes=40_000, body_stall=(10_000, 800_000))
    evidence = probed(replace(USUAL, idle_restart=restarts), stopping)
    assert Id.TCP_IDLE_RESTART not in found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.TCP_IDLE_RESTART] is NotJudgedReason.HIDDEN


def rested_us(evidence: ProbeEvidence) -> float:
    lasts = (trial.exchanges[-1] for trial in evidence.of(Trial.FULL))
    return median((last.ended_us or 0) - last.asked_us for last in lasts)


@pytest.mark.parametrize(("body_bytes", "tiny"), [(8_000, True), (2_000, False)])
def test_records_of_a_byte_make_a_small_body_large(body_bytes: int, tiny: bool) -> None:
    """Each carries 22 bytes of header and seal. Of thousands only the first are kept."""
    evidence = light(Path(), Server(record_bytes=1, body_bytes=body_bytes))
    kept = tuple(replace(one, records=one.records[:256], truncated=True) for one in evidence.trials)
    finding = found(records.RULES, replace(evidence, trials=kept)).get(Id.TLS_RECORD_TINY)
    assert (finding is not None) is tiny
    if finding is not None:
        assert finding.severity is Severity.MEDIUM
        assert int(str(facts(finding)["added_percent"])) > 1000
