"""An agent that is cut off blames no site, and one that is not blames who is silent: real probes on a real network."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.measurement.failure import Blame, FailureKind
from workers.measurement.messages import Failed, Measured, OnProgress, RunRequest
from workers.probes.settings import NameServer
from workers.run import Clock, Instruments, execute
from workers.shaping.settings import Direction, Drop
from workers.tests.builders import SLOT, build_request
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.netlab.network import NAME
from workers.witness import Witness

SITE_SILENT = (Drop(direction=Direction.UP, nth=None, least_bytes=0, port=80),)
CUT_OFF = (*SITE_SILENT, Drop(direction=Direction.UP, nth=None, protocol="udp"))


class Probing:
    """Measures in the lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        return self._lab.engine.probe(request, on_progress)

    pair = probe


class Agent:
    """An agent in the lab, whose network may break, and its only site."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        witness = Witness(folder / "mark", lambda: [NameServer(address=lab.server_address4)])
        self._instruments = Instruments(agent="eu-1", prober=Probing(lab), witness=witness)

    def run(self, *broken: Drop) -> tuple[FailureKind, Blame] | None:
        """How a run fails and by whose fault; None if it does not."""
        self._lab.shape(drops=broken)
        request = build_request(url=f"http://{NAME}/", timeout_us=5_000_000)
        clock = Clock(now=lambda: SLOT)
        outcome = self._lab.client.call(lambda: execute(request, self._instruments, clock)).result.outcome
        return (outcome.failure.kind, outcome.failure.blame) if isinstance(outcome, Failed) else None


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with Lab(rtt_ms=20) as lab:
        lab.zone.domains.add("com")
        listener = lab.server.call(lambda: socket.create_server((lab.server_address4, 80)))
        with MisbehavingServer(listener, Conduct()):
            yield Agent(lab, tmp_path)


def test_a_silence_is_the_sites_or_the_agents(agent: Agent) -> None:
    assert agent.run() is None
    assert agent.run(*SITE_SILENT) == (FailureKind.CONNECT_TIMEOUT, Blame.NETWORK)
    assert agent.run(*CUT_OFF) == (FailureKind.DNS_TIMEOUT, Blame.MONITOR)
    assert agent.run() is None


def test_of_an_agent_that_never_heard_of_a_name_the_silence_is_told_as_it_is(agent: Agent) -> None:
    assert agent.run(*CUT_OFF) == (FailureKind.DNS_TIMEOUT, Blame.NETWORK)
