"""What it costs that a window counts packets, where a server sends each line of a page by itself."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import records
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.evidence import MAX_RECORDS, Exchange, ProbeEvidence, Trial
from workers.measurement.finding import Finding, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import facts, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, connection, deep, probe

LINES = Server(record_bytes=99, records_apart=True, tickets_apart=True, body_bytes=30_000)
BUFFERED = replace(LINES, record_bytes=4096, records_apart=False)
ANYWHERE = pytest.mark.parametrize("rtt_ms", [20, 80, 200])


def told(path: Path, server: Server) -> Finding | None:
    return found(records.RULES, deep(path, server)).get(Id.TLS_RECORD_TINY)


def page_us(path: Path, server: Server) -> int:
    return ended_us(deep(path, server).of(Trial.FULL)[0].exchanges[0])


def ended_us(page: Exchange) -> int:
    return (page.ended_us or 0) - page.asked_us


@ANYWHERE
@pytest.mark.parametrize("body_bytes", [5_000, 8_000, 30_000])
def test_a_page_that_is_flushed_line_by_line_costs_the_round_trip_that_its_buffered_twin_spares(
    rtt_ms: float, body_bytes: int
) -> None:
    way, server = Path(rtt_ms=rtt_ms), replace(LINES, body_bytes=body_bytes)
    finding = told(way, server)
    assert finding is not None
    assert finding.severity is Severity.MEDIUM
    costs_us = page_us(way, server) - page_us(way, replace(BUFFERED, body_bytes=body_bytes))
    assert finding.saving_us == pytest.approx(costs_us, rel=0.1)
    assert facts(finding)["first_flight_packets"] == 10
    assert int(str(facts(finding)["first_flight_bytes"])) < 2_000


@ANYWHERE
@pytest.mark.parametrize("body_bytes", [400, 15_000, 60_000])
def test_small_packets_cost_nothing_where_the_page_needs_as_many_flights_without_them(
    rtt_ms: float, body_bytes: int
) -> None:
    way, server = Path(rtt_ms=rtt_ms), replace(LINES, body_bytes=body_bytes)
    assert page_us(way, server) - page_us(way, replace(BUFFERED, body_bytes=body_bytes)) < rtt_ms * 100
    assert told(way, server) is None


@ANYWHERE
@pytest.mark.parametrize("pieces", [5, 10])
def test_a_server_that_rests_for_a_round_trip_behind_a_few_lines_fills_no_window(rtt_ms: float, pieces: int) -> None:
    """What it writes behind that leaves in small packets again, or has larger records."""
    resting = replace(LINES, body_stall=(pieces * 99, round(rtt_ms * 1000)), body_bytes=4_000)
    assert told(Path(rtt_ms=rtt_ms), replace(resting, record_bytes=4096)) is None
    assert told(Path(rtt_ms=rtt_ms, iw=32), resting) is None


@ANYWHERE
@pytest.mark.parametrize("path", [Path(iw=4), Path(nagle=True), Path(rate_bytes_s=60_000)])
def test_other_ways_tell_it_only_where_it_costs_as_much(rtt_ms: float, path: Path) -> None:
    way = replace(path, rtt_ms=rtt_ms)
    finding = told(way, LINES)
    assert finding is None or finding.saving_us == pytest.approx(page_us(way, LINES) - page_us(way, BUFFERED), rel=0.1)


def test_records_of_a_few_bytes_among_others_add_what_all_of_them_do() -> None:
    """Ruby's Puma writes the size of a chunk, the chunk and its end apart: 66 bytes beside each line of 98."""
    chunks = deep(Path(), Server(record_bytes=99, body_bytes=120_000))

    def chunked(evidence: ProbeEvidence) -> ProbeEvidence:
        trials = []
        for trial in evidence.trials:
            sizes = (21, 115, 19)
            kept = [
                replace(one, length_bytes=sizes[place % 3]) if one.application else one
                for place, one in enumerate(trial.records)
            ]
            trials.append(replace(trial, records=tuple(kept[:256]), truncated=True))
        return replace(evidence, trials=tuple(trials))

    finding = found(records.RULES, chunked(chunks))[Id.TLS_RECORD_TINY]
    assert int(str(facts(finding)["added_percent"])) == pytest.approx(63, abs=2)


@ANYWHERE
def test_headers_of_records_of_a_few_bytes_cost_a_flight_in_full_packets_too(rtt_ms: float) -> None:
    way, corked = Path(rtt_ms=rtt_ms), replace(LINES, record_bytes=26, records_apart=False)
    finding = told(way, corked)
    assert finding is not None
    assert finding.saving_us == pytest.approx(page_us(way, corked) - page_us(way, BUFFERED), rel=0.1)


def test_the_checklist_names_what_fills_the_first_window() -> None:
    answer = next(one for one in diagnose(deep(Path(), LINES)).checklist if one.column == "record_sizing")
    assert (answer.answer, answer.detail) == ("no", "small ones fill the first window")


def test_of_records_beyond_count_the_first_ones_tell_as_much() -> None:
    whole = deep(Path(), LINES)
    kept = [replace(one, records=one.records[:MAX_RECORDS], truncated=True) for one in whole.trials]
    assert any(len(one.records) > MAX_RECORDS for one in whole.trials)
    told = [found(records.RULES, one)[Id.TLS_RECORD_TINY] for one in (whole, replace(whole, trials=tuple(kept)))]
    assert told[0] == told[1]


def test_of_pages_of_any_size_it_is_told_of_those_that_buffers_would_end_sooner() -> None:
    """Where a packet more or less decides, it may be left out."""
    way = Path()
    for body_bytes in range(1_000, 90_000, 4_300):
        server = replace(LINES, body_bytes=body_bytes)
        costs_us = page_us(way, server) - page_us(way, replace(BUFFERED, body_bytes=body_bytes))
        finding = told(way, server)
        saving_us = None if finding is None else finding.saving_us
        assert saving_us is None or saving_us == pytest.approx(costs_us, rel=0.1), body_bytes


@pytest.mark.parametrize(("http2", "is_told"), [(LINES, True), (BUFFERED, False)])
@pytest.mark.parametrize("visits", [1, 3])
def test_where_browsers_use_http2_it_counts_what_that_does(http2: Server, is_told: bool, visits: int) -> None:
    old = [connection(Path(), replace(LINES, body_bytes=5_000), one) for one in DEEP]
    new = [connection(Path(), replace(http2, body_bytes=5_000, settings_bytes=60), Trial.HTTP2)] * visits
    assert (Id.TLS_RECORD_TINY in found(records.RULES, probe([*old, *new]))) is is_told
