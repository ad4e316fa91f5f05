"""Ways that are narrow in one direction: what is told of a site is what visitors over such a way would feel."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.evidence import Depth
from workers.measurement.finding import FindingId
from workers.measurement.messages import ProbeMeasurement
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.costs import cost_us
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import Served
from workers.tests.netlab.twin import Cost
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

WITHOUT, WITH = (Served(conduct=NginxConduct(early_data=on)) for on in (False, True))


@undisturbed
def test_early_data_is_said_to_spare_what_it_spares_where_the_upload_is_narrow(tmp_path: Path) -> None:
    """The hello with a hybrid key share and a session takes as long to leave as a round trip, with and without."""
    folder = Path(mkdtemp(dir=tmp_path))
    vault = Vault(Path(mkdtemp(dir=tmp_path)))
    with Lab(rtt_ms=80, up_kbit_s=200, rate_kbit_s=1000) as lab:
        estate = Estate(lab, vault, folder, {"without": WITHOUT, "with": WITH})
        without, with_it = (measured(lab, estate.url(name)) for name in ("without", "with"))
    assert without.evidence is not None
    findings = {one.id: one.saving_us for one in diagnose(without.evidence, without.hops).findings}
    real_us = cost_us(Cost.EARLIEST_REVISIT, without) - cost_us(Cost.EARLIEST_REVISIT, with_it)
    assert findings[FindingId.TLS_ZERO_RTT] == pytest.approx(real_us, rel=0.1)


def measured(lab: Lab, url: str) -> ProbeMeasurement:
    outcome = lab.probe(url, depth=Depth.DEEP, timeout_us=60_000_000)
    assert isinstance(outcome.measurement, ProbeMeasurement), outcome
    return outcome.measurement
