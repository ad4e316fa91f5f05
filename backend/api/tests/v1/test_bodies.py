"""What bodies may be, and what becomes of those that may not."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.v1 import limits
from backend.api.v1.bodies import MAX_BYTES, MAX_DEPTH
from backend.cast import Member

pytestmark = pytest.mark.django_db

BAD_REQUEST = "/api/v1/problems/bad-request"


@pytest.fixture
def program(alice: Member, monkeypatch: pytest.MonkeyPatch) -> Program:
    # More is tried in a minute than may be asked in one.
    monkeypatch.setattr(limits, "DEFAULT", replace(limits.DEFAULT, quota=10**9))
    return Program(make_token(alice))


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        (b'{"url": }', 400, "not JSON"),
        (b"\xff\xfe{", 400, "not UTF-8: byte 0"),
        (b'{"url": "\xe9"}', 400, "not UTF-8: byte 9"),
        (b'{"url": NaN}', 400, "a number that is not JSON's"),
        (b'{"url": -Infinity}', 400, "a number that is not JSON's"),
        (b'{"url": ' + b"9" * 5000 + b"}", 400, "too long"),
        (b'{"url": ' + b"9" * 30 + b"}", 422, "too large"),
        (b"[" * 30 + b"]" * 30, 400, f"more than {MAX_DEPTH} deep"),
        (b"[" * 100_000, 400, "deep"),
        (b'{"a":' * 50_000, 400, "deep"),
        (b'{"url": "https://a.example/\\u0000"}', 422, "characters that no text has"),
        (b'{"url": "\\ud800"}', 422, "characters that no text has"),
        (b'{"\\udfff": 1}', 422, "characters that no text has"),
        (b'{"name": ["a", {"b": "\\u0000"}]}', 422, "characters that no text has"),
    ],
)
def test_a_body_that_cannot_be_is_a_problem(program: Program, body: bytes, status: int, words: str) -> None:
    found = problem_of(program.post("sites", body))
    assert (found["status"], words in found["detail"]) == (status, True), found


def test_the_place_of_a_bad_character_is_told(program: Program) -> None:
    found = problem_of(program.post("sites", b'{"name": ["a", {"b/c": "\\u0000"}]}'))
    assert found["errors"][0]["pointer"] == "#/name/1/b~1c"


def test_a_body_that_is_too_large_is_refused_by_its_length(program: Program) -> None:
    found = problem_of(program.post("sites", b'"' + b"x" * MAX_BYTES + b'"'))
    assert (found["status"], str(MAX_BYTES) in found["detail"]) == (413, True)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_what_is_not_json_by_its_type_is_refused(program: Program, kind: str) -> None:
    answer = program.client.generic("POST", "/api/v1/sites", b"url=x", kind, headers=program.headers)
    assert problem_of(answer)["status"] == 415


def test_json_with_a_charset_is_json(program: Program) -> None:
    body = json.dumps({"url": "https://a.example/"})
    answer = program.client.generic(
        "POST", "/api/v1/sites", body, "application/json; charset=utf-8", headers=program.headers
    )
    assert answer.status_code == 201


def test_a_compressed_body_is_refused(program: Program) -> None:
    assert problem_of(program.post("sites", b"x", Content_Encoding="gzip"))["status"] == 415


def test_a_body_in_chunks_is_refused(program: Program) -> None:
    answer = program.client.generic(
        "POST", "/api/v1/sites", b"", headers=program.headers | {"Transfer-Encoding": "chunked"}
    )
    assert problem_of(answer)["status"] == 411


def test_no_body_is_an_empty_one(program: Program) -> None:
    found = problem_of(program.post("sites"))
    assert [fault["pointer"] for fault in found["errors"]] == ["#/url"]


def test_the_body_of_a_stranger_is_not_looked_at() -> None:
    assert problem_of(Program().post("sites", b"x" * MAX_BYTES * 2))["status"] == 401


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | JSON.map(lambda document: json.dumps(document).encode("utf-8", "surrogatepass")))
def test_no_body_is_more_than_a_problem(program: Program, body: bytes) -> None:
    found = problem_of(program.post("sites", body))
    assert found["status"] in (400, 422)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["url", "name"]), JSON, min_size=1))
def test_no_value_of_a_known_field_is_more_than_a_problem(program: Program, body: dict[str, Any]) -> None:
    answer = program.post("sites", json.dumps(body).encode("utf-8", "surrogatepass"))
    assert answer.status_code in (201, 400, 409, 422)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_no_query_is_more_than_a_problem(program: Program, query: str) -> None:
    answer = program.get("sites?" + query.encode("utf-8", "surrogatepass").decode("latin-1"))
    assert answer.status_code in (200, 422)
