"""Sites of every kind can be asked in one lab, each by its own name."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.names import Naming
from workers.tests.netlab.nginx import NginxConduct, Plain
from workers.tests.netlab.served import ChainWish, Served
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

SITES = {
    "nginx": Served(),
    "old": Served(conduct=Conduct(newest="TLSv1.2"), chain=ChainWish(size_bytes=5500)),
    "plain": Served(conduct=NginxConduct(secure=False, plain=Plain.PAGE), scheme="http"),
    "slow": Served(conduct=Conduct(), scheme="http", naming=Naming(search_ms=150, aliases=2)),
}
# Round trips of DNS, TCP, TLS and the request itself.
ROUND_TRIPS = {"nginx": 4, "old": 5, "plain": 3, "slow": 3}


@pytest.mark.parametrize("name", SITES)
@undisturbed
def test_each_site_is_served_as_wished(name: str, tmp_path: Path) -> None:
    folder = Path(mkdtemp(dir=tmp_path))
    with Lab(rtt_ms=50) as lab:
        outcome = lab.probe(Estate(lab, Vault(folder), folder, SITES).url(name))
    assert isinstance(outcome, Measured), outcome
    assert isinstance(outcome.measurement, ProbeMeasurement)
    hop = outcome.measurement.hops[-1]
    searched_ms = 150 if name == "slow" else 0
    first_us = hop.timing.first_byte_us
    assert first_us is not None
    assert (first_us - hop.timing.start_us) / 1000 == pytest.approx(50 * ROUND_TRIPS[name] + searched_ms, rel=0.15)
    assert hop.body_bytes == 4000
