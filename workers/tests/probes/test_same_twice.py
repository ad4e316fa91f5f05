"""Two names of one server, compared again and again: at most one verdict in twenty may claim a difference."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from workers.diagnosis.pair.samples import run_of
from workers.diagnosis.pair.verdict import compare
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Kind, Measured, PairMeasurement
from workers.measurement.pair import PairTarget
from workers.pairs import PairEngine
from workers.probes.settings import ProbeSettings
from workers.tests.builders import build_request
from workers.tests.nginx import CDN, ORIGIN, running_nginx
from workers.tests.probes.conftest import EXTRA_PORTS, Lab
from workers.tests.second_tries import measured_again
from workers.tests.servers import Peer, Script, Server, keeping, response

REPETITIONS, PAIRS, ALLOWED = 60, 20, 3
ROUNDS = 5
EQUAL = {"no_difference", "inconclusive"}


def verdicts(engine: PairEngine, url: str, other: str) -> Iterator[tuple[str, str]]:
    """Of the cold and of the reused pairs, once for each repetition."""
    request = {"kind": Kind.PAIR, "url": url, "other": PairTarget(url=other), "timeout_us": 60_000_000}
    for _ in range(REPETITIONS):
        outcomes = [engine.pair(build_request(**request, run_id=uuid4())) for _ in range(PAIRS)]
        measured = [one.measurement for one in outcomes if isinstance(one, Measured)]
        runs = [run_of(one) for one in measured if isinstance(one, PairMeasurement)]
        assert len(runs) == PAIRS
        comparison = compare(runs)
        yield str(comparison.cold.verdict), str(comparison.reused.verdict)


def is_honest(engine: PairEngine, url: str, other: str) -> bool:
    """Whether few claim a difference. What chance or another process did to some is outweighed by more of them."""
    found: list[tuple[str, str]] = []
    for rounds in range(1, ROUNDS + 1):
        found += verdicts(engine, url, other)
        if max(claims(found)) <= ALLOWED * rounds:
            return True
        measured_again(f"{claims(found)} of {len(found)} claim a difference")
    return False


def claims(found: list[tuple[str, str]]) -> list[int]:
    """How many claim a difference, cold and reused."""
    return [sum(verdict not in EQUAL for verdict in column) for column in zip(*found, strict=True)]


def restless(seed: int) -> Script:
    """A server that is now quick and now takes its time: half a millisecond in the mean, and a spike in twenty."""
    random = Random(seed)

    def script(peer: Peer) -> None:
        while peer.read_request():
            peer.pause(random.expovariate(2000) + (random.random() < 0.05) * random.uniform(0.005, 0.02))
            peer.send(response())

    return script


@pytest.mark.parametrize("script", [keeping(response(b"x" * 2_000)), restless(7)], ids=["calm", "restless"])
def test_a_server_is_not_called_faster_than_itself(lab: Lab, script: Script) -> None:
    with Server(script) as server, PairEngine(lab.settings) as engine:
        assert is_honest(engine, server.url(host="one.localhost"), server.url(host="two.localhost"))


def test_nor_is_one_with_tls_and_two_names(tmp_path: Path) -> None:
    with running_nginx(tmp_path) as nginx:
        settings = ProbeSettings(allowed=parse_networks("127.0.0.0/8"), extra_ports=EXTRA_PORTS, ca_file=nginx.ca_file)
        with PairEngine(settings) as engine:
            assert is_honest(engine, nginx.url(of=ORIGIN), f"https://{CDN}:{nginx.origin}/a.css")
