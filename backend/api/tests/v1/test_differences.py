"""Two runs beside each other, as programs read them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.world import World, make_world
from backend.cast import Member
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun
from backend.runs.tests.factories import NOW, make_pending
from backend.runs.tests.results import FAILED, line_of, measured, page
from workers.measurement.messages import Measured, Outcome, PageMeasurement

pytestmark = pytest.mark.django_db

BEFORE = page(12).measurement


def changed() -> PageMeasurement:
    """One request is gone, one failed, one is of another version, and the largest paint comes later."""
    assert isinstance(BEFORE, PageMeasurement)
    rows = [replace(one, status=503) if one.number == 3 else one for one in BEFORE.waterfall.requests[:-1]]
    rows = [replace(one, url=f"{one.url}?v=2") if one.number == 5 else one for one in rows]
    vitals = replace(BEFORE.vitals, lcp_us=1_400_000)
    return replace(BEFORE, waterfall=replace(BEFORE.waterfall, requests=tuple(rows)), vitals=vitals)


def ended(world: World, outcome: Outcome, minutes: int, kind: str = "page") -> PendingRun:
    pending = make_pending(world.fleet, world.monitor(kind), scheduled_for=NOW - timedelta(minutes=minutes))
    ingest(world.region, [line_of(pending, outcome)], now=NOW)
    return pending


def asked(program: Program, after: PendingRun, before: object) -> Any:
    return program.get(f"runs/{after.run_id}/differences?before={before}")


def test_numbers_and_requests_that_differ_are_told(world: World, program: Program) -> None:
    first, second = (
        ended(world, Measured(measurement=BEFORE), 90),
        ended(world, Measured(measurement=changed()), 80),
    )
    found = asked(program, second, first.run_id).json()
    assert (found["before"]["id"], found["after"]["id"]) == (str(first.run_id), str(second.run_id))
    lcp = next(one for one in found["numbers"] if one["name"] == "lcp_ms")
    assert lcp == {"name": "lcp_ms", "before": 420.0, "after": 1400.0, "difference": 980.0, "share": 2.3333}
    counts = found["counts"]
    assert (counts["before"], counts["after"], counts["only_before"], counts["only_after"]) == (12, 11, 1, 0)
    assert (counts["other_status"], counts["longer"], counts["shorter"]) == (1, 0, 0)
    ways = {(one["before"] or one["after"])["number"]: one["differs"] for one in found["requests"]}
    assert ways == {3: ["status"], 5: ["version"], 12: ["presence"]}
    gone = next(one for one in found["requests"] if one["differs"] == ["presence"])
    assert gone["after"] is None
    assert (found["unit"], found["truncated"]) == ("request", False)


def test_an_earlier_run_is_found_by_what_it_is(world: World, program: Program) -> None:
    week = ended(world, Measured(measurement=BEFORE), 7 * 1440 + 200)
    first, second = ended(world, Measured(measurement=BEFORE), 95), ended(world, Measured(measurement=BEFORE), 80)
    ended(world, FAILED, 85)
    for word, run in (("previous", first), ("last_good", first), ("week_before", week)):
        found = asked(program, second, word).json()
        assert (found["before"]["id"], found["requests"]) == (str(run.run_id), [])
    assert program.get(f"runs/{second.run_id}/differences").json()["before"]["id"] == str(first.run_id)
    assert problem_of(asked(program, week, "last_good"))["detail"].startswith("There is no last good run")


def test_probes_are_compared_hop_by_hop_and_only_with_their_kind(world: World, program: Program) -> None:
    first, second = (ended(world, measured("probe"), minutes, "probe") for minutes in (90, 80))
    found = asked(program, second, first.run_id).json()
    assert (found["unit"], found["counts"]["before"], found["requests"]) == ("hop", 1, [])
    page = ended(world, Measured(measurement=BEFORE), 70)
    assert problem_of(asked(program, second, page.run_id))["status"] == 409


def test_what_cannot_be_compared_says_why(world: World, program: Program, charlie: Member) -> None:
    run, failed = ended(world, Measured(measurement=BEFORE), 90), ended(world, FAILED, 80)
    assert problem_of(asked(program, run, "yesterday"))["errors"][0]["pointer"] == "?before"
    assert problem_of(asked(program, run, uuid4()))["status"] == 404
    assert problem_of(asked(program, run, failed.run_id))["detail"] == (
        "The run to compare with measured nothing that is kept."
    )
    stranger = Program(make_token(charlie))
    assert problem_of(asked(stranger, run, run.run_id))["status"] == 404
    theirs = make_world(charlie, code="us")
    other = ended(theirs, Measured(measurement=BEFORE), 90)
    assert problem_of(asked(program, run, other.run_id))["status"] == 404
