"""Tests that somebody asks for now, and who waits for their end."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import timedelta
from threading import Timer
from typing import Any

import pytest
from django.db import connection

from backend.api.tests.v1.calling import Program, problem_of
from backend.api.tests.v1.world import World
from backend.api.v1 import waiting
from backend.fleet.models import Region
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun
from backend.runs.tests.factories import NOW, make_pending, make_region
from backend.runs.tests.results import FAILED, line_of, page
from workers.measurement import timing

pytestmark = pytest.mark.django_db


def test_a_test_is_accepted_and_followed_until_it_is_done(program: Program, world: World) -> None:
    monitor = world.monitor("page")
    started = program.post(f"monitors/{monitor.public_id}/tests", {"regions": ["eu"]})
    assert started.status_code == 202
    (run,) = started.json()["runs"]
    assert (run["state"], run["queue_place"], started.json()["done"]) == ("queued", 1, False)
    place = started.headers["Location"]
    assert place == f"/api/v1/tests?run={run['id']}"
    pending = PendingRun.objects.get(run_id=run["id"])
    ingest(world.region, [line_of(pending, page())], now=NOW)
    ended = program.get(place).json()
    assert (ended["done"], ended["runs"][0]["state"]) == (True, "done")
    assert program.get(f"runs/{ended['runs'][0]['id']}").json()["trigger"] == "manual"


def test_the_phases_of_a_probe_are_told_while_it_looks_deeper(program: Program, world: World) -> None:
    early = timing.Phases(connect_us=12_000, wait_us=39_500, download_us=0, ttfb_us=51_500, total_us=51_500)
    at = NOW - timedelta(seconds=7)
    pending = make_pending(world.fleet, world.monitor("probe"), scheduled_for=at, stage="loading", phases=asdict(early))
    place = f"tests?run={pending.run_id}"
    told = program.get(place).json()["runs"][0]
    assert (told["state"], told["phases"]["ttfb_ms"], told["phases"]["dns_ms"]) == ("loading", 51.5, None)
    ingest(world.region, [line_of(pending, FAILED)], now=NOW)
    told = program.get(place).json()["runs"][0]
    assert (told["state"], told["phases"]) == ("failed", None)


def test_a_test_without_regions_is_made_wherever_an_agent_has_joined(program: Program, world: World) -> None:
    make_region("us", world.member.organisation)
    make_region("ap", world.member.organisation, joined_at=None)
    started = program.post(f"monitors/{world.monitor('probe').public_id}/tests")
    assert {run["region"] for run in started.json()["runs"]} == {"eu", "us"}


def test_where_no_agent_has_joined_a_test_says_so(program: Program, world: World) -> None:
    Region.objects.update(joined_at=None)
    found = problem_of(program.post(f"monitors/{world.monitor('probe').public_id}/tests"))
    assert found["errors"] == [
        {"pointer": "#/regions", "detail": "No agent has joined any region yet: there is nowhere to measure from."}
    ]


def test_a_url_is_tested_without_registering_it(program: Program, world: World) -> None:
    started = program.post("tests", {"url": "https://pr-7.example/", "regions": ["eu"]}).json()
    assert {run["kind"] for run in started["runs"]} == {"probe", "page"}
    assert program.get(f"sites/{started['site_id']}").json()["status"] == "draft"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"regions": ["moon"]}, "#/regions"),
        ({"regions": "eu"}, "#/regions"),
        ({"regions": ["x"]}, "#/regions/0"),
        ({"region": ["eu"]}, "#/region"),
    ],
)
def test_a_test_from_nowhere_is_refused(program: Program, world: World, body: dict[str, object], pointer: str) -> None:
    found = problem_of(program.post(f"monitors/{world.monitor('page').public_id}/tests", body))
    assert [fault["pointer"] for fault in found["errors"]] == [pointer]


def test_too_many_tests_at_once_are_told_to_wait(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.runs.actions.MAX_URGENT", 1)
    path = f"monitors/{world.monitor('page').public_id}/tests"
    assert program.post(path).status_code == 202
    found = program.post(path)
    assert problem_of(found)["type"] == "/api/v1/problems/limit-reached"
    assert found.headers["Retry-After"] == "30"


def test_tests_have_a_limit_of_their_own(program: Program, world: World) -> None:
    answer = program.post(f"monitors/{world.monitor('page').public_id}/tests")
    assert answer.headers["RateLimit-Policy"] == '"default";q=600;w=60, "tests";q=240;w=3600'
    assert '"tests";r=239;t=' in answer.headers["RateLimit"]


@pytest.mark.parametrize("query", ["", "run=", "run=x", "wait=5", "run=x&wait=61"])
def test_a_question_after_no_run_is_refused(program: Program, query: str) -> None:
    assert problem_of(program.get(f"tests?{query}"))["status"] == 422


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["runs/{}", "tests?run={}"])
def test_who_waits_is_told_as_soon_as_it_has_ended(program: Program, world: World, what: str) -> None:
    pending = world.pending

    def end() -> None:
        try:
            ingest(world.region, [line_of(pending)], now=NOW)
        finally:
            connection.close()

    path = what.format(pending.run_id)
    timer = Timer(0.4, end)
    timer.start()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(_asked, program, path + ("&" if "?" in path else "?") + "wait=60").result(timeout=50)
    timer.join()
    told = answer.json()
    assert (told.get("state") or told["runs"][0]["state"]) == "done"


def _asked(program: Program, path: str) -> Any:
    try:
        return program.get(path)
    finally:
        connection.close()


def test_who_waits_in_vain_is_told_how_it_is(program: Program, world: World) -> None:
    assert program.get(f"runs/{world.pending.run_id}?wait=1").json()["state"] == "queued"


def test_when_many_wait_the_next_is_answered_at_once(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_PAUSE_S", 1_000_000)
    taken = [waiting._WAITING.acquire(blocking=False) for _ in range(10)]
    try:
        assert program.get(f"runs/{world.pending.run_id}?wait=60").json()["state"] == "queued"
    finally:
        for one in taken:
            if one:
                waiting._WAITING.release()
