"""Servers and ways whose segments are of 524 or 536 bytes: ten of them hold little, and much goes into more of them."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import answers, records
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

PAGE = Server(body_bytes=20_000)
TINY = pytest.mark.parametrize("mss", [524, 536])


@TINY
@pytest.mark.parametrize("rtt_ms", [80, 380])
def test_a_record_that_a_small_one_would_not_have_beaten_is_not_too_large(mss: int, rtt_ms: int) -> None:
    """Behind tickets of three segments not even 4 KB fit into the window, and all of it comes with the next."""
    way, server = Path(rtt_ms=rtt_ms, mss=mss), replace(PAGE, handshake_bytes=900, tickets_bytes=1_200)
    large, small = (deep(way, replace(server, record_bytes=one)) for one in (5_000, 4_096))
    assert cost(large, "first byte") == pytest.approx(cost(small, "first byte"), abs=2_000)
    assert Id.TLS_RECORD_OVERFLOW not in found(records.RULES, large)


@TINY
@pytest.mark.parametrize("rtt_ms", [80, 380])
def test_a_record_that_fills_windows_costs_what_a_small_one_would_not(mss: int, rtt_ms: int) -> None:
    way, server = Path(rtt_ms=rtt_ms, mss=mss), replace(PAGE, handshake_bytes=900)
    large, small = (deep(way, replace(server, record_bytes=one)) for one in (16_384, 4_096))
    claimed_us = found(records.RULES, large)[Id.TLS_RECORD_OVERFLOW].saving_us
    assert claimed_us == pytest.approx(cost(large, "first byte") - cost(small, "first byte"), rel=0.05)


@TINY
def test_a_page_with_a_pause_would_have_begun_with_what_the_largest_part_of_its_handshake_left(mss: int) -> None:
    """The last part of a handshake of TLS 1.2 is too small to open the window further."""
    way, server = Path(mss=mss), replace(PAGE, version="TLSv1.2", head_bytes=800)
    paused, smooth = deep(way, replace(server, body_stall=(1_000, 200_000))), deep(way, server)
    claimed_us = found(answers.RULES, paused)[Id.HTTP_BODY_STALL].saving_us
    assert claimed_us == pytest.approx(cost(paused, "whole") - cost(smooth, "whole"), rel=0.05)


@TINY
def test_a_pause_behind_less_than_a_segment_is_no_window_because_of_its_size(mss: int) -> None:
    """Eight segments are nearly a window, and the pause is no longer than one may be; but a full one ends with a
    segment."""
    server = Server(tickets_bytes=1_200, head_bytes=800, body_bytes=12_000, body_stall=(2_000, 195_000))
    evidence = deep(Path(rtt_ms=150, mss=mss), replace(server, record_bytes=16_384))
    assert left_open(answers.RULES, evidence)[Id.HTTP_BODY_STALL] is NotJudgedReason.UNSTEADY
