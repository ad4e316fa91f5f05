"""Work that nobody acknowledged is looked for with a region's own account, which may run no scripts."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from kombu import Connection
from kombu.transport import redis as transport

from workers import turns
from workers.measurement.broker import broker_options, broker_url
from workers.measurement.messages import Kind, Measured
from workers.tests.rig import URL_PASSWORD, Agent, Broker, command, due_request
from workers.tests.stub_service import StubService
from workers.tests.waiting import wait_for

TURN = "eu:unacked_mutex"


@pytest.fixture
def qos(broker: Broker) -> Iterator[Any]:
    """kombu's side of what a region has not acknowledged."""
    turns.take_turns()
    options = broker_options("eu") | {"visibility_timeout": 0}
    url = broker_url(f"unix://eu:{URL_PASSWORD}@{broker.socket}")
    with Connection(url, transport_options=options) as connection:
        channel: Any = connection.default_channel
        yield channel.qos


def refused(broker: Broker) -> set[str]:
    """The commands that Redis refused to a region's account. From 7.2 on it is to be told of the library behind a
    connection: redis-py tells it, and bears to be refused."""
    return {str(entry["object"]) for entry in broker.admin.acl_log()} - {"client|setinfo"}


def test_what_we_replace_in_kombu_is_where_we_look_for_it() -> None:
    assert turns.missing_parts() == ()


@pytest.mark.parametrize("name", ["Mutex", "MutexHeld"])
def test_a_kombu_without_it_is_no_kombu_for_agents(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(transport, name)
    assert turns.missing_parts() == (name,)
    with pytest.raises(RuntimeError, match=f"this kombu lacks {name}: install the version of requirements.txt"):
        turns.take_turns()


def test_a_kombu_that_holds_a_lock_of_another_name_is_no_kombu_for_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport.QoS, "restore_visible", lambda self: None)
    assert turns.missing_parts() == ("QoS.restore_visible with Mutex",)


def test_a_message_that_nobody_acknowledged_comes_back_without_a_script(qos: Any, broker: Broker) -> None:
    request = due_request()
    broker.publish(request)
    message = command(broker.admin, "RPOP", "eu:probe")
    broker.admin.hset("eu:unacked", "tag", json.dumps([json.loads(message), "", "probe"]))
    broker.admin.zadd("eu:unacked_index", {"tag": 1})
    command(broker.admin, "ACL", "LOG", "RESET")
    qos.restore_visible()
    assert broker.unacknowledged() == 0
    assert broker.waiting("probe") == 1
    assert refused(broker) == set()


def test_whose_turn_it_is_not_waits_until_it_ends_by_itself(qos: Any, broker: Broker) -> None:
    broker.admin.set(TURN, "", px=60_000)
    broker.admin.zadd("eu:unacked_index", {"tag": 1})
    qos.restore_visible(interval=1)
    assert broker.admin.zcard("eu:unacked_index") == 1
    broker.admin.delete(TURN)
    qos.restore_visible(interval=1)
    assert broker.admin.zcard("eu:unacked_index") == 0
    assert 0 < broker.admin.ttl(TURN) <= 60


def test_an_agent_takes_up_what_one_before_it_died_with_and_asks_for_nothing_that_it_may_not(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    left = due_request("/until/told")
    broker.publish(left)
    agent.process_of(left.run_id)
    for pid in [*agent.children(), agent.pid]:
        os.kill(pid, signal.SIGKILL)
    agent.kill()
    assert broker.unacknowledged() == 1
    [tag] = command(broker.admin, "ZRANGE", "eu:unacked_index", "0", "-1")
    broker.admin.zadd("eu:unacked_index", {tag: 1})
    broker.admin.delete(TURN)
    (agent.directory / "told").touch()
    agent.start()
    [result] = wait_for(lambda: service.results, "the run that was left")
    assert result.run_id == left.run_id
    assert isinstance(result.outcome, Measured)
    wait_for(lambda: broker.unacknowledged() == 0, "the message to be acknowledged")
    assert agent.stop() == 0
    assert refused(broker) == set(), agent.log


def test_an_agent_of_an_earlier_version_which_asks_for_a_script_works_on(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.settings["FIRSTBYTE_TEST_SCRIPTS"] = "1"
    agent.start()
    runs = {broker.publish(due_request(kind=kind)) for kind in Kind}
    wait_for(lambda: {result.run_id for result in service.results} == runs, "all results")
    wait_for(lambda: broker.unacknowledged() == 0, "the messages to be acknowledged")
    assert refused(broker) == {"evalsha"}
    # Redis names the user from 7.2 on.
    assert "no permissions to run the 'evalsha' command" in agent.log
    assert agent.stop() == 0


@pytest.mark.parametrize("words", ["EVAL return(1) 0", f"EVALSHA {'0' * 40} 0", "SCRIPT LOAD return(1)"])
def test_a_region_may_run_no_script(words: str, broker: Broker) -> None:
    with (
        redis.Redis.from_url(f"unix://eu:{URL_PASSWORD}@{broker.socket}") as client,
        pytest.raises(redis.exceptions.NoPermissionError),
    ):
        command(client, *words.split())
