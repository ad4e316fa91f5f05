"""A probe's phases beside the packets of its own network.

The strict figures are those of `./dev bench accuracy` on a quiet machine. Here other work may take the processor from
the probe, which its stamps mostly survive: the middle must hold, and the worst must be no other kind of number.
"""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.tests.netlab.accuracy import accuracy_lab, measure_accuracy
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
