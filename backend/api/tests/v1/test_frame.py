"""What every route has around it, asked at the smallest of them."""

import json
import re
from datetime import timedelta

import pytest
import time_machine
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.accounts.models import ApiToken
from backend.accounts.permissions import Role, Scope
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.v1 import me
from backend.api.v1.limits import DEFAULT
from backend.cast import Member

pytestmark = pytest.mark.django_db


def test_a_token_says_who_asks(program: Program, alice: Member) -> None:
    answer = program.get("me")
    assert answer.status_code == 200
    found = answer.json()
    assert found["organisation"]["id"] == str(alice.organisation.public_id)
    assert found["email"] is None
    assert found["token"]["scopes"] == sorted(scope.value for scope in Scope)
    assert found["organisation"]["created_at"].endswith("Z")


def test_a_person_who_is_signed_in_may_ask_too(alice: Member) -> None:
    client = Client()
    client.force_login(alice.user)
    found = Program(client=client).get("me").json()
    assert (found["email"], found["role"], found["token"]) == (alice.user.email, "owner", None)


def test_nobody_is_refused_with_the_way_to_get_in() -> None:
    answer = Program().get("me")
    assert problem_of(answer)["type"] == "/api/v1/problems/unauthenticated"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("given", ["Bearer", "Bearer ", "Basic YTpi", "Bearer fb_api_x", "Bearer \u00e9", "fb_api_x"])
def test_what_is_no_token_is_refused_even_with_a_session(given: str, alice: Member) -> None:
    client = Client()
    client.force_login(alice.user)
    answer = Program(client=client).get("me", Authorization=given)
    assert problem_of(answer)["status"] == 401
    assert "invalid_token" in answer.headers["WWW-Authenticate"]


def test_a_token_is_good_until_it_expires(program: Program) -> None:
    with time_machine.travel(timezone.now() + timedelta(hours=23, minutes=59)):
        assert program.get("me").status_code == 200
    with time_machine.travel(timezone.now() + timedelta(days=1, seconds=1)):
        assert program.get("me").status_code == 401


def test_the_use_of_a_token_is_noted_with_the_address(program: Program) -> None:
    program.get("me")
    assert ApiToken.objects.get().last_used_ip == "127.0.0.1"


def test_a_token_is_as_good_where_nobody_says_where_a_request_came_from(program: Program) -> None:
    program.client.defaults["REMOTE_ADDR"] = ""
    assert program.get("me").status_code == 200
    assert ApiToken.objects.get().last_used_ip is None


def test_an_address_that_does_not_exist_is_a_problem_like_any_other() -> None:
    found = problem_of(Program().get("nowhere/at/all"))
    assert (found["type"], found["instance"]) == ("/api/v1/problems/not-found", "/api/v1/nowhere/at/all")


def test_a_method_that_does_not_exist_is_a_problem_that_names_those_that_do(program: Program) -> None:
    answer = program.call("DELETE", "me")
    assert problem_of(answer)["status"] == 405
    assert answer.headers["Allow"] == "GET"


def test_head_is_get_without_the_body(program: Program) -> None:
    answer, whole = program.call("HEAD", "me"), program.get("me")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(whole.content))
    assert answer.headers["ETag"] == whole.headers["ETag"]


def test_a_fault_of_ours_is_a_problem_without_its_details(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> bool:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr(me, "allows", broken)
    answer = program.get("me", X_Request_Id="my-request-1")
    found = problem_of(answer)
    assert (found["status"], found["request_id"]) == (500, "my-request-1")
    assert "secret" not in answer.content.decode()


def test_a_database_that_is_away_is_told_as_such(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*arguments: object) -> bool:
        raise OperationalError("no connection to 10.0.0.7")

    monkeypatch.setattr(me, "allows", away)
    answer = program.get("me")
    assert problem_of(answer)["status"] == 503
    assert answer.headers["Retry-After"] == "5"
    assert "10.0.0.7" not in answer.content.decode()


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-123.XYZ_9", True), ("short", False), ("a b\tc d e f", False), ("x" * 65, False)]
)
def test_a_sane_request_id_is_kept_and_any_other_replaced(program: Program, given: str, *, kept: bool) -> None:
    answer = program.get("me", X_Request_Id=given)
    assert (answer.headers["X-Request-Id"] == given) is kept
    assert re.fullmatch(r"[A-Za-z0-9._-]{8,64}", answer.headers["X-Request-Id"])


def test_who_has_this_version_is_told_so(program: Program) -> None:
    etag = program.get("me").headers["ETag"]
    assert etag.startswith('W/"')
    for known in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        again = program.get("me", If_None_Match=known)
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert program.get("me", If_None_Match='"other"').status_code == 200


def test_answers_are_nobody_elses(program: Program) -> None:
    headers = program.get("me").headers
    assert headers["Cache-Control"] == "private, no-cache"
    assert headers["Vary"] == "Authorization, Cookie"


@pytest.mark.usefixtures("standing_clock")
def test_every_answer_says_how_much_is_left(program: Program) -> None:
    first, second = program.get("me").headers, program.get("me").headers
    assert first["RateLimit-Policy"] == f'"default";q={DEFAULT.quota};w={DEFAULT.window_s}'
    assert f'"default";r={DEFAULT.quota - 1};t=' in first["RateLimit"]
    assert f'"default";r={DEFAULT.quota - 2};t=' in second["RateLimit"]


def test_who_asks_too_often_waits(program: Program, alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(DEFAULT), "quota", property(lambda policy: 2), raising=False)
    with time_machine.travel(timezone.now().replace(second=30), tick=False):
        assert [program.get("me").status_code for _ in range(3)] == [200, 200, 429]
        refused = program.get("me")
        assert problem_of(refused)["type"] == "/api/v1/problems/too-many-requests"
        assert refused.headers["Retry-After"] == "30"
        assert refused.headers["RateLimit"] == '"default";r=0;t=30'
        assert Program(make_token(alice)).get("me").status_code == 200, "another token has its own"
    with time_machine.travel(timezone.now() + timedelta(minutes=2)):
        assert program.get("me").status_code == 200


def test_a_parameter_that_does_not_exist_is_refused(program: Program) -> None:
    assert problem_of(program.get("me?regoin=fra"))["errors"] == [
        {"pointer": "?regoin", "detail": "This parameter does not exist here; there are none."}
    ]


def test_a_person_without_an_organisation_is_told_so(alice: Member) -> None:
    client = Client()
    client.force_login(alice.user)
    alice.membership.delete()
    assert problem_of(Program(client=client).get("me"))["type"] == "/api/v1/problems/forbidden"


def test_what_is_documented_is_answered_by_every_type() -> None:
    client = Client()
    for slug in ("not-found", "invalid", "internal-error"):
        answer = client.get(f"/api/v1/problems/{slug}")
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/api/v1/docs#problem-{slug}")
    assert client.get("/api/v1/problems/nonsense").status_code == 404


def test_a_token_may_at_most_what_its_role_may(alice: Member) -> None:
    viewer = Program(make_token(alice, role=Role.VIEWER)).get("me").json()
    assert viewer["permissions"] == ["read"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 2)
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_the_door(program: Program, one: str, other: str) -> None:
    answer = program.get("me", Authorization=f"Bearer {one}", If_None_Match=other, X_Request_Id=one)
    assert problem_of(answer)["status"] == 401
    json.dumps(dict(answer.headers.items()))
