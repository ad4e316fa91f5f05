"""The whole road of a run: broker, agent processes, spool, service. Instruments are fakes, everything else is real."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from workers.measurement import routes
from workers.measurement.messages import Failed, Kind, Measured, Missed, ProgressStage
from workers.measurement.pair import PairTarget
from workers.measurement.routes import Lane, PictureKind
from workers.tests.fakes import EARLY, PICTURES
from workers.tests.rig import Agent, Broker, due_request
from workers.tests.site import running_site
from workers.tests.stub_service import StubService
from workers.tests.waiting import undisturbed, wait_for


def test_a_probe_goes_from_the_queue_to_the_service(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    run_id = broker.publish(due_request())
    [outcome] = wait_for(lambda: service.arrived(run_id), "the result")
    assert isinstance(outcome, Measured)
    wait_for(lambda: broker.unacknowledged() == 0, "the message to be acknowledged")
    wait_for(lambda: not list((agent.spool_dir / "results").iterdir()), "the spool to be empty")


def test_a_page_brings_its_pictures_before_its_result(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    run_id = broker.publish(due_request(kind=Kind.PAGE))
    wait_for(lambda: service.arrived(run_id), "the result")
    paths = {kind: routes.PICTURE_PATH.format(kind=kind, run_id=run_id) for kind in PictureKind}
    assert {kind: service.pictures[path][1] for kind, path in paths.items()} == PICTURES
    posts = [path for path in service.seen if "heartbeat" not in path]
    assert posts[-1].endswith("/results")
    assert set(posts[-3:-1]) == set(paths.values())


def test_a_person_who_waits_sees_progress_and_the_schedule_does_not_stand_in_the_way(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.settings["FIRSTBYTE_TEST_HURRIED_WAIT_S"] = "1"
    agent.start()
    for _ in range(3):
        broker.publish(due_request("/sleep/600", kind=Kind.PAGE))
    wait_for(agent.held, "the schedule's page to load")
    run_id = broker.publish(due_request(kind=Kind.PAGE, urgent=True))
    wait_for(lambda: service.arrived(run_id), "the urgent result")
    wait_for(lambda: len(service.progress) == 2, "its progress")
    assert [told.stage for told in service.progress] == [ProgressStage.STARTING, ProgressStage.CONNECTING]
    assert {told.run_id for told in service.progress} == {run_id}
    assert len(service.results) == 1


def test_a_person_who_waits_is_told_the_phases_before_a_deep_probe_has_ended(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    broker.publish(due_request("/deeper", kind=Kind.PROBE, urgent=True))
    wait_for(lambda: len(service.progress) == 3, "its progress")
    early = service.progress[-1]
    assert [told.phases for told in service.progress] == [None, None, EARLY.phases]
    assert (early.tls_round_trips, early.rtt_us) == (EARLY.tls_round_trips, EARLY.rtt_us)
    assert (early.connections, early.planned) == (EARLY.connections, EARLY.planned)
    assert [told.requests for told in service.progress] == [None, None, None]


@pytest.mark.parametrize("kind", [Kind.PROBE, Kind.PAGE])
def test_a_gates_run_does_not_wait_behind_the_schedule(
    agent: Agent, broker: Broker, service: StubService, kind: Kind
) -> None:
    agent.settings["FIRSTBYTE_TEST_LONGEST_WAIT_S"] = "1"
    agent.start()
    for _ in range(3):
        broker.publish(due_request("/sleep/600", kind=kind))
    wait_for(agent.held, "one of the schedule to begin")
    run_id = broker.publish(due_request(kind=kind), lane=Lane.GATE)
    wait_for(lambda: service.arrived(run_id), "the gate's result")
    assert len(service.results) == 1
    assert service.progress == []


def test_what_expired_in_the_queue_is_missed_and_not_measured(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    run_id = broker.publish(due_request(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    agent.start()
    [outcome] = wait_for(lambda: service.arrived(run_id), "the result")
    assert isinstance(outcome, Missed)
    assert outcome.reason == "late"
    assert agent.executions() == []


def test_a_fault_of_ours_is_a_result_with_a_reference(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    run_id = broker.publish(due_request("/raise"))
    [outcome] = wait_for(lambda: service.arrived(run_id), "the result")
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind == "internal_error"
    assert outcome.failure.detail.rpartition(" ")[2] in agent.log


def test_a_message_that_cannot_be_read_is_dropped_and_the_next_is_measured(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    for rubbish in ("no json", '{"kind":"run_request","version":99,"body":{}}', {"a": 1}, None, 7, "\ud800"):
        broker.publish(due_request(), envelope=rubbish if rubbish is not None else [])
    run_id = broker.publish(due_request())
    wait_for(lambda: service.arrived(run_id), "the result")
    wait_for(lambda: broker.unacknowledged() == 0, "all messages to be acknowledged")
    assert len(agent.executions()) == 1
    assert agent.log.count("cannot be read") == 6


def test_a_message_that_comes_twice_is_measured_once(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    request = due_request("/sleep/1")
    broker.publish(request)
    broker.publish(request)
    wait_for(lambda: service.arrived(request.run_id), "the result")
    broker.publish(request)
    last = broker.publish(due_request())
    wait_for(lambda: service.arrived(last), "the run after it")
    assert agent.executions().count(str(request.run_id)) == 1


def test_results_wait_on_disk_while_the_service_is_down_and_arrive_when_it_is_back(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    service.status = 503
    agent.start()
    runs = {broker.publish(due_request()) for _ in range(12)}
    wait_for(lambda: len(list((agent.spool_dir / "results").glob("*.json"))) == 12, "all results on disk")
    wait_for(lambda: broker.unacknowledged() == 0, "the broker to be done with them")
    service.status = None
    wait_for(lambda: {result.run_id for result in service.results} == runs, "all results at the service")
    assert len(service.results) == 12


def test_a_killed_process_is_replaced_and_its_run_is_no_longer_named(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    kept = due_request("/sleep/600", kind=Kind.PAGE)
    broker.publish(kept)
    killed = due_request("/sleep/600")
    broker.publish(killed)
    page_process = agent.process_of(kept.run_id)
    os.kill(agent.process_of(killed.run_id), signal.SIGKILL)
    wait_for(lambda: agent.held() == [str(kept.run_id)], "the dead run to be forgotten")
    after = broker.publish(due_request())
    wait_for(lambda: service.arrived(after), "a run after the death")
    assert Path(f"/proc/{page_process}").exists()
    assert service.arrived(killed.run_id) == []


def test_heartbeats_name_the_runs_of_all_processes(agent: Agent, broker: Broker, service: StubService) -> None:
    requests = [due_request("/sleep/600"), due_request("/sleep/600", kind=Kind.PAGE)]
    for request in requests:
        broker.publish(request)
    agent.start()
    runs = {request.run_id for request in requests}
    wait_for(lambda: any(set(beat.holding) == runs for beat in service.heartbeats), "a heartbeat with both")
    assert service.heartbeats[-1].agent == "eu-1"
    # The first heartbeat does not wait for the browser to be asked for its version; the next one has it.
    wait_for(lambda: service.heartbeats[-1].browser_version == "FakeChrome/1", "the browser's version")


def test_a_run_that_the_service_took_away_is_dropped_when_it_ends(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    taken = due_request("/until/told")
    service.lost = (taken.run_id,)
    agent.settings["FIRSTBYTE_TEST_HEARTBEAT_INTERVAL_S"] = "0.2"
    broker.publish(taken)
    agent.start()
    # The next heartbeat comes once the answer to the one before was read.
    wait_for(lambda: any(taken.run_id in beat.holding for beat in service.heartbeats[:-1]), "the agent to be told")
    (agent.directory / "told").touch()
    wait_for(lambda: "no longer ours" in agent.log, "the result to be dropped")
    other = broker.publish(due_request())
    wait_for(lambda: service.arrived(other), "another result")
    assert service.arrived(taken.run_id) == []


def test_a_restarted_broker_is_found_again_and_nothing_is_lost(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    before = broker.publish(due_request())
    wait_for(lambda: service.arrived(before), "a first result")
    during = due_request("/until/back")
    broker.publish(during)
    agent.process_of(during.run_id)
    broker.kill()
    broker.start()
    (agent.directory / "back").touch()
    after = broker.publish(due_request())
    wait_for(lambda: service.arrived(after), "a result after the restart")
    wait_for(lambda: service.arrived(during.run_id), "the result of the run that was in flight")
    assert agent.executions().count(str(during.run_id)) == 1


def test_a_page_that_ended_while_the_broker_was_away_keeps_no_other_waiting(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.start()
    during = broker.publish(due_request("/until/go", kind=Kind.PAGE))
    agent.process_of(during)
    broker.kill()
    (agent.directory / "go").touch()
    wait_for(lambda: service.arrived(during), "the page's result")
    wait_for(lambda: "Couldn't ack" in agent.log, "its message to be kept by a broker that is away")
    broker.start()
    after = broker.publish(due_request(kind=Kind.PAGE))
    wait_for(lambda: service.arrived(after), "a page after the restart")


def test_sigterm_lets_runs_end_delivers_them_and_leaves_nothing_behind(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.settings["FIRSTBYTE_TEST_FINISH_S"] = "60"
    agent.start()
    request = due_request("/sleep/1")
    broker.publish(request)
    agent.process_of(request.run_id)
    processes = [agent.pid, *agent.children()]
    waiting = due_request(kind=Kind.PROBE)
    assert agent.stop() == 0
    assert len(service.arrived(request.run_id)) == 1
    assert broker.unacknowledged() == 0
    broker.publish(waiting)
    assert broker.waiting("probe") == 1
    assert not [pid for pid in processes if Path(f"/proc/{pid}").exists()]


def test_a_run_that_does_not_end_after_sigterm_goes_back_to_the_queue(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.settings["FIRSTBYTE_TEST_FINISH_S"] = "1"
    agent.start()
    request = due_request("/sleep/600")
    broker.publish(request)
    agent.process_of(request.run_id)
    agent.stop()
    assert broker.unacknowledged() == 0
    assert broker.waiting("probe") == 1
    assert service.arrived(request.run_id) == []


def test_children_end_when_their_parent_is_killed(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    run_id = broker.publish(due_request())
    wait_for(lambda: service.arrived(run_id), "the agent to work")
    children = wait_for(lambda: len(agent.children()) == 4 and agent.children(), "all children") or []
    agent.kill()
    wait_for(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()], "the children to end")


def test_results_on_disk_survive_a_kill_of_everything(agent: Agent, broker: Broker, service: StubService) -> None:
    service.status = 503
    agent.start()
    run_id = broker.publish(due_request())
    wait_for(lambda: list((agent.spool_dir / "results").glob("*.json")), "the result on disk")
    for pid in [*agent.children(), agent.pid]:
        os.kill(pid, signal.SIGKILL)
    agent.kill()
    service.status = None
    agent.start()
    wait_for(lambda: service.arrived(run_id), "the result after a restart")


def test_a_run_that_never_ends_costs_its_process_and_not_the_region(
    agent: Agent, broker: Broker, service: StubService
) -> None:
    agent.settings["FIRSTBYTE_TEST_GRACE_S"] = "1"
    agent.start()
    stuck = due_request("/sleep/600", timeout_us=500_000)
    broker.publish(stuck)
    process = agent.process_of(stuck.run_id)
    wait_for(lambda: not Path(f"/proc/{process}").exists(), "the stuck process to be killed")
    run_id = broker.publish(due_request())
    wait_for(lambda: service.arrived(run_id), "a run in its place")


def test_the_courier_is_replaced_too(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    before = broker.publish(due_request())
    wait_for(lambda: service.arrived(before), "a first result")
    # The first that was begun: the numbers of processes begin anew now and then.
    os.kill(agent.children()[0], signal.SIGKILL)
    after = broker.publish(due_request())
    wait_for(lambda: service.arrived(after), "a result by its successor")


def test_an_agent_waits_for_a_broker_that_is_not_there_yet(agent: Agent, broker: Broker, service: StubService) -> None:
    broker.kill()
    agent.start()
    wait_for(lambda: service.heartbeats, "a heartbeat without a broker")
    broker.start()
    run_id = broker.publish(due_request())
    wait_for(lambda: service.arrived(run_id), "the result")


def test_an_agent_ends_while_its_broker_is_away(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    request = due_request("/sleep/600")
    broker.publish(request)
    agent.process_of(request.run_id)
    broker.kill()
    assert agent.stop() == 0
    assert "their leases lapse" in agent.log
    assert "Traceback" not in agent.log, agent.log
    broker.start()


def test_an_agent_whose_broker_never_answers_ends_at_once(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.settings["FIRSTBYTE_TEST_FINISH_S"] = "30"
    broker.kill()
    with broker.silent() as silent:
        agent.start()
        wait_for(lambda: silent.connections == 3, "all three that measure to wait for its answer")
        for child in agent.children():
            os.kill(child, signal.SIGTERM)
        assert agent.stop() == 0
    assert not [word for word in ("handed back", "Traceback", "CRITICAL") if word in agent.log], agent.log


def test_an_agent_whose_broker_fell_silent_ends_at_once(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.settings["FIRSTBYTE_TEST_FINISH_S"] = "30"
    agent.start()
    wait_for(lambda: agent.log.count("ready.") == 3, "all three that measure to wait for work")
    broker.kill()
    with broker.silent() as silent:
        wait_for(lambda: silent.connections == 3, "all three to ask again")
        assert agent.stop() == 0
    assert not [word for word in ("handed back", "Traceback", "CRITICAL") if word in agent.log], agent.log


def test_a_second_agent_in_the_same_spool_is_refused(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.settings["FIRSTBYTE_TEST_PATIENCE_S"] = "1"
    agent.start()
    wait_for(lambda: service.heartbeats, "the first to work")
    second = Agent(broker=broker, service=service, directory=agent.directory, settings=agent.settings)
    second.start()
    assert second.wait() == 1
    assert "is used by another agent" in agent.log
    assert agent.alive


def test_a_full_set_of_probes_is_in_flight_at_once(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.start()
    runs = {broker.publish(due_request("/until/all")) for _ in range(20)}
    wait_for(lambda: len(agent.held()) == 20, "20 runs at once")
    (agent.directory / "all").touch()
    wait_for(lambda: {result.run_id for result in service.results} == runs, "all results")


def test_a_real_agent_measures_a_real_site(agent: Agent, broker: Broker, service: StubService) -> None:
    agent.command = ("workers.cli", "agent")
    with running_site() as site:
        agent.settings |= {"FIRSTBYTE_PRIVATE_TARGETS": "127.0.0.0/8", "FIRSTBYTE_EXTRA_PORTS": site.rpartition(":")[2]}
        agent.start()
        other = PairTarget(url=f"{site}/moved")

        @undisturbed
        def each_kind_is_measured() -> None:
            """Where the machine stood still an agent says so, and measures nothing."""
            requests = [replace(due_request(kind=kind), url=f"{site}/", other=other) for kind in Kind]
            for request in requests:
                broker.publish(request)
            outcomes = [wait_for(lambda: service.arrived(one.run_id), "its result")[0] for one in requests]  # noqa: B023  # called at once
            assert [type(outcome) for outcome in outcomes] == [Measured] * 3, (outcomes, agent.log)

        each_kind_is_measured()
        assert len(service.results) == len({result.run_id for result in service.results})
        assert agent.stop() == 0


def test_what_libraries_tell_developers_is_not_logged_to_operators() -> None:
    code = (
        "import logging, warnings; from workers.agent import log_as; log_as('page'); logging.captureWarnings(True); "
        "warnings.warn('of an option of Celery'); logging.warning('the broker is away')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "the broker is away" in ended.stderr
    assert "Celery" not in ended.stderr
