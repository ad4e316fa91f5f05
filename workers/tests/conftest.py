"""Shared by the tests of a region."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.tests.rig import Agent, Broker, running_broker
from workers.tests.stub_service import StubService


@pytest.fixture
def service() -> Iterator[StubService]:
    with StubService().running() as service:
        yield service


@pytest.fixture
def broker() -> Iterator[Broker]:
    with running_broker() as broker:
        yield broker


@pytest.fixture
def agent(broker: Broker, service: StubService, tmp_path: Path) -> Iterator[Agent]:
    """Not started yet; whatever is left of it at the end is killed."""
    agent = Agent(broker=broker, service=service, directory=tmp_path)
    yield agent
    if agent.process is not None and agent.process.poll() is None:
        agent.kill()
