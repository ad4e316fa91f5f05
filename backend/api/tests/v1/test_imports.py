"""Imports by the API: a file as the body, packed or not; what comes of it is looked at like a run."""

import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from jsonschema_rs import Draft202012Validator
from pytest_django import DjangoAssertNumQueries

from backend.accounts.permissions import Role, Scope
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.world import World
from backend.api.v1.bodies import read_file
from backend.api.v1.problems import ProblemError
from backend.runs.models import Upload
from backend.runs.uploads import MAX_FILE_BYTES
from workers.tests.measurement.imports import samples

pytestmark = pytest.mark.django_db
HAR = Path(samples.__file__).parents[1] / "har-1.2.schema.json"


def brought(program: Program, document: samples.Document, query: str = "name=shop.har") -> dict[str, Any]:
    answer = program.post(f"imports?{query}", document)
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/api/v1/imports/{found['imports'][0]['id']}"
    return found


def test_a_file_becomes_a_page_load_that_is_told_in_milliseconds(program: Program, world: World) -> None:
    found = brought(program, samples.devtools(), f"name=shop.har&site={world.site.public_id}")
    (one,) = found["imports"]
    assert (one["url"], one["tool"], one["file"], one["ttfb_ms"]) == (samples.HTML, "WebInspector", "shop.har", 121.0)
    assert (one["site"], one["page"]) == (str(world.site.public_id), f"/imports/{one['id']}/")
    assert program.get(f"imports/{one['id']}").json() == one
    assert program.get("imports").json()["items"] == [one]
    assert program.get(f"imports?site={world.site.public_id}").json()["items"] == [one]


def test_what_was_left_out_is_told(program: Program) -> None:
    found = brought(program, samples.har(samples.entry(), samples.entry("never")))
    assert (found["skipped"], found["remarks"]) == (1, ["entry 2: startedDateTime is not a date and time"])


def test_a_file_may_be_packed(program: Program) -> None:
    packed = gzip.compress(samples.written(samples.webpagetest(900)))
    assert program.post("imports", packed, Content_Encoding="gzip").status_code == 201
    assert problem_of(program.post("imports", packed, Content_Encoding="br"))["status"] == 415


def test_a_file_of_several_megabytes_is_no_trouble(program: Program) -> None:
    made = samples.entry()
    made["response"]["content"]["text"] = "x" * 5_000_000
    brought(program, samples.har(made))


def test_a_file_that_is_too_large_is_not_read(program: Program) -> None:
    found = problem_of(program.post("imports", b"{}", Content_Length=str(MAX_FILE_BYTES + 1)))
    assert (found["status"], str(MAX_FILE_BYTES) in found["detail"]) == (413, True)


def test_a_body_that_ends_early_is_told_as_such() -> None:
    head = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": "10", "CONTENT_TYPE": "application/json"}
    with pytest.raises(ProblemError, match="before it was whole"):
        read_file(WSGIRequest({**head, "wsgi.input": BytesIO(b"{}")}), 100)


@pytest.mark.parametrize(
    ("document", "said"),
    [({}, "neither an HTTP Archive"), ({"log": {"entries": [{}]}}, "entry 1: startedDateTime"), ([], "no object")],
)
def test_what_is_no_such_file_is_refused_with_the_reason(program: Program, document: Any, said: str) -> None:
    found = problem_of(program.post("imports", document))
    assert (found["status"], said in found["errors"][0]["detail"]) == (422, True)


def test_other_routes_still_take_small_bodies_only(program: Program) -> None:
    assert problem_of(program.post("sites", b"{}", Content_Encoding="gzip"))["status"] == 415
    assert problem_of(program.post("sites", b" " * 300_000))["status"] == 413


def test_the_same_key_imports_once(program: Program) -> None:
    first = program.post("imports", samples.devtools(), Idempotency_Key="k1")
    again = program.post("imports", samples.devtools(), Idempotency_Key="k1")
    assert (first.json(), again.headers["Idempotent-Replayed"]) == (again.json(), "true")
    assert Upload.objects.count() == 1


def test_its_waterfall_is_that_of_a_run(program: Program) -> None:
    (one,) = brought(program, samples.webpagetest(900))["imports"]
    found = program.get(f"imports/{one['id']}/waterfall").json()
    assert (found["run_id"], found["kind"], found["document"]) == (one["id"], "page", 1)
    first = found["requests"][0]
    assert (first["spans"]["dns"], first["timing_source"]) == ({"start_ms": 2.0, "end_ms": 56.0}, "archive")


def test_its_waterfall_says_where_in_the_document_a_tag_ends(program: Program) -> None:
    archive = samples.devtools()
    by = {"type": "parser", "url": "https://shop.example/", "lineNumber": 2, "columnNumber": 17}
    archive["log"]["entries"][1]["_initiator"] = by
    (one,) = brought(program, archive)["imports"]
    document, script, *_ = program.get(f"imports/{one['id']}/waterfall").json()["requests"]
    assert (document["initiator_line"], document["initiator_column"]) == (None, None)
    assert (script["initiator_line"], script["initiator_column"]) == (3, 18)


@pytest.mark.parametrize("level", ["full", "standard", "strict"])
def test_its_archive_is_valid_at_every_level(program: Program, level: str) -> None:
    (one,) = brought(program, samples.webpagetest(900))["imports"]
    answer = program.get(f"imports/{one['id']}/har?redaction={level}")
    schema = Draft202012Validator(json.loads(HAR.read_text()))
    assert [error.message for error in schema.iter_errors(answer.json())] == []
    assert len(answer.json()["log"]["pages"]) == 2
    same = program.get(f"imports/{one['id']}/har?redaction={level}", If_None_Match=answer.headers["ETag"])
    assert same.status_code == 304


def test_the_archive_of_a_run_has_levels_too(program: Program, world: World) -> None:
    where = f"runs/{world.page_run.run_id}/har"
    full, strict = (program.get(f"{where}?redaction={level}") for level in ("full", "strict"))
    assert full.headers["ETag"] != strict.headers["ETag"]
    assert "serverIPAddress" in full.json()["log"]["entries"][0]
    assert "serverIPAddress" not in strict.json()["log"]["entries"][0]
    assert problem_of(program.get(f"{where}?redaction=none"))["errors"][0]["pointer"] == "?redaction"


def test_who_may_only_read_brings_and_deletes_nothing(world: World) -> None:
    (one,) = brought(Program(make_token(world.member)), samples.devtools())["imports"]
    for secret in (make_token(world.member, Scope.READ), make_token(world.member, role=Role.VIEWER)):
        reader = Program(secret)
        assert problem_of(reader.post("imports", samples.devtools()))["status"] == 403
        assert problem_of(reader.call("DELETE", f"imports/{one['id']}"))["status"] == 403
        assert reader.get(f"imports/{one['id']}").status_code == 200


def test_it_can_be_deleted(program: Program) -> None:
    (one,) = brought(program, samples.devtools())["imports"]
    assert program.call("DELETE", f"imports/{one['id']}").status_code == 204
    for path in ("", "/har", "/waterfall"):
        assert problem_of(program.get(f"imports/{one['id']}{path}"))["status"] == 404


def test_reading_files_has_a_limit_of_its_own(program: Program) -> None:
    answer = program.post("imports", samples.devtools())
    assert '"imports";q=120;w=3600' in answer.headers["RateLimit-Policy"]


def test_a_list_takes_as_many_statements_however_long_it_is(
    program: Program, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    program.get("imports")
    for _ in range(2):
        with django_assert_num_queries(2):
            program.get("imports")
        brought(program, samples.devtools())
