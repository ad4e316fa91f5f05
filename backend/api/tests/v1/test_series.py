"""Values over time."""

import pytest

from backend.api.tests.v1.calling import Program, at, problem_of
from backend.api.tests.v1.world import World
from backend.runs.tests.results import FAILED, timed_page

pytestmark = pytest.mark.django_db


def test_a_series_has_the_percentile_that_was_asked_for(program: Program, world: World) -> None:
    for ago_s in (60, 120, 180):
        world.ended("probe", ago_s=ago_s)
    world.ended("probe", FAILED, ago_s=240)
    path = f"monitors/{world.monitor('probe').public_id}/series"
    found = program.get(f"{path}?max_points=1&percentile=95").json()
    (point,) = found["regions"][0]["points"]
    assert (point["measured"], point["failed"], point["ttfb_ms"], point["lcp_ms"]) == (3, 1, 102.1, None)
    assert (found["percentile"], found["source"]) == (95, "runs")
    assert program.get(f"{path}?region=us").json()["regions"] == []
    assert program.get(f"{path}?since={at(90 * 86400)}").json()["source"] == "rollups"


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("since=2026-11-02T00:00:00Z&until=2026-11-01T00:00:00Z", "?since"),
        ("since=2020-01-01T00:00:00Z&until=2026-11-01T00:00:00Z", "?since"),
        ("percentile=42", "?percentile"),
        ("max_points=0", "?max_points"),
        ("max_points=401", "?max_points"),
    ],
)
def test_a_series_that_cannot_be_is_refused(program: Program, world: World, query: str, pointer: str) -> None:
    found = problem_of(program.get(f"monitors/{world.monitor('probe').public_id}/series?{query}"))
    assert [fault["pointer"] for fault in found["errors"]] == [pointer]


def test_a_series_has_the_user_timings_that_are_followed(program: Program, world: World) -> None:
    path = f"monitors/{world.monitor('page').public_id}"
    followed = ["mark:hero", "measure:cart"]
    assert program.call("PATCH", path, {"user_timings": followed}).json()["user_timings"] == followed
    run = world.ended("page", timed_page({"mark:hero": 300_000, "mark:other": 5}), ago_s=60)
    (point,) = program.get(f"{path}/series?max_points=1").json()["regions"][0]["points"]
    assert (point["timings"], point["lcp_ms"]) == ({"mark:hero": 300.0, "measure:cart": None}, 420.0)
    assert program.get(f"runs/{run.run_id}").json()["timings"] == {"mark:hero": 300.0, "measure:cart": None}
