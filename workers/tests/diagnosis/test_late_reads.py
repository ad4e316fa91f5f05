"""An agent so busy that it reads late, and much in one go: what it says of a wide link is no narrow one's."""

import pytest

from workers.diagnosis.probe import answers
from workers.diagnosis.probe.flights import packet_time_us
from workers.measurement.evidence import Trial
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, probe

LATE_MS = (3, 15, 45)
TRICKLING = Server(body_bytes=20_000, trickle=(2_000, 150_000))
PAUSING = Server(handshake_bytes=900, version="TLSv1.2", record_bytes=16_384, body_stall=(1_000, 200_000))


@pytest.mark.parametrize("late_ms", LATE_MS)
@pytest.mark.parametrize("server", [TRICKLING, PAUSING])
def test_pauses_of_a_server_cost_as_much_whoever_reads_late(late_ms: int, server: Server) -> None:
    timely, late = (
        probe([connection(Path(rtt_ms=40), server, late_us=late_us)] * 3) for late_us in (0, 1000 * late_ms)
    )
    told, real = (found(answers.RULES, one)[Id.HTTP_BODY_STALL].saving_us for one in (late, timely))
    assert told == pytest.approx(real, rel=0.03)


@pytest.mark.parametrize("late_ms", LATE_MS)
@pytest.mark.parametrize("packet_ms", [6, 24])
def test_a_narrow_link_is_one_whoever_reads_late(late_ms: int, packet_ms: int) -> None:
    way, server = Path(rtt_ms=150, rate_bytes_s=1_448_000 / packet_ms), Server(body_bytes=60_000)
    late = connection(way, server, Trial.CLASSICAL, late_us=1000 * late_ms)
    assert packet_time_us(late) == pytest.approx(1000 * packet_ms, rel=0.05)
