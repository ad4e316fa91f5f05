"""What deep probes found, by the API: in lists, of one run, and open at a site."""

from dataclasses import replace

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.api.tests.v1.calling import Program
from backend.api.tests.v1.world import World
from backend.api.v1.finding_shapes import ToldCause, told_fields
from backend.runs import diagnoses
from backend.runs.tests.factories import make_region
from backend.runs.tests.results import CHECKED, FAILED, NO_HTTP3, OVERFLOW, PACED, diagnosed
from workers.measurement.evidence import Depth, ProbeEvidence
from workers.measurement.finding import Cause, Diagnosis, FindingId, Together
from workers.measurement.messages import Hop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def todays_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Today's rules find one thing more than those of the agent did."""

    def judge(evidence: ProbeEvidence, hops: tuple[Hop, ...]) -> Diagnosis:
        if evidence.depth is Depth.LIGHT:
            return Diagnosis()
        return Diagnosis(findings=(OVERFLOW, NO_HTTP3), not_judged=(PACED,), checklist=(CHECKED,))

    monkeypatch.setattr(diagnoses, "diagnose", judge)


def test_a_list_tells_what_each_run_found_as_it_was_stored(program: Program, world: World) -> None:
    world.ended("probe", diagnosed(OVERFLOW), ago_s=60)
    world.ended("probe", diagnosed(depth=Depth.LIGHT), ago_s=120)
    deep, light = program.get("runs?kind=probe").json()["items"]
    assert deep["findings"] == [
        {
            "id": "tls.record_overflow",
            "title": deep["findings"][0]["title"],
            "severity": "high",
            "confidence": "high",
            "saving_ms": 380.0,
            "host": None,
        }
    ]
    assert (deep["depth"], light["depth"], light["findings"]) == ("deep", "light", [])


def test_a_list_without_probes_asks_for_no_findings(program: Program, world: World) -> None:
    assert [run["findings"] for run in program.get("runs?kind=page").json()["items"]] == [[]]


def test_one_run_is_judged_by_todays_rules(program: Program, world: World) -> None:
    pending = world.ended("probe", diagnosed(OVERFLOW), ago_s=60)
    run = program.get(f"runs/{pending.run_id}").json()
    assert [one["id"] for one in run["findings"]] == ["tls.record_overflow", "http.h3"]
    told = run["findings"][0]
    assert told["evidence"] == {"record_bytes": 16_401}
    assert told["advice"].endswith(".")
    assert told["together"] is None
    assert all(set(setting) == {"server", "setting"} for setting in told["settings"])
    assert run["not_judged"][0] == {
        "id": "tcp.iw_small",
        "title": run["not_judged"][0]["title"],
        "reason": "paced",
        "because": run["not_judged"][0]["because"],
        "hidden_by": None,
    }
    assert run["checklist"] == [
        {"column": "record_sizing", "title": "Record sizing", "answer": "no", "detail": "16 KB, static"}
    ]


def test_what_is_saved_together_with_others_names_them() -> None:
    other = Cause(id=FindingId.PAGE_THIRD_PARTY_BLOCKING, host="cdn.example.net")
    told = told_fields(replace(OVERFLOW, saving_us=None, together=Together(saving_us=470_000, others=(other,))))
    assert ToldCause(**told).model_dump(mode="json")["together"] == {
        "saving_ms": 470.0,
        "others": [{"id": "page.third_party_blocking", "host": "cdn.example.net"}],
    }


def test_what_is_open_at_a_site_is_what_its_newest_deep_runs_found(program: Program, world: World) -> None:
    world.ended("probe", diagnosed(), ago_s=200)
    newest = world.ended("probe", diagnosed(OVERFLOW), ago_s=100)
    world.ended("probe", diagnosed(depth=Depth.LIGHT), ago_s=50)
    told = program.get(f"sites/{world.site.public_id}/findings").json()
    assert [(one["id"], one["run_id"], one["region"]) for one in told["findings"]] == [
        ("tls.record_overflow", str(newest.run_id), "eu"),
        ("http.h3", str(newest.run_id), "eu"),
    ]
    assert [run["run_id"] for run in told["runs"]] == [str(newest.run_id)]
    # The whole answer took 110 ms: nobody can gain more.
    assert told["saving_ms"] == 110.0
    assert len(told["checklist"]) == 1


def test_each_region_has_findings_of_its_own(program: Program, world: World) -> None:
    make_region("us", world.member.organisation)
    world.ended("probe", diagnosed(OVERFLOW), ago_s=100)
    us = world.elsewhere("us")
    us.ended("probe", diagnosed(OVERFLOW), ago_s=90)
    told = program.get(f"sites/{world.site.public_id}/findings").json()
    assert sorted(run["region"] for run in told["runs"]) == ["eu", "us"]
    assert [one["severity"] for one in told["findings"]] == ["high", "high", "info", "info"]


def test_a_site_that_could_not_be_reached_keeps_what_was_found_before(program: Program, world: World) -> None:
    before = world.ended("probe", diagnosed(OVERFLOW), ago_s=100)
    world.ended("probe", FAILED, ago_s=50)
    told = program.get(f"sites/{world.site.public_id}/findings").json()
    assert [run["run_id"] for run in told["runs"]] == [str(before.run_id)]


def test_a_site_that_nobody_looked_at_has_neither_runs_nor_findings(program: Program, world: World) -> None:
    told = program.get(f"sites/{world.site.public_id}/findings").json()
    assert told == {"findings": [], "runs": [], "saving_ms": None, "checklist": []}


def test_findings_take_as_many_statements_for_one_region_as_for_many(
    program: Program, world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    world.ended("probe", diagnosed(OVERFLOW), ago_s=100)
    path = f"sites/{world.site.public_id}/findings"
    program.get(path)
    with django_assert_num_queries(7) as captured:
        program.get(path)
    for code in ("us", "ap"):
        make_region(code, world.member.organisation)
        world.elsewhere(code).ended("probe", diagnosed(OVERFLOW), ago_s=90)
    with django_assert_num_queries(len(captured)):
        program.get(path)
