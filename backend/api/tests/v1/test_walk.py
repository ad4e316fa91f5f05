"""Every route, walked by everybody who must be refused, and by who may."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client
from jsonschema_rs import Draft202012Validator

from backend.accounts.permissions import Permission, Role, Scope, allows
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.examples import Call, call_of
from backend.api.tests.v1.world import World
from backend.api.v1 import api
from backend.api.v1.access import Bearer, Need
from backend.api.v1.openapi import TARGET as COMMITTED
from backend.api.v1.openapi import document, needs_of, text
from backend.cast import Member

pytestmark = pytest.mark.django_db

DOCUMENT = document(api)
NEEDS = needs_of(api)
ROLES = (Role.VIEWER, Role.MEMBER, Role.ADMIN)
ROUTES = [
    (described["operationId"], method.upper(), path)
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
]
IDS = [operation for operation, _, _ in ROUTES]


def each_route(which: Callable[[str, str], bool] = lambda method, path: True) -> pytest.MarkDecorator:
    """The routes with such a method and path."""
    routes = [route for route in ROUTES if which(*route[1:])]
    return pytest.mark.parametrize(("operation", "method", "path"), routes, ids=[route[0] for route in routes])


def send(program: Program, call: Call, **headers: str) -> Any:
    return program.call(call.method, call.path, call.body, **headers)


def scopes_beside(need: Need) -> frozenset[Scope]:
    return frozenset(Scope) - frozenset(need.scopes)


def test_the_committed_description_is_what_the_routes_say() -> None:
    assert COMMITTED.read_text() == text(), "run `manage.py openapi`"


def test_every_operation_has_a_name_of_its_own() -> None:
    operations = [operation for _, operation in _operations()]
    assert len(operations) == len(ROUTES) == len(set(IDS)) == len(NEEDS)


def test_every_route_asks_who_it_is() -> None:
    for name, operation in _operations():
        (auth,) = operation.auth_callbacks
        assert isinstance(auth, Bearer), name


def test_what_changes_something_asks_for_more_than_reading() -> None:
    for operation, method, _ in ROUTES:
        need = NEEDS[operation]
        if method != "GET":
            assert Scope.READ not in need.scopes, operation
            assert need.permission is not Permission.READ, operation


@each_route()
def test_who_may_gets_what_the_description_promises(world: World, operation: str, method: str, path: str) -> None:
    answer = send(Program(make_token(world.member)), call_of(operation, method, path, world))
    described = DOCUMENT["paths"][path][method.lower()]["responses"]
    assert answer.status_code < HTTPStatus.BAD_REQUEST, answer.content
    assert str(answer.status_code) in described
    content = described[str(answer.status_code)].get("content", {})
    if "application/json" in content:
        schema = content["application/json"]["schema"] | {"components": DOCUMENT["components"]}
        faults = [error.message for error in Draft202012Validator(schema).iter_errors(answer.json())]
        assert not faults, faults[:5]
    for name in ("X-Request-Id", "RateLimit", "RateLimit-Policy"):
        assert name in answer.headers


@each_route()
def test_who_may_not_is_refused_and_told_why(world: World, operation: str, method: str, path: str) -> None:
    call, need = call_of(operation, method, path, world), NEEDS[operation]
    assert problem_of(send(Program(), call))["status"] == HTTPStatus.UNAUTHORIZED
    others = scopes_beside(need)
    if others:
        answer = send(Program(make_token(world.member, *others)), call)
        assert problem_of(answer)["type"] == "/api/v1/problems/scope-missing"
    for role in ROLES:
        if not allows(role, need.permission):
            answer = send(Program(make_token(world.member, role=role)), call)
            assert problem_of(answer)["type"] == "/api/v1/problems/forbidden", role


@each_route()
def test_a_role_does_what_it_may(world: World, operation: str, method: str, path: str) -> None:
    for role in ROLES:
        if allows(role, NEEDS[operation].permission):
            with undone():
                answer = send(Program(make_token(world.member, role=role)), call_of(operation, method, path, world))
                assert answer.status_code < HTTPStatus.BAD_REQUEST, (role, answer.content)


@contextmanager
def undone() -> Iterator[None]:
    """Of what happens within nothing stays in the database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@each_route()
def test_another_organisation_finds_nothing(
    world: World, charlie: Member, operation: str, method: str, path: str
) -> None:
    call = call_of(operation, method, path, world)
    answer = send(Program(make_token(charlie)), call)
    if "{" in path or "?" in call.path:
        assert problem_of(answer)["type"] == "/api/v1/problems/not-found"
    elif answer.status_code < HTTPStatus.BAD_REQUEST:
        assert_tells_nothing_of(world, answer)


@each_route(lambda method, path: "{" in path)
def test_what_is_not_there_is_not_found(world: World, operation: str, method: str, path: str) -> None:
    call = call_of(operation, method, path, world)
    parts = zip(call.path.split("/"), path.split("/"), strict=True)
    unknown = "/".join(str(uuid4()) if "{" in template else part for part, template in parts)
    answer = Program(make_token(world.member)).call(method, unknown, call.body)
    assert problem_of(answer)["status"] == HTTPStatus.NOT_FOUND


@each_route()
def test_a_person_without_the_forms_token_changes_nothing(world: World, operation: str, method: str, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.member.user)
    call = call_of(operation, method, path, world)
    answer = send(Program(client=client), call)
    if call.changes:
        assert problem_of(answer)["type"] == "/api/v1/problems/csrf"
    else:
        assert answer.status_code == HTTPStatus.OK


@each_route(lambda method, path: method == "POST")
def test_a_post_is_carried_out_once(world: World, operation: str, method: str, path: str) -> None:
    program, call = Program(make_token(world.member)), call_of(operation, method, path, world)
    first = send(program, call, Idempotency_Key="once")
    again = send(program, call, Idempotency_Key="once")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers.get("Location") == first.headers.get("Location")


@pytest.mark.usefixtures("standing_clock")
@each_route(lambda method, path: method == "GET" and not path.endswith(".csv"))
def test_a_get_answers_304_to_who_has_it(world: World, operation: str, method: str, path: str) -> None:
    program, call = Program(make_token(world.member)), call_of(operation, method, path, world)
    etag = send(program, call).headers["ETag"]
    assert send(program, call, If_None_Match=etag).status_code == HTTPStatus.NOT_MODIFIED


def assert_tells_nothing_of(world: World, answer: Any) -> None:
    told = b"".join(answer).decode() if answer.streaming else answer.content.decode()
    ours = (world.site.name, world.site.url, world.site.public_id, world.page_run.run_id, f'"{world.region.code}"')
    for fact in (*ours, world.member.user.email, world.member.organisation.public_id):
        assert str(fact) not in told


def _operations() -> Iterator[tuple[str, Any]]:
    for bound in api._get_bound_routers():
        for view in bound.path_operations.values():
            for operation in view.operations:
                yield operation.view_func.__name__, operation


def test_no_secret_of_a_monitor_is_ever_told(world: World) -> None:
    program = Program(make_token(world.member))
    monitor = f"monitors/{world.monitor('page').public_id}"
    changed = program.call("PATCH", monitor, {"headers": [{"name": "X-Key", "value": "hidden-value"}]})
    assert changed.json()["header_names"] == ["X-Key"]
    for path in (monitor, "monitors"):
        assert "hidden-value" not in json.dumps(program.get(path).json())
