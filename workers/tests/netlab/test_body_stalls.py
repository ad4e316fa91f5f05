"""What a silence within an answer costs, behind servers that begin with other windows than the usual one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.evidence import Depth
from workers.measurement.finding import FindingId
from workers.measurement.messages import ProbeMeasurement
from workers.tests.netlab.ahead import go_ahead
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.conduct import Conduct, Stall
from workers.tests.netlab.costs import cost_us
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.served import Served
from workers.tests.netlab.twin import Cost
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 80
_WHOLE = Conduct(body_bytes=40_000)
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Case:
    """Servers that begin with a window of so many packets, one of which falls silent behind so many bytes."""

    window: int
    after_bytes: int

    def __str__(self) -> str:
        return f"{self.window}-{self.after_bytes}"


# A site whose answers are whole, and one that pauses within them.
Pair = tuple[ProbeMeasurement, ProbeMeasurement]
_EARLY = [Case(4, 2_000), Case(20, 2_000), Case(32, 2_000)]
_UNKNOWN = Case(32, 8_000)
_BESIDE = [Case(4, 8_000), Case(4, 30_000)]


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Pair]:
    """A pair of probes of a case. The first of each are made side by side, since they mostly wait; others anew."""
    folder = tmp_path_factory.mktemp("stalls")
    vault = Vault(folder)
    with ThreadPoolExecutor(_AT_ONCE, initializer=go_ahead) as pool:
        cases = [*_EARLY, _UNKNOWN, *_BESIDE]
        first = dict(zip(cases, pool.map(lambda case: probed(folder, vault, case), cases), strict=True))
    return lambda case: first.pop(case, None) or probed(folder, vault, case)


@undisturbed
@pytest.mark.parametrize("case", _EARLY, ids=str)
def test_a_stall_costs_what_the_answer_would_come_sooner_without_it(probes: Callable[[Case], Pair], case: Case) -> None:
    """While the server is silent its window may grow; without the silence it would have been what it is."""
    whole, stalled = probes(case)
    assert savings(stalled)[FindingId.HTTP_BODY_STALL] == pytest.approx(real_us(whole, stalled), rel=0.1)


@undisturbed
def test_of_a_window_that_may_be_larger_than_anything_sent_no_more_is_claimed_than_is_certain(
    probes: Callable[[Case], Pair],
) -> None:
    whole, stalled = probes(_UNKNOWN)
    real, claimed_us = real_us(whole, stalled), savings(stalled)[FindingId.HTTP_BODY_STALL]
    assert claimed_us is not None
    assert real - 1.1 * RTT_MS * 1000 <= claimed_us <= 1.02 * real


@undisturbed
@pytest.mark.parametrize("case", _BESIDE, ids=str)
def test_a_stall_is_no_part_of_what_a_small_window_or_a_restarted_one_costs(
    probes: Callable[[Case], Pair], case: Case
) -> None:
    whole, stalled = probes(case)
    told, alone = savings(stalled), savings(whole)
    assert told[FindingId.HTTP_BODY_STALL] == pytest.approx(real_us(whole, stalled), rel=0.1)
    for id in (FindingId.TCP_IW_SMALL, FindingId.TCP_IDLE_RESTART):
        assert (told.get(id) or 0) <= (alone[id] or 0) + 5_000


def probed(folder: Path, vault: Vault, case: Case) -> Pair:
    """Both begin anew after a rest."""
    stalled = replace(_WHOLE, body_stall=Stall(after_bytes=case.after_bytes, pause_s=0.4))
    sites = {"whole": Served(conduct=_WHOLE), "stalled": Served(conduct=stalled)}
    with Lab(rtt_ms=RTT_MS, server_iw=case.window) as lab:
        estate = Estate(lab, vault, Path(mkdtemp(dir=folder)), sites)
        # Both mostly wait, for their own servers.
        with ThreadPoolExecutor(len(sites)) as pool:
            whole, other = pool.map(lambda name: measured(lab, estate.url(name)), sites)
            return whole, other


def measured(lab: Lab, url: str) -> ProbeMeasurement:
    outcome = lab.probe(url, depth=Depth.DEEP, timeout_us=60_000_000)
    assert isinstance(outcome.measurement, ProbeMeasurement), outcome
    return outcome.measurement


def savings(measurement: ProbeMeasurement) -> dict[FindingId, int | None]:
    assert measurement.evidence is not None
    return {one.id: one.saving_us for one in diagnose(measurement.evidence, measurement.hops).findings}


def real_us(whole: ProbeMeasurement, stalled: ProbeMeasurement) -> int:
    return cost_us(Cost.WHOLE, stalled) - cost_us(Cost.WHOLE, whole)
