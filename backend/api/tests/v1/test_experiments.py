"""What hosts cost a page, by the API: asking, waiting, and the figures of the verdict."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.accounts.permissions import Role, Scope
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.cast import Member
from backend.experiments.models import Experiment, ExperimentRun
from backend.experiments.tests.world import FAILS, HOST, World, loaded, make_world, sooner
from workers.diagnosis.without.samples import Side

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice: Member) -> World:
    return make_world(alice)


@pytest.fixture
def program(alice: Member) -> Program:
    return Program(make_token(alice, Scope.TEST))


def begin(program: Program, **changes: object) -> dict[str, Any]:
    answer = program.post("experiments", {"site": "Shop", "hosts": [HOST], "pairs": 8, **changes})
    assert answer.status_code == 202, answer.content
    begun: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/api/v1/experiments/{begun['id']}"
    return begun


def test_a_program_asks_and_learns_the_verdict_with_its_figures(program: Program, world: World) -> None:
    begun = begin(program)
    assert (begun["status"], begun["verdict"], begun["metrics"], begun["loads"]) == ("running", None, {}, [])
    world.play(Experiment.objects.get(), sooner)
    told = program.get(f"experiments/{begun['id']}").json()
    assert (told["status"], told["verdict"], told["complete_pairs"]) == ("done", "sooner", 8)
    assert told["sentence"].startswith(f"Without {HOST} the largest paint comes 302 ms sooner (95 %: ")
    lcp = told["metrics"]["lcp_ms"]
    assert (lcp["verdict"], lcp["pairs"], lcp["with_hosts"], lcp["without"]) == ("sooner", 8, 1_001.0, 699.0)
    assert lcp["difference"]["low"] <= lcp["difference"]["estimate"] == -302.0
    assert told["metrics"]["tbt_ms"] is None
    assert [(load["pair"], load["side"]) for load in told["loads"][:2]] == [(0, "with"), (0, "without")]
    assert all(load["run"] and load["state"] == "loaded" for load in told["loads"])


def test_a_verdict_whose_loads_are_kept_no_more_tells_no_figures(program: Program, world: World) -> None:
    begun = begin(program)
    world.play(Experiment.objects.get(), sooner)
    ExperimentRun.objects.all().delete()
    told = program.get(f"experiments/{begun['id']}").json()
    assert (told["verdict"], told["complete_pairs"], told["metrics"], told["loads"]) == ("sooner", None, {}, [])


def test_what_is_left_out_says_why(program: Program, world: World) -> None:
    begun = begin(program)
    world.play(
        Experiment.objects.get(), lambda run: FAILS if (run.pair, run.side) == (1, Side.WITHOUT) else sooner(run)
    )
    told = program.get(f"experiments/{begun['id']}").json()
    assert told["left_out"] == {"failed": 1}
    (failed,) = [load for load in told["loads"] if load["left_out"]]
    assert (failed["pair"], failed["reason"]) == (1, FAILS.failure.detail)


def test_what_could_not_be_measured_says_why_and_has_no_figures(program: Program, world: World) -> None:
    begun = begin(program)
    world.play(Experiment.objects.get(), lambda run: loaded(reached=True))
    told = program.get(f"experiments/{begun['id']}").json()
    assert (told["status"], told["verdict"], told["metrics"]) == ("failed", None, {})
    assert "older than this service" in told["reason"]


def test_a_cancelled_one_stays_cancelled(program: Program, world: World) -> None:
    begun = begin(program)
    assert program.post(f"experiments/{begun['id']}/cancel").json()["status"] == "cancelled"
    assert program.post(f"experiments/{begun['id']}/cancel").json()["status"] == "cancelled"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"hosts": ["shop.example"]}, "#/hosts"),
        ({"hosts": []}, "#/hosts"),
        ({"region": "xx"}, "#/region"),
        ({"pairs": 7}, "#/pairs"),
        ({"site": "Nothing"}, "#/site"),
    ],
)
def test_what_cannot_be_asked_is_said_at_its_place(
    program: Program, world: World, changes: dict[str, object], pointer: str
) -> None:
    answer = program.post("experiments", {"site": "Shop", "hosts": [HOST], **changes})
    assert [fault["pointer"] for fault in problem_of(answer)["errors"]] == [pointer]


def test_more_than_three_at_once_are_too_many(program: Program, world: World) -> None:
    for _ in range(3):
        begin(program)
    answer = program.post("experiments", {"site": "Shop", "hosts": [HOST]})
    assert "3 experiments are under way" in problem_of(answer)["detail"]


def test_the_list_takes_as_many_statements_however_long_it_is(
    program: Program, world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        begin(program)
    with django_assert_max_num_queries(12):
        told = program.get("experiments?site=Shop&limit=2").json()
    assert len(told["items"]) == 2
    (last,) = program.get(f"experiments?cursor={told['next']}").json()["items"]
    assert (last["site_name"], last["hosts"], last["region"]) == ("Shop", [HOST], "eu")


def test_who_may_only_read_starts_nothing(alice: Member, world: World) -> None:
    reader = Program(make_token(alice, Scope.READ))
    viewer = Program(make_token(alice, Scope.TEST, role=Role.VIEWER))
    for program in (reader, viewer):
        assert program.post("experiments", {"site": "Shop", "hosts": [HOST]}).status_code == 403
        assert program.get("experiments").status_code == 200
