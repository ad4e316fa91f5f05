"""Servers that write the head of an answer by itself, and then a page in records that fill more than a window."""

from dataclasses import replace
from statistics import median

import pytest

from workers.diagnosis.probe import records
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import Severity
from workers.tests.diagnosis.judging import cost, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep, light

PAGE = Server(head_apart=True, head_bytes=190, handshake_bytes=1200, body_bytes=40_000, tickets_bytes=510)
ANYWHERE = pytest.mark.parametrize("rtt_ms", [20, 80, 380])


def first_of_page_us(evidence: ProbeEvidence) -> float:
    """From the request to the first readable byte of the body."""
    asked = [trial.exchanges[0] for trial in evidence.of(Trial.FULL)]
    return median((one.first_body_us or 0) - (one.sent_us or 0) for one in asked)


@ANYWHERE
@pytest.mark.parametrize("version", ["TLSv1.3", "TLSv1.2"])
def test_a_large_record_behind_a_head_costs_the_page_and_not_the_first_byte(rtt_ms: float, version: str) -> None:
    """As uvicorn, Hypercorn and gunicorn send it."""
    page = replace(PAGE, version=version)
    large, small = (deep(Path(rtt_ms=rtt_ms), replace(page, record_bytes=size)) for size in (16_384, 4_096))
    finding = found(records.RULES, large)[Id.TLS_RECORD_OVERFLOW]
    assert finding.severity is Severity.MEDIUM
    assert finding.saving_us == pytest.approx(first_of_page_us(large) - first_of_page_us(small), rel=0.03)
    assert cost(large, "first byte") == pytest.approx(cost(small, "first byte"), abs=500)
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, small)


@ANYWHERE
def test_a_pause_between_head_and_page_is_no_record_that_waits(rtt_ms: float) -> None:
    resting = replace(PAGE, head_apart=False, body_stall=(1_000, 300_000), record_bytes=4_096)
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, deep(Path(rtt_ms=rtt_ms), resting))


@ANYWHERE
def test_a_page_that_fits_into_the_window_behind_its_head_waits_for_nothing(rtt_ms: float) -> None:
    fitting = deep(Path(rtt_ms=rtt_ms), replace(PAGE, body_bytes=9_000, record_bytes=16_384))
    finding = found(records.RULES, fitting).get(Id.TLS_RECORD_OVERFLOW)
    assert finding is None or finding.severity is Severity.INFO


@pytest.mark.parametrize("record_bytes", [8_192, 11_000, 11_500, 12_000, 13_800, 16_384])
def test_one_connection_shows_a_record_that_has_no_room_behind_the_packets_of_tickets(record_bytes: int) -> None:
    """Two tickets of 287 bytes take two packets of the ten."""
    evidence = light(Path(), Server(record_bytes=record_bytes, body_bytes=40_000, tickets_apart=True))
    page = evidence.trials[0].exchanges[0]
    waits = (page.first_readable_us or 0) - (page.sent_us or 0) > 1.5 * Path().rtt_us
    told = next(one for one in diagnose(evidence).checklist if one.column == "record_sizing")
    assert (told.answer == "no") is waits is (record_bytes > 11_500)
