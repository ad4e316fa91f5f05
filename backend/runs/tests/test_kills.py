"""Processes that die without a word: no slot is lost or doubled, no result is lost."""

import functools
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings

from backend import testing
from backend.runs.models import PendingRun, Run
from backend.runs.tests.plant import assert_every_slot_exists_once, pass_time, running_plant
from backend.runs.tests.processes import RedisServer, heeds_sigterm, managed, start
from backend.testing import START_S, wait_until


@pytest.fixture
def redis_server(tmp_path: Path, settings: Settings) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    settings.REDIS_URL = server.url
    yield server
    server.kill()


@pytest.fixture
def own_postgres(django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A cluster that this test alone uses and may kill: its folder."""
    with testing.postgres() as environment, django_db_blocker.unblock():
        connection.close()
        before = dict(connection.settings_dict)
        connection.settings_dict.update(HOST=environment["FIRSTBYTE_DB_HOST"], NAME=environment["FIRSTBYTE_DB_NAME"])
        try:
            call_command("migrate", verbosity=0)
            yield environment["FIRSTBYTE_DB_HOST"]
        finally:
            connection.close()
            connection.settings_dict.update(before)


def _wait_for_runs(count: int) -> None:
    wait_until(lambda: Run.objects.filter(outcome="measured").count() >= count, f"{count} measured runs")


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_that_are_killed_at_random_lose_and_double_nothing(redis_server: RedisServer) -> None:
    random = Random(5)
    with running_plant() as plant, managed("sweeper"):
        schedulers = [start("scheduler"), start("scheduler")]
        _wait_for_runs(20)
        for _ in range(5):
            pass_time(random.uniform(0.3, 1.2))
            victim = random.randrange(2)
            schedulers[victim].kill()
            schedulers[victim].wait()
            schedulers[victim] = start("scheduler")
        seen = Run.objects.count()
        _wait_for_runs(max(seen + 20, 101))
        for scheduler in schedulers:
            wait_until(functools.partial(heeds_sigterm, scheduler.pid), "a scheduler to be started")
            scheduler.send_signal(signal.SIGTERM)
            assert scheduler.wait(timeout=START_S) == 0, "SIGTERM ends a scheduler in good order"
        plant.stop_agents()
        counts = assert_every_slot_exists_once(plant)
    assert counts["measured"] > 100


@pytest.mark.django_db(transaction=True)
def test_what_was_claimed_by_a_scheduler_killed_before_it_could_publish_is_published_by_the_next(
    redis_server: RedisServer,
) -> None:
    with running_plant() as plant:
        redis_server.pause()
        with managed("scheduler") as first:
            wait_until(PendingRun.objects.exists, "a claim")
            first.kill()
            first.wait()
        assert not PendingRun.objects.exclude(published_at=None).exists()
        claimed = set(PendingRun.objects.values_list("run_id", flat=True))
        PendingRun.objects.update(expires_at=plant.since + timedelta(days=365))
        redis_server.resume()
        with managed("scheduler"):
            wait_until(lambda: Run.objects.filter(run_id__in=claimed).count() == len(claimed), "the claimed runs")
        plant.stop_agents()
        assert_every_slot_exists_once(plant)


@pytest.mark.django_db(transaction=True)
def test_a_redis_that_is_killed_and_comes_back_loses_and_doubles_nothing(redis_server: RedisServer) -> None:
    with running_plant() as plant, managed("scheduler"), managed("sweeper"):
        _wait_for_runs(20)
        redis_server.kill()
        pass_time(3)
        redis_server.start()
        seen = Run.objects.filter(outcome="measured").count()
        _wait_for_runs(seen + 40)
        plant.stop_agents()
        assert_every_slot_exists_once(plant)


@pytest.mark.django_db(transaction=True)
def test_a_redis_that_comes_back_empty_is_filled_again(redis_server: RedisServer) -> None:
    with running_plant() as plant, managed("scheduler"), managed("sweeper"):
        _wait_for_runs(20)
        redis_server.kill()
        redis_server.forget()
        redis_server.start()
        seen = Run.objects.filter(outcome="measured").count()
        _wait_for_runs(seen + 40)
        plant.stop_agents()
        assert_every_slot_exists_once(plant)


def test_a_postgresql_that_is_killed_and_comes_back_loses_and_doubles_nothing(
    own_postgres: str, redis_server: RedisServer
) -> None:
    with running_plant() as plant, managed("scheduler") as scheduler, managed("sweeper") as sweeper:
        _wait_for_runs(20)
        for _ in range(2):
            connection.close()
            testing.crash_postgres(own_postgres)
            seen = Run.objects.filter(outcome="measured").count()
            _wait_for_runs(seen + 40)
        assert scheduler.poll() is None
        assert sweeper.poll() is None
        plant.stop_agents()
        measured = {request.run_id for agent in plant.agents for request in agent.seen}
        assert_every_slot_exists_once(plant)
        stored = set(Run.objects.values_list("run_id", flat=True))
        assert measured - stored == set(), "no result is lost"
