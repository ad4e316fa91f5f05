"""A probe's phases beside the packets of its own network.

The strict figures are those of `./dev bench accuracy` on a quiet machine. Here other work may take the processor from
the probe, which its stamps mostly survive: the middle must hold, and the worst must be no other kind of number.
"""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.measurement.messages import ProbeMeasurement
from workers.measurement.timing import phases_of
from workers.shaping.packets import TCP
from workers.tests.netlab.accuracy import accuracy_lab, measure_accuracy
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import LOSS
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import Served
from workers.tests.waiting import undisturbed

LIMITS_US = {"connect": 50, "tls": 100, "wait": 1000}


@pytest.mark.parametrize(("in_flight", "probes"), [(1, 5), (50, 150)])
@undisturbed
def test_phases_are_those_of_the_packets(in_flight: int, probes: int, tmp_path: Path) -> None:
    with accuracy_lab(Path(mkdtemp(dir=tmp_path)), addresses=probes) as lab:
        lab.configure(in_flight=in_flight)
        found = measure_accuracy(lab, in_flight=in_flight, probes=probes)
    assert found.lost <= probes // 20
    for phase, limit_us in LIMITS_US.items():
        assert found.quantile_us(phase, 0.5) <= limit_us, (phase, found)
        assert found.quantile_us(phase, 0.9) <= 10 * limit_us, (phase, found)


@undisturbed
def test_an_answer_has_come_when_its_lost_packet_has(tmp_path: Path) -> None:
    """All that came meanwhile lies in the kernel until then, and is told with the stamp of its last packet."""
    folder = Path(mkdtemp(dir=tmp_path))
    with Lab(rtt_ms=80, loss=LOSS) as lab:
        page = Served(conduct=NginxConduct(body_bytes=30_000))
        estate = Estate(lab, Vault(folder), folder, {"page": page})
        with lab.capture() as capture:
            measurement = lab.probe(estate.url("page")).measurement
            packets = [seen for seen in capture.packets() if seen.packet.protocol == TCP and seen.packet.payload_bytes]
    assert isinstance(measurement, ProbeMeasurement)
    found = phases_of(measurement.hops[0].timing)
    asked_ns = max(seen.at_ns for seen in packets if seen.sent and seen.packet.payload_bytes > 100)
    came_us = (max(seen.at_ns for seen in packets if not seen.sent) - asked_ns) // 1000
    assert abs((found.wait_us or 0) + (found.download_us or 0) - came_us) <= 5 * LIMITS_US["wait"]
