"""Runs by the API as one table."""

import csv
from io import StringIO

import pytest

from backend.api.tests.v1.calling import Program, at, problem_of
from backend.api.tests.v1.world import World
from backend.runs import tables
from backend.runs.tests.factories import make_region
from backend.runs.tests.results import FAILED

pytestmark = pytest.mark.django_db


def table_of(program: Program, query: str = "") -> list[dict[str, str]]:
    answer = program.get(f"runs.csv{query}")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="runs.csv"'
    return list(csv.DictReader(StringIO(answer.getvalue().decode(), newline=""), strict=True))


def test_the_table_holds_the_runs_of_the_list_and_what_they_measured(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "AT_ONCE", 2)
    for ago_s in (60, 120, 180):
        world.ended("probe", ago_s=ago_s)
    world.ended("probe", FAILED, ago_s=240)

    rows = table_of(program)

    listed = program.get("runs").json()["items"]
    assert [row["run_id"] for row in rows] == [run["id"] for run in listed]
    for row, run in zip(rows, listed, strict=True):
        told = run["phases"] | {f"{name.removesuffix('_ms')}_ms": run["metrics"][name] for name in ("lcp_ms", "rtt_ms")}
        assert {name: row[name] for name in told} == {name: _cell(value) for name, value in told.items()}
        assert (row["url"], row["region"], row["kind"]) == (run["url"], run["region"], run["kind"])
        assert row["failure_kind"] == _cell((run["failure"] or {}).get("kind"))


def test_filters_of_the_list_are_filters_of_the_table(program: Program, world: World) -> None:
    make_region("us", world.member.organisation)
    runs = [world.ended("probe", ago_s=ago_s) for ago_s in (60, 120, 180)]
    failed = world.ended("probe", FAILED, ago_s=240)

    def ids(query: str) -> list[str]:
        return [row["run_id"] for row in table_of(program, query)]

    assert ids("?outcome=failed") == [str(failed.run_id)]
    assert ids(f"?kind=probe&since={at(130)}&until={at(70)}") == [str(runs[1].run_id)]
    assert ids("?region=us") == []
    assert ids(f"?monitor={world.monitor('page').public_id}") == [str(world.page_run.run_id)]
    assert problem_of(program.get("runs.csv?limit=5"))["errors"][0]["pointer"] == "?limit"


def test_head_of_a_table_says_what_it_is_without_making_it(program: Program, world: World) -> None:
    answer = program.call("HEAD", "runs.csv")

    assert (answer.status_code, answer.getvalue()) == (200, b"")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "Content-Length" not in answer.headers


def _cell(value: object) -> str:
    return "" if value is None else str(value)
