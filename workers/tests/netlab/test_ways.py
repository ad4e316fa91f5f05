"""Ways that are unlike in both directions or families, and such as mix packets up: what a diagnosis makes of them."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

import pytest

from workers.measurement.evidence import Depth, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.measurement.messages import ProbeMeasurement
from workers.shaping.settings import Direction, Overtaken
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import Asking, diagnosis_of, ids, probe
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import ChainWish, SecondAddress, Served
from workers.tests.netlab.twin import SHY_OF_LOSS
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 80
# Every third packet with data arrives behind the next ones of its flight.
MIXED = Overtaken(direction=Direction.DOWN, every=3, by_us=2000)
SITES = {
    "records": Served(conduct=NginxConduct(body_bytes=20_000, buffer="16k")),
    "chain": Served(chain=ChainWish(size_bytes=18_000)),
}
_LONG = Served(conduct=NginxConduct(body_bytes=105_000))


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


def probed(lab: Lab, vault: Vault, folder: Path, sites: Mapping[str, Served]) -> dict[str, ProbeMeasurement]:
    estate = Estate(lab, vault, Path(mkdtemp(dir=folder)), sites)
    with ThreadPoolExecutor(len(sites)) as pool:
        seen = pool.map(lambda name: probe(lab, estate.url(name), Asking(timeout_s=5)), sites)
        return dict(zip(sites, seen, strict=True))


@undisturbed
def test_packets_that_overtake_each_other_are_neither_lost_nor_a_servers_fault(tmp_path: Path, vault: Vault) -> None:
    with Lab(rtt_ms=RTT_MS, overtaken=MIXED) as lab:
        seen = probed(lab, vault, tmp_path, SITES)
    for name, measurement in seen.items():
        assert measurement.evidence is not None
        ends = [one.tcp_ended for one in measurement.evidence.trials if one.tcp_ended is not None]
        assert sum(bool(end.out_of_order_packets) for end in ends) >= len(ends) / 2
        assert not ids(diagnosis_of(measurement)) & (SHY_OF_LOSS | {Id.TCP_LOSS}), name


@pytest.mark.parametrize("server_iw", [10, 3])
@undisturbed
def test_packets_that_overtake_each_other_are_not_lost_where_the_server_paces(
    tmp_path: Path, vault: Vault, server_iw: int
) -> None:
    """Behind its first flight come more than twice as many, one after the other."""
    with Lab(rtt_ms=RTT_MS, server_congestion="bbr", server_iw=server_iw, overtaken=MIXED) as lab:
        seen = probed(lab, vault, tmp_path, SITES | {"long": _LONG})
    for name, measurement in seen.items():
        assert Id.TCP_LOSS not in ids(diagnosis_of(measurement)), name


@undisturbed
def test_a_way_of_more_than_a_second_loses_nothing(tmp_path: Path, vault: Vault) -> None:
    """The kernel says each SYN again before it can have been answered."""
    with Lab(rtt_ms=1_100) as lab:
        estate = Estate(lab, vault, Path(mkdtemp(dir=tmp_path)), {"site": Served()})
        measurement = probe(lab, estate.url("site"), Asking(depth=Depth.LIGHT, timeout_s=30))
    assert measurement.evidence is not None
    assert [one.syn_retransmits for one in measurement.evidence.trials] == [1]
    diagnosis = diagnosis_of(measurement)
    assert Id.TCP_LOSS not in ids(diagnosis) | {one.id for one in diagnosis.not_judged}
    assert NotJudgedReason.LOSS not in {one.reason for one in diagnosis.not_judged}


@undisturbed
def test_a_server_whose_kernel_paces_is_not_an_unsteady_way(tmp_path: Path, vault: Vault) -> None:
    """Linux with bbr: its second flight is no slow start's."""
    with Lab(rtt_ms=RTT_MS, server_congestion="bbr") as lab:
        (measurement,) = probed(lab, vault, tmp_path, {"site": _LONG}).values()
    diagnosis = diagnosis_of(measurement)
    assert Id.TCP_IW_SMALL not in ids(diagnosis)
    assert {one.id: one.reason for one in diagnosis.not_judged}[Id.TCP_IW_SMALL] is NotJudgedReason.PACED


@pytest.mark.parametrize(("rtt_ms", "rtt6_ms"), [(20, 80), (80, 20)])
@undisturbed
def test_a_family_that_is_farther_costs_each_round_trip_of_a_visit(
    tmp_path: Path, vault: Vault, rtt_ms: int, rtt6_ms: int
) -> None:
    with Lab(rtt_ms=rtt_ms, rtt6_ms=rtt6_ms) as lab:
        (measurement,) = probed(lab, vault, tmp_path, {"site": Served(second=SecondAddress())}).values()
    diagnosis = diagnosis_of(measurement)
    slower = [one for one in diagnosis.findings if one.id is Id.IPV6_BROKEN_OR_SLOW]
    if rtt6_ms < rtt_ms:
        assert not slower
        assert Id.IPV6_BROKEN_OR_SLOW not in {one.id for one in diagnosis.not_judged}
    else:
        (finding,) = slower
        assert finding.saving_us == pytest.approx(3 * (rtt6_ms - rtt_ms) * 1000, rel=0.1)
    # Nothing that is said of the one family is counted in the other's round trips.
    (h3,) = [one for one in diagnosis.findings if one.id is Id.HTTP_H3]
    assert h3.saving_us == pytest.approx(rtt_ms * 1000, rel=0.05)
    assert measurement.evidence is not None
    assert measurement.evidence.of(Trial.OTHER_FAMILY)
