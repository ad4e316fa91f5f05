"""Deploys and gates by the API: what a pipeline does."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.permissions import Scope
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.cast import Member
from backend.gates import actions
from backend.gates.addresses import Address
from backend.gates.models import Gate, Status
from backend.gates.questions import Baseline
from backend.gates.tests.world import World, failing, make_world
from backend.runs.actions import register_site
from backend.runs.tests.results import page
from backend.sites.models import Deploy

pytestmark = pytest.mark.django_db

RULES = [{"metric": "ttfb", "max_change_pct": 10, "min_change_ms": 5, "level": "fail"}]


@pytest.fixture
def world(alice: Member) -> World:
    return make_world(alice)


@pytest.fixture
def program(alice: Member) -> Program:
    return Program(make_token(alice, Scope.GATES))


def begin(program: Program, **changes: object) -> dict[str, Any]:
    answer = program.post("gates", {"site": "Shop", "rules": RULES, **changes})
    assert answer.status_code == 202, answer.content
    begun: dict[str, Any] = answer.json()
    return begun


def test_a_pipeline_asks_waits_and_learns_the_verdict(program: Program, world: World) -> None:
    world.history()
    answer = program.post(
        "gates",
        {
            "site": "shop",
            "deploy": {"id": "r1234", "version": "9f3c2e1", "url": "https://ci.example/1234"},
            "baseline": {"mode": "history", "window": "24h", "min_samples": 60},
            "runs": {"per_region": 3, "max_per_region": 12, "regions": ["eu", "us"], "discard_first": 1},
            "rules": [*RULES, {"metric": "tls", "max_change_pct": 25, "min_change_ms": 10, "level": "warn"}],
            "confidence": 0.95,
            "on_inconclusive": "pass",
            "timeout_s": 600,
            "callback_url": None,
        },
    )
    begun = answer.json()
    assert (answer.status_code, begun["status"], begun["verdict"], begun["exit_code"]) == (202, "queued", None, None)
    assert answer.headers["Location"] == f"/api/v1/gates/{begun['id']}"
    assert begun["poll_after_s"] > 0
    world.play(Gate.objects.get())
    told = program.get(f"gates/{begun['id']}?wait=60").json()
    assert (told["status"], told["verdict"], told["exit_code"], told["conclusion"]) == ("done", "pass", 0, "success")
    rule = told["rules"][0]
    assert (rule["metric"], rule["verdict"], rule["level"], rule["limit_pct"]) == ("ttfb_ms", "pass", "fail", 10)
    assert rule["change"]["ci_pct"][0] < rule["change"]["pct"] < rule["change"]["ci_pct"][1] < 10
    assert rule["change"]["method"] == "hodges-lehmann-log/stratified/pocock-3"
    assert rule["baseline"]["n"] == 80
    assert rule["baseline"]["median_ms"] == pytest.approx(200, rel=0.05)
    assert {region["region"] for region in rule["regions"]} == {"eu", "us"}
    assert told["runs"]["completed"] == told["runs"]["planned"] == 8
    assert told["deploy"]["external_id"] == "r1234"
    assert told["markdown_report"].startswith("### ✅ pass: Shop, 9f3c2e1")
    assert told["url"].endswith(f"/gates/{begun['id']}/")


def test_a_failed_gate_names_what_grew(program: Program, world: World) -> None:
    world.history()
    begun = begin(program)
    world.play(Gate.objects.get(), lambda run: 1.5)
    told = program.get(f"gates/{begun['id']}").json()
    assert (told["verdict"], told["exit_code"], told["conclusion"]) == ("fail", 1, "failure")
    (rule,) = told["rules"]
    assert rule["grown"][0]["phase"] == "wait"
    assert "What grew: waiting for the server" in told["summary"]
    assert "❌ fail" in told["markdown_report"]


def test_two_addresses_are_compared_in_turns(program: Program, world: World) -> None:
    baseline = {"mode": "url", "url": "https://old.example", "urls": [{"monitor": "probe", "url": "old.example/x"}]}
    begun = begin(program, baseline=baseline, deploy={"version": "v7"}, release={"url": "https://pr-7.example"})
    assert begun["baseline_mode"] == "url"
    assert begun["addresses"] == [
        {
            "monitor": str(world.monitor().public_id),
            "kind": "probe",
            "url": "https://pr-7.example/",
            "baseline_url": "https://old.example/x",
        }
    ]
    assert (begun["deploy"], begun["release"]) == (None, "v7")
    assert begun["baseline_from"] is None
    world.play(Gate.objects.get(), lambda run: 1.5 if run.url == "https://pr-7.example/" else 1.0)
    told = program.get(f"gates/{begun['id']}").json()
    assert (told["verdict"], told["exit_code"]) == ("fail", 1)
    (rule,) = told["rules"]
    assert rule["change"]["method"] == "hodges-lehmann-log/paired/pocock-3"
    assert rule["grown"][0]["phase"] == "wait"
    assert "measured in turns" in told["markdown_report"]


def test_asking_twice_with_one_key_begins_one_gate(program: Program, world: World) -> None:
    body = {"site": "Shop", "rules": RULES}
    first = program.post("gates", body, Idempotency_Key="r1234")
    again = program.post("gates", body, Idempotency_Key="r1234")
    assert first.json()["id"] == again.json()["id"]
    assert Gate.objects.count() == 1


@pytest.mark.parametrize(
    ("metric", "column", "level", "told_ms"),
    [("bytes", "bytes", 50_000, None), ("speed_index", "speed_index_us", 900_000, pytest.approx(900, rel=0.01))],
)
def test_what_is_told_in_milliseconds_is_a_time(
    program: Program, world: World, metric: str, column: str, level: int, told_ms: float | None
) -> None:
    """The Speed Index is one by another name."""
    world.history(kind="page", **{column: level})
    begun = begin(program, rules=[{"metric": metric, "max_change_pct": 10}], monitors=["page"])
    world.play(Gate.objects.get(), lambda run: page())
    (rule,) = program.get(f"gates/{begun['id']}").json()["rules"]
    assert rule["baseline"]["median_ms"] == told_ms
    assert rule["baseline"]["median"] == pytest.approx(level if told_ms is None else level / 1000, rel=0.01)


@pytest.mark.parametrize("name", ["Shop", "SHOP", "https://shop.example/", "shop.example", "https://shop.example"])
def test_a_site_is_found_by_name_and_address(program: Program, world: World, name: str) -> None:
    assert begin(program, site=name)["site"] == str(world.site.public_id)


def test_a_site_is_found_by_id_and_two_of_one_name_are_not_guessed(program: Program, world: World) -> None:
    assert begin(program, site=str(world.site.public_id))["site_name"] == "Shop"
    register_site(actor=None, organisation=world.member.organisation, name="shop", url="https://other.example/")
    found = problem_of(program.post("gates", {"site": "Shop", "rules": RULES}))
    assert found["errors"] == [{"pointer": "#/site", "detail": "Several sites are called so: give the id of one."}]


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"site": "nowhere"}, "#/site", "no site"),
        ({"rules": []}, "#/rules", "at least 1"),
        ({"rules": [{"metric": "ttfb"}]}, "#/rules/0/max_change_pct", "needs one limit"),
        ({"rules": [{"metric": "ttfb", "max_change_pct": 0}]}, "#/rules/0/max_change_pct", "greater than 0"),
        ({"rules": [{"metric": "ttfb", "max_value_ms": 0}]}, "#/rules/0/max_value_ms", "above 0"),
        (
            {"rules": [{"metric": "bytes", "max_value_ms": 2_500}]},
            "#/rules/0/max_value_ms",
            "give max_value, in its own",
        ),
        ({"rules": [{"metric": "cls", "max_value_ms": 0.1}]}, "#/rules/0/max_value_ms", "'cls' is no time"),
        (
            {"rules": [RULES[0], {"metric": "requests", "max_change_pct": 5, "min_change_ms": 2}]},
            "#/rules/1/min_change_ms",
            "'requests' is no time: give min_change",
        ),
        ({"rules": [{"metric": "tls", "max_value_ms": 9, "max_value": 8}]}, "#/rules/0/max_value_ms", "not both"),
        (
            {"rules": [RULES[0], {"metric": "lcp", "max_value_ms": 2_500, "min_change_ms": 50}]},
            "#/rules/1/min_change_ms",
            "belongs to max_change_pct",
        ),
        (
            {"rules": [{"metric": "bytes", "max_value": 90_000, "min_change": 500}]},
            "#/rules/0/min_change",
            "belongs to max_change_pct",
        ),
        ({"rules": [{"metric": "beauty", "max_change_pct": 5}]}, "#/rules/0/metric", "cannot be gated"),
        ({"rules": [{"metric": "cls", "max_change_pct": 5}]}, "#/rules/0/max_change_pct", "often 0"),
        ({"rules": [{"metric": "lcp", "max_change_pct": 5}], "monitors": ["probe"]}, "#/monitors", "None of these"),
        ({"pages": ["home"]}, "#/pages", "no monitor 'home'"),
        ({"pages": ["page"], "monitors": ["pigeon"]}, "#/monitors", "no monitor 'pigeon'"),
        ({"rules": [{**RULES[0], "monitors": ["pigeon"]}]}, "#/rules/0/monitors", "no monitor 'pigeon'"),
        ({"profile": "mobile-3g"}, "#/profile", "native"),
        ({"runs": {"regions": ["mars"]}}, "#/runs/regions", "no region 'mars'"),
        ({"runs": {"per_region": 12, "max_per_region": 6}}, "#/runs/max_per_region", "at least"),
        ({"runs": {"per_region": 1}}, "#/runs/per_region", "greater than or equal to 3"),
        ({"baseline": {"window": "soon"}}, "#/baseline/window", ""),
        ({"baseline": {"window": "5m"}}, "#/baseline/window", "1 hour to 30 days"),
        ({"baseline": {"mode": "gate"}}, "#/baseline/gate", "which gate"),
        ({"baseline": {"mode": "url"}}, "#/baseline/url", "which address"),
        ({"baseline": {"mode": "url", "url": "https://10.1.2.3"}}, "#/baseline/url", "inside your network"),
        (
            {"baseline": {"mode": "url", "urls": [{"monitor": "probe", "url": "http://127.0.0.1/"}]}},
            "#/baseline/urls/0/url",
            "inside your network",
        ),
        ({"release": {"url": "https://new.example"}}, "#/release/url", "the mode url"),
        ({"baseline": {"mode": "gate", "gate": str(uuid4())}}, "#/baseline/gate", "not one of this site"),
        ({"confidence": 1.5}, "#/confidence", ""),
        ({"timeout_s": 5}, "#/timeout_s", ""),
        ({"on_inconclusive": "shrug"}, "#/on_inconclusive", ""),
        ({"callback_url": "http://169.254.169.254/latest"}, "#/callback_url", "inside your network"),
        ({"callback_url": "ftp://ci.example/"}, "#/callback_url", "https://"),
        ({"deploy": {"url": "javascript:alert(1)"}}, "#/deploy/url", "https://"),
        ({"deploy": {"at": "2020-01-01T00:00:00Z"}}, "#/deploy/at", "30 days"),
        ({"deploy": {"at": "2020-01-01T00:00:00"}}, "#/deploy/at", "timezone"),
        ({"deploy": {"id": "two\nlines"}}, "#/deploy/id", "one line"),
        ({"colour": "red"}, "#/colour", ""),
    ],
)
def test_what_cannot_be_asked_is_a_problem_that_names_the_field(
    program: Program, world: World, changes: dict[str, object], pointer: str, words: str
) -> None:
    found = problem_of(program.post("gates", {"site": "Shop", "rules": RULES, **changes}))
    assert found["status"] == 422
    assert [fault["pointer"] for fault in found["errors"]] == [pointer]
    assert words in found["errors"][0]["detail"]
    assert not Gate.objects.exists()
    assert not Deploy.objects.exists()


def test_there_is_an_end_to_open_gates(program: Program, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_OPEN", 2)
    begin(program)
    begin(program)
    found = problem_of(program.post("gates", {"site": "Shop", "rules": RULES}))
    assert (found["status"], found["type"]) == (409, "/api/v1/problems/limit-reached")


def test_a_gate_can_be_cancelled_once_and_keeps_its_end(program: Program, world: World) -> None:
    begun = begin(program)
    for _ in range(2):
        told = program.post(f"gates/{begun['id']}/cancel").json()
        assert (told["status"], told["verdict"], told["exit_code"]) == ("cancelled", None, 4)


@pytest.mark.django_db(transaction=True)
def test_waiting_ends_as_soon_as_the_gate_does(program: Program, world: World) -> None:
    begun = begin(program)
    timer = threading.Timer(0.3, _end_all)
    timer.start()
    began = timezone.now()
    told = program.get(f"gates/{begun['id']}?wait=60").json()
    timer.join()
    assert told["status"] == "done"
    assert timezone.now() - began < timedelta(seconds=50)


def test_reading_a_gate_takes_few_statements(
    program: Program, world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world.history()
    begun = begin(program)
    world.play(Gate.objects.get())
    with django_assert_max_num_queries(8):
        program.get(f"gates/{begun['id']}")


def test_gates_are_listed_the_newest_first_page_by_page(program: Program, world: World) -> None:
    begun = [begin(program)["id"] for _ in range(3)]
    first = program.get("gates?limit=2&site=Shop").json()
    second = program.get(f"gates?limit=2&site=Shop&cursor={first['next']}").json()
    assert [gate["id"] for gate in first["items"] + second["items"]] == begun[::-1]
    assert second["next"] is None


def test_gates_of_one_site_are_listed_apart(program: Program, world: World) -> None:
    other = register_site(actor=None, organisation=world.member.organisation, name="Blog", url="https://blog.example/")
    of_shop, of_other = (begin(program, site=str(site.public_id)) for site in (world.site, other))
    for site, mine in ((world.site, of_shop), (other, of_other)):
        found = program.get(f"gates?site={site.public_id}").json()["items"]
        assert [gate["id"] for gate in found] == [mine["id"]]


def test_what_a_question_leaves_open_is_asked_as_the_reference_says(program: Program, world: World) -> None:
    begun = begin(program)
    gate = Gate.objects.get(public_id=begun["id"])
    assert gate.confidence == 0.95
    assert round((gate.deadline - gate.created_at).total_seconds()) == 600
    assert (gate.runs_per_region, gate.max_per_region, gate.discard_first) == (3, 12, 1)


def test_a_deploy_is_told_once_and_listed(program: Program, world: World) -> None:
    body = {"site": "Shop", "id": "r1", "version": "1.2.3", "note": "Faster basket"}
    answer = program.post("deploys", body)
    told = answer.json()
    assert (answer.status_code, told["external_id"], told["site"]) == (201, "r1", str(world.site.public_id))
    assert program.post("deploys", body).json() == told
    assert program.get(answer.headers["Location"]).json() == told
    everywhere = program.post("deploys", {"version": "2"}).json()
    assert everywhere["site"] is None
    assert [deploy["id"] for deploy in program.get("deploys?site=Shop").json()["items"]] == [
        everywhere["id"],
        told["id"],
    ]
    assert Deploy.objects.get(version="2").token_name == "CI"


def test_a_deploy_told_in_another_zone_is_answered_in_utc(world: World, program: Program) -> None:
    told = program.post("deploys", {"site": "Shop", "at": "2026-11-01T17:30:00+01:00"}).json()
    assert told["at"] == "2026-11-01T16:30:00Z"
    assert program.get(f"deploys/{told['id']}").json()["at"] == told["at"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"id": "x" * 101}, "#/id"), ({"id": "a\tb"}, "#/id"), ({"url": "ftp://x/"}, "#/url"), ({"site": "no"}, "#/site")],
)
def test_a_deploy_that_cannot_be_is_a_problem(
    program: Program, world: World, changes: dict[str, object], pointer: str
) -> None:
    found = problem_of(program.post("deploys", {"site": "Shop", **changes}))
    assert [fault["pointer"] for fault in found["errors"]] == [pointer]


def test_another_organisation_neither_sees_nor_asks(charlie: Member, program: Program, world: World) -> None:
    begun = begin(program, deploy={"id": "r1"})
    theirs = Program(make_token(charlie))
    ask: list[Callable[[], Any]] = [
        lambda: theirs.get(f"gates/{begun['id']}"),
        lambda: theirs.post(f"gates/{begun['id']}/cancel"),
        lambda: theirs.get(f"deploys/{begun['deploy']['id']}"),
    ]
    assert [problem_of(call())["status"] for call in ask] == [404, 404, 404]
    assert theirs.get("gates").json()["items"] == theirs.get("deploys").json()["items"] == []
    assert problem_of(theirs.post("gates", {"site": "Shop", "rules": RULES}))["errors"][0]["pointer"] == "#/site"


def _end_all() -> None:
    Gate.objects.update(status=Status.DONE, verdict="pass", ended_at=timezone.now())
    connection.close()


def test_runs_of_a_gate_say_where_it_had_them_ask(program: Program, world: World) -> None:
    baseline = Baseline(mode="url", address=Address(base="https://old.example"))
    gate = world.play(world.ask(baseline=baseline, release=Address(base="https://pr-7.example")), failing)
    runs = [gate.runs.filter(side=side).first() for side in ("before", "after")]
    paths = [f"runs/{run.run_id}" for run in runs if run is not None]
    urls = ["https://old.example/", "https://pr-7.example/"]
    assert [program.get(path).json()["url"] for path in paths] == urls
    assert [program.get(f"{path}/waterfall").json()["url"] for path in paths] == urls
