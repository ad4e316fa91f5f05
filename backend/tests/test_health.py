import re
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend import health
from backend.alerts.models import Watch
from backend.alerts.tests.world import put_run
from backend.fleet.models import Region
from backend.runs.models import Schedule
from backend.runs.tests.factories import (
    make_agent,
    make_fleet,
    make_monitors,
    make_pending,
    make_region,
    schedule,
)
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db


def ask(client: Client, path: str) -> tuple[int, dict[str, Any]]:
    response = client.get(path)
    return response.status_code, response.json()


def broken() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing_of_the_kind")
    return "ok"


def test_a_live_process_asks_nobody(client: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    monkeypatch.setattr(health, "_ask_database", broken)
    assert client.get("/livez").content == b"ok\n"


def test_ready_means_database_migrations_and_broker(client: Client, broker: str) -> None:
    assert ask(client, "/readyz") == (200, {"status": "ok", "database": "ok", "migrations": "ok", "broker": "ok"})


def test_without_a_broker_it_is_not_ready_and_says_no_more(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    status, answer = ask(client, "/readyz")
    assert (status, answer["broker"], answer["database"]) == (503, "unreachable", "ok")
    assert "nowhere" not in str(answer)


@pytest.mark.django_db(transaction=True)
def test_without_a_database_it_is_not_ready(client: Client, broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ask_database", broken)
    status, answer = ask(client, "/readyz")
    assert (status, answer["database"], answer["migrations"]) == (503, "unreachable", "unknown")


def test_a_migration_that_is_missing_is_not_ready(client: Client, broker: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'fleet'")
    assert ask(client, "/readyz")[1]["migrations"] == "pending"


def test_the_summary_counts_regions_and_knows_the_pace_of_scheduler_and_judge(client: Client, broker: str) -> None:
    fleet = make_fleet("eu", "us")
    make_agent(fleet.region, seen_at=timezone.now())
    assert ask(client, "/healthz") == (
        200,
        {
            "status": "ok",
            "database": "ok",
            "migrations": "ok",
            "broker": "ok",
            "database_disk": "ok",
            "broker_memory": "ok",
            "scheduler": "ok",
            "judge": "ok",
            "regions": "1 of 2 online",
        },
    )
    schedule(fleet, make_monitors(fleet))
    Schedule.objects.update(next_at=timezone.now() - timedelta(minutes=5))
    status, answer = ask(client, "/healthz")
    assert (status, answer["status"], answer["scheduler"]) == (200, "degraded", "behind")
    Schedule.objects.update(next_at=timezone.now())
    Watch.objects.create(monitor=Monitor.objects.get(), due_at=timezone.now() - timedelta(minutes=5))
    status, answer = ask(client, "/healthz")
    assert (status, answer["status"], answer["judge"]) == (200, "degraded", "behind")


def test_a_database_whose_disk_is_full_is_told_although_it_can_be_read(
    client: Client, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_ROWS", "DO $$ BEGIN RAISE EXCEPTION 'No space' USING ERRCODE = 'disk_full'; END $$")
    status, answer = ask(client, "/healthz")
    assert (status, answer["status"], answer["database"], answer["database_disk"]) == (503, "degraded", "ok", "full")
    assert client.get("/readyz").status_code == 200


def test_whether_the_disk_is_full_is_asked_by_writing_to_it() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('work_mem', %s, true)", [health._MEMORY])
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {health._ROWS}")
        plan = str(cursor.fetchall())
    assert re.search(r"temp read=\d+ written=\d\d\d", plan), plan


def test_the_summary_tells_of_a_broker_that_is_nearly_full_and_of_a_region_that_filled_it(
    client: Client, broker: str
) -> None:
    make_region("eu")
    Region.objects.update(emptied_at=timezone.now())
    with redis.Redis.from_url(broker) as owner:
        used = owner.info("memory")["used_memory"]
        owner.config_set("maxmemory", used * 10 // 8)
        status, answer = ask(client, "/healthz")
        assert client.get("/readyz").status_code == 200
        assert "firstbyte_broker_memory_ratio 0." in client.get("/metrics").content.decode()
        owner.config_set("maxmemory", 0)
    assert (status, answer["status"], answer["broker_memory"]) == (200, "degraded", "nearly full")
    assert answer["regions"] == "0 of 1 online, 1 filled the broker"


@pytest.mark.usefixtures("standing_clock")
def test_figures_are_read_when_they_are_asked_for(client: Client, broker: str) -> None:
    fleet = make_fleet("eu")
    make_agent(fleet.region, seen_at=timezone.now() - timedelta(seconds=10))
    make_region("us")
    make_pending(fleet, make_monitors(fleet)[0], published_at=None, agent="")
    text = client.get("/metrics").content.decode()
    for line in (
        "firstbyte_broker_up 1.0",
        "firstbyte_broker_memory_ratio 0.0",
        'firstbyte_agents_alive{region="eu"} 1.0',
        'firstbyte_agents_alive{region="us"} 0.0',
        'firstbyte_queue_length{kind="probe",lane="schedule",region="eu"} 0.0',
        "firstbyte_runs_unpublished 1.0",
        "firstbyte_runs_running 0.0",
        "firstbyte_judge_behind_seconds 0.0",
        "firstbyte_incidents_open 0.0",
        "firstbyte_notices_waiting 0.0",
    ):
        assert line in text, text
    assert 'firstbyte_agent_last_seen_seconds{region="eu"} 10.0' in text


def test_figures_tell_how_runs_ended_and_how_many_pages_were_disturbed(client: Client) -> None:
    fleet = make_fleet("eu")
    (monitor,), (probed,) = make_monitors(fleet, kind="page"), make_monitors(fleet)
    put_run(probed, fleet.region, timezone.now() - timedelta(minutes=1), ".", contended=True)
    for seconds, (letter, contended) in enumerate(((".", True), (".", False), (".", None), ("m", None))):
        put_run(monitor, fleet.region, timezone.now() - timedelta(seconds=seconds), letter, contended=contended)
    put_run(monitor, fleet.region, timezone.now() - timedelta(minutes=6), ".", contended=True)
    text = client.get("/metrics").content.decode()
    assert 'firstbyte_runs_ended_recently{outcome="measured",reason=""} 4.0' in text
    assert 'firstbyte_runs_ended_recently{outcome="missed",reason="no_agent"} 1.0' in text
    assert "firstbyte_pages_contended_recently 1.0" in text


def test_figures_without_a_broker_say_that_it_is_away(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    make_region("eu")
    text = client.get("/metrics").content.decode()
    assert "firstbyte_broker_up 0.0" in text
    assert "firstbyte_queue_length{" not in text
    assert "firstbyte_broker_memory_ratio 0" not in text


def test_beyond_loopback_figures_want_a_token(client: Client, broker: str, settings: Settings) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"base_url": "https://firstbyte.example"})
    assert client.get("/metrics").status_code == 403
    settings.METRICS_TOKEN = "s3cret"
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer ümlaut"}).status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer s3cret"}).status_code == 200
