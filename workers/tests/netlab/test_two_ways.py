"""A CDN and its origin at different distances: what makes one faster is told with what it costs, also where causes act
against each other."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

import pytest

from workers.diagnosis.pair.samples import PairRun, Verdict, run_of
from workers.diagnosis.pair.verdict import MIN_PAIRS, PairVerdict, compare
from workers.measurement.messages import Kind, PairMeasurement
from workers.measurement.pair import PairTarget
from workers.pairs import PairEngine
from workers.tests.builders import build_request
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import SecondAddress, Served
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

NEAR_MS, FAR_MS, THINK_MS = 60, 120, 50
# More than the first window holds, also when each packet of the handshake has made it larger, and less than two do.
BODY_BYTES = 30_000
AT_ONCE = 5
CDN = Served(conduct=Conduct(newest="TLSv1.2", think_s=(THINK_MS / 1000,), body_bytes=BODY_BYTES))
# Its first record can only be read with the second flight: that is no slow beginning.
ORIGIN = Served(conduct=NginxConduct(body_bytes=BODY_BYTES, buffer="16k"), second=SecondAddress())


@undisturbed
def test_a_near_server_that_thinks_and_one_that_is_far_are_each_told_with_what_they_cost(tmp_path: Path) -> None:
    with Lab(rtt_ms=NEAR_MS, rtt6_ms=FAR_MS) as lab:
        folder, vault = Path(mkdtemp(dir=tmp_path)), Vault(Path(mkdtemp(dir=tmp_path)))
        estate = Estate(lab, vault, folder, {"cdn": CDN, "origin": ORIGIN})
        target = PairTarget(url=estate.url("origin"), address=f"[{estate.second('origin')}]:443")
        comparison = compare(_pairs(lab, estate.url("cdn"), target))
    verdict, again = comparison.cold, comparison.reused
    apart_ms = FAR_MS - NEAR_MS
    costs, costs_again = _costs_ms(verdict), _costs_ms(again)
    assert verdict.verdict is Verdict.CDN_FASTER
    # To connect, in the handshake, until the answer begins, and for what the first window does not hold.
    assert costs["distance"] == pytest.approx(-4 * apart_ms, rel=0.05)
    assert costs["tls_round_trips"] == pytest.approx(NEAR_MS, rel=0.1)
    assert costs["server_wait"] == pytest.approx(THINK_MS, rel=0.1)
    assert costs.keys() <= {"distance", "tls_round_trips", "server_wait", "tls"}
    assert abs(costs.get("tls", 0)) < 0.1 * THINK_MS
    # Once connections are open the window has grown, and the answer alone is a round trip away.
    assert costs_again["distance"] == pytest.approx(-apart_ms, rel=0.05)
    assert costs_again["server_wait"] == pytest.approx(THINK_MS, rel=0.1)


def _costs_ms(verdict: PairVerdict) -> dict[str, float]:
    return {reason.id: reason.difference_us / 1000 for reason in verdict.reasons}


def _pairs(lab: Lab, cdn: str, origin: PairTarget) -> list[PairRun]:
    """The origin is asked over IPv6, which is the longer way here."""
    request = build_request(url=cdn, kind=Kind.PAIR, other=origin, timeout_us=30_000_000)

    def ask(_: int) -> PairRun:
        outcome = engine.pair(replace(request, run_id=uuid4()))
        assert isinstance(outcome.measurement, PairMeasurement), outcome
        return run_of(outcome.measurement)

    with (
        PairEngine(replace(lab.settings, in_flight=AT_ONCE), enter=lab.client.enter) as engine,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        return list(pool.map(ask, range(MIN_PAIRS)))
