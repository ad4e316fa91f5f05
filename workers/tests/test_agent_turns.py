"""Two agents on one machine: real processes, which know of each other by nothing but their turns."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from workers.measurement.messages import Kind, Measured
from workers.tests.rig import Agent, Broker, due_request
from workers.tests.stub_service import StubService
from workers.tests.waiting import wait_for


@pytest.fixture
def neighbour(agent: Agent, tmp_path: Path) -> Iterator[Agent]:
    """Another agent on the same machine, not started yet."""
    directory = tmp_path / "neighbour"
    directory.mkdir()
    neighbour = Agent(broker=agent.broker, service=agent.service, directory=directory, settings=agent.settings)
    yield neighbour
    if neighbour.process is not None and neighbour.alive:
        neighbour.kill()


def probed(broker: Broker, service: StubService) -> object:
    """What comes of a probe that is asked for now."""
    run_id = broker.publish(due_request(kind=Kind.PROBE))
    return wait_for(lambda: service.arrived(run_id), "the probe's result")[0]


def test_agents_of_one_machine_load_pages_one_after_the_other_and_probe_meanwhile(
    agent: Agent, neighbour: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    first = broker.publish(due_request("/until/go", kind=Kind.PAGE))
    agent.process_of(first)
    neighbour.start()
    waiting = broker.publish(due_request(kind=Kind.PAGE))
    wait_for(lambda: str(waiting) in neighbour.held(), "the neighbour to have a page to load")
    assert isinstance(probed(broker, service), Measured)
    wait_for(lambda: any(waiting in beat.holding for beat in service.heartbeats), "a heartbeat that names it")
    assert neighbour.executions().count(str(waiting)) == 0
    before = datetime.now(UTC)
    (agent.directory / "go").touch()
    wait_for(lambda: service.arrived(waiting), "the neighbour's page")
    [result] = [result for result in service.results if result.run_id == waiting]
    # The wait is no part of the run, and can be told from when it was due.
    assert before <= result.started_at
    assert timedelta(microseconds=result.duration_us) <= datetime.now(UTC) - before


def test_the_turn_of_an_agent_that_is_killed_goes_to_its_neighbour(
    agent: Agent, neighbour: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    lost = broker.publish(due_request("/sleep/600", kind=Kind.PAGE))
    process = agent.process_of(lost)
    neighbour.start()
    waiting = broker.publish(due_request(kind=Kind.PAGE))
    wait_for(lambda: str(waiting) in neighbour.held(), "the neighbour to have a page to load")
    assert neighbour.executions() == []
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: service.arrived(waiting), "the neighbour's page")


def test_a_page_that_waits_for_its_turn_when_its_agent_ends_goes_back_to_the_queue(
    agent: Agent, neighbour: Agent, broker: Broker, service: StubService
) -> None:
    agent.settings["FIRSTBYTE_TEST_FINISH_S"] = "1"
    agent.start()
    agent.process_of(broker.publish(due_request("/sleep/600", kind=Kind.PAGE)))
    neighbour.start()
    waiting = broker.publish(due_request(kind=Kind.PAGE))
    wait_for(lambda: str(waiting) in neighbour.held(), "the neighbour to have a page to load")
    neighbour.stop()
    assert broker.waiting("page") == 1
    assert neighbour.executions() == []
