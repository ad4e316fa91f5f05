"""Servers whose records over HTTP/1.1 are small, and whose first over HTTP/2, which browsers use, fills the window."""

from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from workers.diagnosis.probe import records, transport
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import Answer, CheckColumn, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, facts, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, connection, deep, light, probe
from workers.tests.diagnosis.sites import check

PAGE = Server(record_bytes=4_096, body_bytes=40_000)
ANYWHERE = pytest.mark.parametrize("rtt_ms", [20, 80, 380])


def over_both(rtt_ms: float, visits: int = 3, **over_http2: Any) -> ProbeEvidence:
    """With HTTP/2 settings come first, as Apache Traffic Server sends them."""
    way, new = Path(rtt_ms=rtt_ms), replace(PAGE, settings_bytes=80, **over_http2)
    made = [connection(way, PAGE, one) for one in DEEP]
    return probe([*made, *[connection(way, new, Trial.HTTP2)] * visits])


def first_byte_us(evidence: ProbeEvidence) -> float:
    asked = [trial.exchanges[0] for trial in evidence.of(Trial.HTTP2)]
    return median((one.first_readable_us or 0) - (one.sent_us or 0) for one in asked)


@ANYWHERE
def test_a_large_first_record_over_http2_alone_is_told(rtt_ms: float) -> None:
    large, small = over_both(rtt_ms, record_bytes=16_384), over_both(rtt_ms)
    finding = found(records.RULES, large)[Id.TLS_RECORD_OVERFLOW]
    assert finding.severity is Severity.HIGH
    assert finding.saving_us == pytest.approx(first_byte_us(large) - first_byte_us(small), rel=0.03)
    assert facts(finding)["alpn"] == "h2"
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, small)


def test_the_checklist_tells_of_the_record_that_waits() -> None:
    """And not of those over HTTP/1.1, which are small."""
    cell = check(CheckColumn.RECORD_SIZING, over_both(80, record_bytes=16_384))
    assert (cell.answer, cell.detail) == (Answer.NO, "16.4 kB over HTTP/2")


def test_one_connection_says_yes_to_no_records_that_may_be_others_over_http2() -> None:
    """Apache's are of 8 KB over HTTP/1.1, and of 16 KB over HTTP/2."""
    asked = light(Path(rtt_ms=80), PAGE)
    (once,) = asked.trials
    assert once.handshake is not None
    assert check(CheckColumn.RECORD_SIZING, asked).answer is Answer.UNKNOWN
    without = replace(asked, trials=(replace(once, handshake=replace(once.handshake, protocol=None)),))
    assert check(CheckColumn.RECORD_SIZING, without).answer is Answer.YES
    large = light(Path(rtt_ms=80), replace(PAGE, record_bytes=16_384))
    assert check(CheckColumn.RECORD_SIZING, large).answer is Answer.NO


@ANYWHERE
def test_large_records_over_http2_that_fit_into_the_window_keep_nobody_waiting(rtt_ms: float) -> None:
    fitting = over_both(rtt_ms, record_bytes=16_384, body_bytes=9_000)
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, fitting)


@ANYWHERE
def test_a_server_that_rests_over_http2_is_no_record_that_waits(rtt_ms: float) -> None:
    resting = over_both(rtt_ms, body_stall=(1_000, round(rtt_ms * 1000)))
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, resting)


def test_what_was_seen_over_http2_once_is_not_told() -> None:
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, over_both(80, 1, record_bytes=16_384))


@ANYWHERE
def test_what_comes_before_the_first_record_in_packets_of_its_own_takes_of_the_window(rtt_ms: float) -> None:
    """As nghttpd sends two tickets and its settings."""
    alone = replace(PAGE, settings_bytes=80, tickets_bytes=160, tickets_apart=True)
    large, small = (deep(Path(rtt_ms=rtt_ms), replace(alone, record_bytes=size)) for size in (16_384, 4_096))
    finding = found(records.RULES, large)[Id.TLS_RECORD_OVERFLOW]
    assert finding.saving_us == pytest.approx(cost(large, "first byte") - cost(small, "first byte"), rel=0.03)
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, small)


@ANYWHERE
def test_browsers_are_spared_what_only_a_large_record_over_http1_waits_for(rtt_ms: float) -> None:
    way, over_http1 = Path(rtt_ms=rtt_ms), replace(PAGE, record_bytes=16_384)
    spared = replace(PAGE, settings_bytes=140, record_bytes=8_217, head_bytes=71, head_apart=True)
    old = [connection(way, over_http1, one) for one in DEEP]
    finding = found(records.RULES, probe([*old, *[connection(way, spared, Trial.HTTP2)] * 3]))[Id.TLS_RECORD_OVERFLOW]
    assert (finding.severity, finding.saving_us) == (Severity.LOW, None)
    alike = probe([*old, *[connection(way, replace(over_http1, settings_bytes=140), Trial.HTTP2)] * 3])
    finding = found(records.RULES, alike)[Id.TLS_RECORD_OVERFLOW]
    assert finding.severity is Severity.HIGH
    assert finding.saving_us == pytest.approx(rtt_ms * 1000, rel=0.05)


def test_where_a_large_record_waits_over_http2_for_whatever_reason_browsers_are_not_spared() -> None:
    """Behind six packets, as where what comes before the answer took the others of the window."""
    large = replace(PAGE, record_bytes=16_384)
    old = [connection(Path(rtt_ms=80), large, one) for one in DEEP]
    behind = connection(Path(rtt_ms=80, iw=6), replace(large, settings_bytes=140), Trial.HTTP2)
    assert found(records.RULES, probe([*old, *[behind] * 3]))[Id.TLS_RECORD_OVERFLOW].severity is Severity.HIGH


@ANYWHERE
def test_it_is_told_as_browsers_get_it(rtt_ms: float) -> None:
    """Tomcat: records of 16 KB over HTTP/1.1, and behind a head in a record of its own over HTTP/2."""
    large = replace(PAGE, record_bytes=16_384)
    old = [connection(Path(rtt_ms=rtt_ms), large, one) for one in DEEP]
    behind_head = connection(Path(rtt_ms=rtt_ms), replace(large, settings_bytes=140, head_apart=True), Trial.HTTP2)
    finding = found(records.RULES, probe([*old, *[behind_head] * 3]))[Id.TLS_RECORD_OVERFLOW]
    assert (finding.severity, facts(finding)["alpn"]) == (Severity.MEDIUM, "h2")


def test_settings_in_the_packet_of_the_first_record_are_no_head_that_could_be_read() -> None:
    """What came in one read is told apart by nobody: hyper's settings then look like the answer's first record."""
    large = replace(PAGE, record_bytes=16_384)
    seen = connection(Path(rtt_ms=80), replace(large, settings_bytes=140), Trial.HTTP2)
    place = next(number for number, one in enumerate(seen.records) if one.application)
    at_us = seen.records[place].at_us
    settings = replace(seen.records[place - 1], application=True, at_us=at_us, end_us=at_us)
    together = replace(seen, records=(*seen.records[: place - 1], settings, *seen.records[place:]))
    old = [connection(Path(rtt_ms=80), large, one) for one in DEEP]
    finding = found(records.RULES, probe([*old, *[together] * 3]))[Id.TLS_RECORD_OVERFLOW]
    assert finding.severity is Severity.HIGH


@pytest.mark.parametrize(
    ("status", "body_bytes"), [pytest.param(429, 40_000, id="an error"), pytest.param(200, 300, id="something small")]
)
def test_what_is_not_the_page_over_http2_spares_browsers_nothing(status: int, body_bytes: int) -> None:
    large, fits = replace(PAGE, record_bytes=16_384), replace(PAGE, settings_bytes=140, body_bytes=body_bytes)
    old = [connection(Path(rtt_ms=80), large, one) for one in DEEP]
    over = connection(Path(rtt_ms=80), fits, Trial.HTTP2)
    other = replace(over, exchanges=(replace(over.exchanges[0], status=status),))
    assert found(records.RULES, probe([*old, *[other] * 3]))[Id.TLS_RECORD_OVERFLOW].severity is Severity.HIGH


def test_an_end_that_is_held_back_is_free_by_the_page_over_http2_alone() -> None:
    way, apart = Path(rtt_ms=80, nagle=True), replace(PAGE, head_apart=True, body_bytes=9_000)
    old = [connection(way, apart, one) for one in DEEP]
    page = connection(replace(way, nagle=False), replace(apart, settings_bytes=140), Trial.HTTP2)
    error = replace(page, exchanges=(replace(page.exchanges[0], status=503),))
    severities = [found(transport.RULES, probe([*old, one])) for one in (page, error)]
    assert [one[Id.TCP_NAGLE_DELAYED_ACK].severity for one in severities] == [Severity.LOW, Severity.HIGH]
