"""Channels by the API."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from pytest_django import Settings

from backend.accounts.permissions import Role, Scope
from backend.alerts import channels
from backend.alerts.channels import Parcel, Sent
from backend.alerts.models import Channel, ChannelKind
from backend.alerts.tests.slack_workspace import CONFIG
from backend.alerts.tests.standin import StandIn
from backend.api.models import KeptAnswer
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.cast import Member
from backend.outbound import Outbound
from workers.measurement.addresses import parse_networks

pytestmark = pytest.mark.django_db

HOOK = {"kind": "webhook", "name": "ops", "url": "https://hook.example/path?key=hunter2"}


@pytest.fixture
def program(alice: Member) -> Program:
    return Program(make_token(alice, Scope.ALERTS))


@pytest.fixture
def there(settings: Settings) -> Iterator[StandIn]:
    with StandIn() as server:
        settings.PRIVATE_TARGETS = parse_networks("127.0.0.0/8")
        settings.EXTRA_PORTS = frozenset(range(1024, 65536))
        settings.SLACK_ORIGINS = (server.origin,)
        yield server


def make(program: Program, **changes: object) -> Any:
    answer = program.post("channels", {**HOOK, **changes})
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_webhook_is_made_and_its_secret_given_once(program: Program) -> None:
    answer = program.post("channels", HOOK)
    made = answer.json()
    assert (answer.status_code, made["target"], made["enabled"]) == (201, "hook.example", True)
    assert made["secret"].startswith("whsec_")
    found = program.get(answer.headers["Location"])
    assert found.json() == {name: value for name, value in made.items() if name != "secret"}
    assert b"hunter2" not in found.content + program.get("channels").content


def test_a_slack_app_is_made_and_moved_and_its_secrets_given_to_nobody(program: Program) -> None:
    answer = program.post("channels", {"kind": "slack_app", "name": "app", "slack_app": CONFIG})
    made = answer.json()
    assert (answer.status_code, made["target"], made["secret"]) == (201, CONFIG["conversation"], None)
    moved = program.call("PATCH", f"channels/{made['id']}", {"slack_app": {"conversation": "C9999ZZZZ"}})
    assert moved.json()["target"] == "C9999ZZZZ"
    assert Channel.objects.get().config == CONFIG | {"conversation": "C9999ZZZZ"}
    for given in (answer.content, moved.content):
        assert CONFIG["token"].encode() not in given
        assert CONFIG["signing_secret"].encode() not in given


def test_what_a_slack_app_lacks_is_named(program: Program) -> None:
    found = problem_of(program.post("channels", {"kind": "slack_app", "name": "app"}))
    assert [fault["pointer"] for fault in found["errors"]] == ["#/slack_app/token"]


def test_a_secret_is_not_kept_readable_for_who_repeats_the_request(program: Program) -> None:
    first = program.post("channels", HOOK, Idempotency_Key="one")
    again = program.post("channels", HOOK, Idempotency_Key="one")
    assert again.json() == first.json()
    assert Channel.objects.count() == 1
    assert first.json()["secret"].encode() not in bytes(KeptAnswer.objects.get().body)


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"url": "http://169.254.169.254/"}, "#/url", "inside your network"),
        ({"url": None}, "#/url", "Paste the address"),
        ({"kind": "slack"}, "#/url", "begins with https://hooks.slack.com/"),
        ({"kind": "email", "addresses": ["nobody"]}, "#/addresses", "not an e-mail address"),
        ({"kind": "email"}, "#/addresses", "at least one"),
        ({"kind": "pigeon"}, "#/kind", ""),
        ({"token": "x"}, "#/token", ""),
    ],
)
def test_what_cannot_work_is_a_problem_that_names_the_field(
    program: Program, changes: dict[str, object], pointer: str, words: str
) -> None:
    found = problem_of(program.post("channels", {**HOOK, **changes}))
    assert found["status"] == 422
    assert [(fault["pointer"], words in fault["detail"]) for fault in found["errors"]] == [(pointer, True)]


def test_a_name_is_used_once(program: Program) -> None:
    make(program)
    assert problem_of(program.post("channels", HOOK))["errors"][0]["pointer"] == "#/name"


def test_channels_come_in_pages(program: Program) -> None:
    for name in ("c", "a", "b"):
        make(program, name=name)
    first = program.get("channels?limit=2").json()
    second = program.get(f"channels?limit=2&cursor={first['next']}").json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["a", "b", "c"]
    assert second["next"] is None


def test_a_channel_is_changed_switched_and_deleted(program: Program) -> None:
    path = f"channels/{make(program)['id']}"
    changed = program.call("PATCH", path, {"name": "night", "url": "https://new.example/", "enabled": False}).json()
    assert (changed["name"], changed["target"], changed["enabled"]) == ("night", "new.example", False)
    assert program.call("DELETE", path).status_code == 204
    assert problem_of(program.get(path))["status"] == 404


HOURS = {"days": ["mon", "fri"], "begins": "22:00", "ends": "06:00", "time_zone": "Asia/Tokyo"}


def test_a_channel_is_told_later_and_at_some_hours(program: Program) -> None:
    made = make(program, after_s=900, hours={**HOURS, "days": ["fri", "mon", "fri"]})
    assert (made["after_s"], made["hours"]) == (900, {**HOURS, "critical_at_any_time": True})
    path = f"channels/{made['id']}"
    named = program.call("PATCH", path, {"name": "night"}).json()
    assert (named["after_s"], named["hours"]) == (900, made["hours"])
    other = program.call("PATCH", path, {"hours": {**HOURS, "critical_at_any_time": False}, "after_s": 0}).json()
    assert (other["after_s"], other["hours"]["critical_at_any_time"]) == (0, False)
    assert program.call("PATCH", path, {"hours": None}).json()["hours"] is None


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"after_s": 86_401}, "#/after_s"),
        ({"after_s": -1}, "#/after_s"),
        ({"hours": {**HOURS, "days": []}}, "#/hours/days"),
        ({"hours": {**HOURS, "days": ["monday"]}}, "#/hours/days/0"),
        ({"hours": {**HOURS, "begins": "24:00"}}, "#/hours/begins"),
        ({"hours": {**HOURS, "begins": "8:00"}}, "#/hours/begins"),
        ({"hours": {**HOURS, "time_zone": "Mars/Olympus"}}, "#/hours"),
    ],
)
def test_what_no_clock_shows_is_a_problem_that_names_the_field(
    program: Program, changes: dict[str, object], pointer: str
) -> None:
    found = problem_of(program.post("channels", {**HOOK, **changes}))
    assert (found["status"], [fault["pointer"] for fault in found["errors"]]) == (422, [pointer])


@pytest.mark.usefixtures("standing_clock")
def test_a_test_gives_the_other_sides_answer_and_stands_in_the_log(program: Program, there: StandIn) -> None:
    path = f"channels/{make(program, kind='slack', url=there.url)['id']}"
    assert program.post(f"{path}/test").json() == {"outcome": "delivered", "status": 200, "answer": "ok"}
    (line,) = program.get(f"{path}/deliveries").json()["items"]
    assert (line["state"], line["answer"], line["event"]) == ("delivered", "ok", "test")
    again = program.post(f"{path}/test")
    assert problem_of(again)["status"] == 409
    assert int(again.headers["Retry-After"]) >= 1
    assert len(there.calls) == 1


@pytest.mark.usefixtures("standing_clock")
def test_a_test_with_a_key_is_sent_once_and_holds_nothing_while_the_other_side_is_waited_for(
    program: Program, there: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"channels/{make(program, kind='slack', url=there.url)['id']}/test"
    before, held, send = len(connection.atomic_blocks), [], channels.send

    def sending(kind: ChannelKind, config: Any, parcel: Parcel, outbound: Outbound) -> Sent:
        held.append(len(connection.atomic_blocks))
        return send(kind, config, parcel, outbound)

    monkeypatch.setattr(channels, "send", sending)
    first, again = (program.post(path, Idempotency_Key="one") for _ in range(2))
    assert held == [before]
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(there.calls) == 1


def test_a_secret_is_rotated_where_there_is_one(program: Program) -> None:
    made = make(program)
    rotated = program.post(f"channels/{made['id']}/secret").json()
    assert rotated["secret"] not in ("", made["secret"])
    email = make(program, kind="email", name="mail", url=None, addresses=["ops@acme.example"])
    assert email["secret"] is None
    assert problem_of(program.post(f"channels/{email['id']}/secret"))["status"] == 422


def test_others_find_nothing_and_members_change_nothing(program: Program, alice: Member, charlie: Member) -> None:
    made = make(program)
    theirs = Program(make_token(charlie))
    for method, path in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/test"),
        ("POST", "/secret"),
        ("GET", "/deliveries"),
    ):
        answer = theirs.call(method, f"channels/{made['id']}{path}", {} if method == "PATCH" else None)
        assert problem_of(answer)["status"] == 404, path
    assert theirs.get("channels").json()["items"] == []
    member = Program(make_token(alice, role=Role.MEMBER))
    assert member.get("channels").status_code == 200
    assert problem_of(member.post("channels", HOOK))["status"] == 403
    reader = Program(make_token(alice, Scope.READ))
    assert problem_of(reader.post(f"channels/{made['id']}/test"))["type"].endswith("/scope-missing")
    assert problem_of(program.get(f"channels/{uuid4()}"))["status"] == 404
    assert Channel.objects.get().kind == ChannelKind.WEBHOOK
