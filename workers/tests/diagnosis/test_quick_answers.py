"""Servers that think while their window is full: what they would gain by thinking less."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import answers
from workers.measurement.finding import Confidence
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

RULES = answers.RULES
# A way on which packets are small.
NARROW = Path(rtt_ms=380, mss=536)
SHORT = Server(handshake_bytes=900, body_bytes=14_000)


@pytest.mark.parametrize("window", [2, 3, 4])
@pytest.mark.parametrize("think_us", [300, 48_000])
def test_one_ticket_of_several_packets_fills_a_small_window_and_is_no_thinking(think_us: int, window: int) -> None:
    server = replace(SHORT, tickets_bytes=2_300, think_us=(think_us,))
    assert Id.HTTP_THINK_TIME not in found(RULES, deep(replace(NARROW, iw=window), server))


@pytest.mark.parametrize(
    ("way", "server"),
    [
        # Its tickets fill the window: what comes sooner waits for their acknowledgement.
        (replace(NARROW, iw=3), replace(SHORT, tickets_bytes=2_060, record_bytes=16_384)),
        (Path(rtt_ms=380, iw=3), Server(tickets_bytes=2_060)),
        # A window of 4, which their acknowledgement lets grow.
        (Path(rtt_ms=380, iw=4), replace(SHORT, record_bytes=16_384)),
        (Path(rtt_ms=380, iw=3), Server(record_bytes=16_384)),
        # A record that comes at once from a window that has grown meanwhile.
        (replace(NARROW, iw=32), Server(handshake_bytes=1_300, record_bytes=16_384)),
    ],
)
def test_what_less_thinking_gains_is_not_certain_where_the_window_would_be_waited_for_instead(
    way: Path, server: Server
) -> None:
    page = replace(server, body_bytes=60_000)
    thinking, quick = (deep(way, replace(page, think_us=(us,))) for us in (511_000, 50_000))
    told = found(RULES, thinking)[Id.HTTP_THINK_TIME]
    assert (told.saving_us or 0) > 2 * (cost(thinking, "first byte") - cost(quick, "first byte"))
    assert told.confidence is Confidence.MEDIUM


@pytest.mark.parametrize("record_bytes", [4_096, 16_384])
@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_thinking_is_told_for_certain_of_usual_servers(rtt_ms: float, record_bytes: int) -> None:
    server = Server(body_bytes=40_000, record_bytes=record_bytes, think_us=(500_000,))
    told = found(RULES, deep(Path(rtt_ms=rtt_ms), server))[Id.HTTP_THINK_TIME]
    assert told.confidence is Confidence.HIGH
