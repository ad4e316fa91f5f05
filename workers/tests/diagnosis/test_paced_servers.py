"""Servers that space their packets out: of their window nothing is known, and it is not the way that is unsteady."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import transport
from workers.diagnosis.probe.checks import Judged
from workers.diagnosis.probe.checks_http import initial_window
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep
from workers.tests.diagnosis.sites import case

# A full segment with TLS, as Linux with bbr was seen to send them behind nine that came at once.
_SEGMENT_BYTES, _AT_ONCE = 1_426, 9
# A window, in segments, that stops nothing of it.
_ENOUGH = 100
_PACED = Server(body_bytes=75_000, record_bytes=_SEGMENT_BYTES)


def pacing(rtt_ms: int) -> Server:
    """What was acknowledged lets out so much that the rest of the page comes evenly, for more than a round trip."""
    rtt_us = rtt_ms * 1000
    evenly = [(_SEGMENT_BYTES, round(rtt_us / 32))] * 42
    return replace(_PACED, stops=((_AT_ONCE * _SEGMENT_BYTES, rtt_us - 300), *evenly))


@pytest.mark.parametrize("rtt_ms", [20, 200])
def test_a_server_that_paces_behind_its_first_flight_is_not_an_unsteady_way(rtt_ms: int) -> None:
    evidence = deep(Path(rtt_ms=rtt_ms, iw=_ENOUGH), pacing(rtt_ms))
    reasons = left_open(transport.RULES, evidence)
    assert reasons[Id.TCP_IW_SMALL] is NotJudgedReason.PACED
    column = initial_window(Judged(case=case(evidence), found={}, left_open=reasons))
    assert column.detail == "the server spreads its packets out in time, so that its flights cannot be told apart"


def test_on_an_unsteady_way_a_server_is_not_said_to_pace() -> None:
    for seed in (0, 100):
        evidence = deep(Path(rtt_ms=20, iw=_ENOUGH, jitter=0.9, seed=seed), pacing(20))
        assert left_open(transport.RULES, evidence).get(Id.TCP_IW_SMALL) is not NotJudgedReason.PACED


def test_a_pause_of_about_a_round_trip_is_no_pace() -> None:
    """All that follows it comes at once."""
    server = replace(_PACED, body_bytes=40_000, stops=((_AT_ONCE * _SEGMENT_BYTES, 80_000),))
    assert left_open(transport.RULES, deep(Path(iw=_ENOUGH), server)).get(Id.TCP_IW_SMALL) is not NotJudgedReason.PACED
