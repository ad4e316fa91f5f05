"""Requests larger than the first window: that they take round trips to leave is no thinking of the server."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.measurement.connection import Header
from workers.measurement.evidence import Depth
from workers.measurement.finding import FindingId as Id
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import diagnosis_of, ids
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.served import Served
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 160
LONG = tuple(Header(name=f"x-{number}", value="y" * 4000) for number in range(12))
SITES = {"http1": Served(conduct=Conduct()), "plain": Served(conduct=Conduct(), scheme="http")}


def ask(folder: Path, name: str, depth: Depth) -> ProbeMeasurement:
    place = Path(mkdtemp(dir=folder))
    with Lab(rtt_ms=RTT_MS) as lab:
        estate = Estate(lab, Vault(place), place, SITES)
        outcome = lab.probe(estate.url(name), headers=LONG, depth=depth)
    assert isinstance(outcome, Measured), outcome
    assert isinstance(outcome.measurement, ProbeMeasurement)
    return outcome.measurement


@pytest.mark.parametrize("name", sorted(SITES))
@undisturbed
def test_what_a_request_takes_to_leave_is_sending_and_no_wait(tmp_path: Path, name: str) -> None:
    measured = ask(tmp_path, name, Depth.LIGHT)
    timing = measured.hops[-1].timing
    assert timing.send is not None
    assert timing.wait is not None
    assert round(timing.send.duration_us / 1000 / RTT_MS, 1) == 2
    assert round(timing.wait.duration_us / 1000 / RTT_MS, 1) == 1


@undisturbed
def test_a_server_that_gets_a_long_request_is_not_slow(tmp_path: Path) -> None:
    measured = ask(tmp_path, "http1", Depth.DEEP)
    assert Id.HTTP_THINK_TIME not in ids(diagnosis_of(measured))
