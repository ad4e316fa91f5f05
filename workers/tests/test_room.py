"""An agent whose disk keeps no results takes no work, and leaves it to others."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import redis as transport

from workers import room, turns
from workers.measurement.broker import broker_options, broker_url
from workers.room import LOOK_S, Room
from workers.tests.rig import URL_PASSWORD, Agent, Broker, due_request
from workers.tests.stub_service import StubService
from workers.tests.waiting import wait_for


class Disk:
    """Its fault, and a clock."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self.looks, self.now_s = 0, 0.0
        self.room = Room(self._look, lambda: self.now_s)

    def _look(self) -> str | None:
        self.looks += 1
        return self.fault


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def consuming(broker: Broker, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Connection, list[Any]]]:
    """A process that takes probes of its region, and what it took."""
    monkeypatch.setattr(transport.Channel, "QoS", transport.Channel.QoS)
    turns.take_turns()
    room.take_on_where(disk.room)
    taken: list[Any] = []
    url = broker_url(f"unix://eu:{URL_PASSWORD}@{broker.socket}")
    with Connection(url, transport_options=broker_options("eu")) as connection:
        channel: Any = connection.default_channel
        channel.basic_consume("probe", no_ack=True, callback=taken.append, consumer_tag="1")
        yield connection, taken


def listen(connection: Connection) -> None:
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.2)


def test_without_room_a_process_asks_for_no_run_and_asks_again_once_there_is_room(
    consuming: tuple[Connection, list[Any]], broker: Broker, disk: Disk
) -> None:
    connection, taken = consuming
    disk.fault = "No space left on device"
    broker.publish(due_request())
    listen(connection)
    assert (taken, broker.waiting("probe")) == ([], 1)
    disk.fault, disk.now_s = None, LOOK_S
    connection.drain_events(timeout=5)
    assert len(taken) == 1


def test_what_was_asked_for_while_there_was_room_is_taken_and_no_more_is_asked_for(
    consuming: tuple[Connection, list[Any]], disk: Disk
) -> None:
    """An answer that nobody reads may be a run, which is in no queue any more."""
    connection, _ = consuming
    channel: Any = connection.default_channel
    while not channel._in_poll:
        listen(connection)
    disk.fault, disk.now_s = "No space left on device", LOOK_S
    assert channel.qos.can_consume()
    while channel._in_poll:
        listen(connection)
    listen(connection)
    assert not channel._in_poll
    assert not channel.qos.can_consume()


def test_a_disk_is_looked_at_every_few_seconds_and_what_changes_is_logged_once(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    answers = []
    for disk.now_s, disk.fault in ((0, None), (LOOK_S - 1, "full"), (LOOK_S, "full"), (LOOK_S * 2, "full")):
        answers.append(disk.room.is_there())
    disk.fault = None
    answers += [disk.room.is_there() for disk.now_s in (LOOK_S * 3 - 1, LOOK_S * 3)]
    assert (answers, disk.looks) == ([True, True, False, False, False, True], 4)
    assert [record.getMessage() for record in caplog.records] == [
        "takes no runs, since their results would find no room: full",
        "takes runs again: there is room for results",
    ]


def test_an_agent_whose_results_find_no_room_leaves_runs_in_the_queue_until_they_do(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    full = agent.directory / "full"
    full.touch()
    agent.settings |= {"FIRSTBYTE_TEST_LOOK_S": "0.2", "FIRSTBYTE_TEST_FULL": str(full)}
    agent.start()
    wait_for(lambda: service.heartbeats and agent.log.count("takes no runs") == 3, "its processes to see that")
    run_id = broker.publish(due_request())
    time.sleep(0.5)
    assert (broker.waiting("probe"), agent.executions()) == (1, [])
    full.unlink()
    wait_for(lambda: service.arrived(run_id), "its result")
