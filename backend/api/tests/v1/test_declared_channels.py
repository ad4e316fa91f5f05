"""Channels, as a file declares them: all but their secrets, which go in and never come out."""

import json
from typing import Any

import pytest

from backend.accounts.models import AuditEntry
from backend.accounts.permissions import Role, Scope
from backend.alerts.models import Channel, ChannelKind, Rule
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.test_declarations import Document, exported, faults, fields, told
from backend.api.tests.v1.world import World
from backend.cast import Member

pytestmark = pytest.mark.django_db

HOURS: Document = {
    "days": ["mon", "tue"],
    "begins": "08:00",
    "ends": "18:00",
    "time_zone": "Europe/Berlin",
    "critical_at_any_time": False,
}
# Everything of each kind; `s3cret` stands in all that is one.
TIMING: Document = {"after_s": 600, "hours": HOURS, "weekly_report": True, "enabled": False}
SLACK: Document = {"name": "ops", "kind": "slack", "url": "https://hooks.slack.com/services/s3cret"} | TIMING
MAIL: Document = {"name": "mail", "kind": "email", "addresses": ["s3cret@shop.example", "b@shop.example"]}
HOOK: Document = {"name": "pager", "kind": "webhook", "url": "https://pager.example/s3cret"}
APP: Document = {
    "name": "app",
    "kind": "slack_app",
    "slack_app": {"token": "xoxb-s3cret-0123456789", "conversation": "C0123ABCDEF"},
}
ALL = [SLACK, MAIL, HOOK, APP]
SECRET = {"before": None, "after": None, "is_secret": True}


def declared(*channels: Document) -> Document:
    return {"channels": list(channels)}


def without_secrets(channel: Document) -> Document:
    kept = {name: value for name, value in channel.items() if name not in ("url", "addresses", "slack_app")}
    return kept | ({"slack_app": {"conversation": "C0123ABCDEF"}} if channel["kind"] == "slack_app" else {})


def stored(name: str) -> Channel:
    return Channel.objects.defer(None).get(name=name)


def test_channels_of_each_kind_are_made(program: Program, world: World) -> None:
    made = told(program.post("declaration/apply", declared(*ALL)))
    assert made == [("create", "channel", None, name) for name in ("ops", "mail", "pager", "app")]
    ops = stored("ops")
    assert (ops.config["url"], ops.after_s, ops.weekly, ops.enabled) == (SLACK["url"], 600, True, False)
    assert ops.its_hours is not None
    assert ops.its_hours.to_json() == HOURS
    assert stored("mail").config["addresses"] == MAIL["addresses"]
    assert stored("pager").config["secret"].startswith("whsec_")
    assert stored("app").config["token"] == APP["slack_app"]["token"]
    assert [stored(name).enabled for name in ("mail", "pager", "app")] == [True] * 3
    assert AuditEntry.objects.filter(action="create_channel", actor=world.member.user).count() == 4


def test_what_is_declared_already_changes_nothing_with_secrets_and_without(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(*ALL))
    acts = AuditEntry.objects.count()
    turned = MAIL | {"addresses": MAIL["addresses"][::-1]}
    for channels in (ALL, [SLACK, turned, HOOK, APP], list(map(without_secrets, ALL)), exported(program)["channels"]):
        assert told(program.post("declaration/apply?delete=true", declared(*channels))) == []
    assert AuditEntry.objects.count() == acts
    assert Channel.objects.count() == 4


def test_no_secret_leaves(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(*ALL))
    others = json.loads(json.dumps(declared(*ALL)).replace("s3cret", "an0ther").replace("C0123ABCDEF", "C0123ABCDEG"))
    answer = program.post("declaration/plan", others)
    assert [(change["name"], change["fields"]) for change in answer.json()["changes"]] == [
        ("ops", [{"name": "url"} | SECRET]),
        ("mail", [{"name": "addresses"} | SECRET]),
        ("pager", [{"name": "url"} | SECRET]),
        (
            "app",
            [
                {
                    "name": "slack_app",
                    "before": {"conversation": "C0123ABCDEF"},
                    "after": {"conversation": "C0123ABCDEG"},
                    "is_secret": False,
                }
            ],
        ),
    ]
    told_of = answer.content + program.get("declaration").content
    assert b"s3cret" not in told_of
    assert b"an0ther" not in told_of
    assert exported(program)["channels"] == sorted(map(without_secrets, ALL), key=lambda one: one["name"])
    assert stored("ops").config["url"] == SLACK["url"]


def test_another_secret_is_stored_and_a_webhook_signs_as_before(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(HOOK, APP))
    signed = stored("pager").config["secret"]
    token = {"token": "xoxb-an0ther-0123456789"}
    changes = declared(HOOK | {"url": "https://pager.example/an0ther"}, APP | {"slack_app": token})
    assert [one[:2] for one in told(program.post("declaration/apply", changes))] == [("change", "channel")] * 2
    assert stored("pager").config == {"url": "https://pager.example/an0ther", "secret": signed}
    assert stored("app").config == {**APP["slack_app"], **token, "signing_secret": ""}
    assert told(program.post("declaration/apply", changes)) == []


def test_when_a_channel_is_told_is_changed_field_by_field(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(SLACK))
    answer = program.post("declaration/apply", declared({"name": "ops", "kind": "slack", "after_s": 60}))
    assert fields(answer) == {
        "after_s": (600, 60),
        "hours": (HOURS, None),
        "weekly_report": (True, False),
        "enabled": (False, True),
    }
    assert (stored("ops").config["url"], stored("ops").enabled) == (SLACK["url"], True)


@pytest.mark.parametrize("enabled", [True, False])
def test_what_the_other_side_switched_off_stays_so_until_it_leads_elsewhere(
    program: Program, world: World, enabled: bool
) -> None:
    program.post("declaration/apply", declared(HOOK))
    Channel.objects.update(enabled=False, disabled_reason="Gone.")
    wanted = HOOK | {"enabled": enabled}
    assert told(program.post("declaration/apply", declared(wanted))) == []
    assert (stored("pager").enabled, stored("pager").disabled_reason) == (False, "Gone.")
    assert exported(program)["channels"] == [without_secrets(HOOK)]
    program.post("declaration/apply", declared(wanted | {"url": "https://elsewhere.example/"}))
    assert (stored("pager").enabled, stored("pager").disabled_reason) == (enabled, "")


def test_channels_that_a_written_list_does_not_name_go_only_when_that_is_allowed(
    program: Program, world: World
) -> None:
    program.post("declaration/apply", declared(HOOK))
    assert told(program.post("declaration/apply?delete=true", {"sites": []})) == []
    assert told(program.post("declaration/apply", declared())) == [("keep", "channel", None, "pager")]
    assert told(program.post("declaration/apply?delete=true", declared())) == [("delete", "channel", None, "pager")]
    assert not Channel.objects.exists()


def test_rules_tell_channels_that_are_made_with_them(program: Program, world: World) -> None:
    rule = {"kind": "no_data", "name": "Late", "params": {"intervals": 9}, "channels": ["pager"]}
    program.post("declaration/apply", declared(HOOK) | {"rules": [rule]})
    assert [channel.name for channel in Rule.objects.get(name="Late").channels.all()] == ["pager"]


def test_rules_that_name_a_channel_which_goes_are_told_with_it(program: Program, world: World) -> None:
    """One that named it alone tells all channels from then on."""
    rule = {"kind": "no_data", "params": {"intervals": 9}}
    rules = [rule | {"name": "Both", "channels": ["mail", "pager"]}, rule | {"name": "Alone", "channels": ["pager"]}]
    program.post("declaration/apply", declared(HOOK, MAIL) | {"rules": rules})
    changes = program.post("declaration/apply?delete=true", declared(MAIL)).json()["changes"]
    assert [(one["act"], one["what"], one["name"], [field["after"] for field in one["fields"]]) for one in changes] == [
        ("delete", "channel", "pager", []),
        ("change", "rule", "Both", [["mail"]]),
        ("change", "rule", "Alone", [[]]),
    ]


def test_a_channel_whose_secret_cannot_be_read_stays_and_can_be_given_one(
    program: Program, world: World, settings: Any
) -> None:
    program.post("declaration/apply", declared(HOOK, APP))
    settings.FERNET_KEYS = ("Vf7jyJc8dWZc3pDg9a4oYjmN9Z3dYtXvP9zv1mBgVnQ=",)
    assert told(program.post("declaration/plan", declared(*exported(program)["channels"]))) == []
    assert told(program.post("declaration/apply", declared(HOOK)))[-1] == ("change", "channel", None, "pager")
    assert stored("pager").config["url"] == HOOK["url"]


def test_what_cannot_be_is_refused_at_its_place(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(HOOK))
    new: Document = {"name": "new", "kind": "slack"}
    wrong = [
        HOOK | {"kind": ChannelKind.SLACK.value},
        new,
        new | {"url": "https://elsewhere.example/"},
        MAIL | {"url": "https://elsewhere.example/"},
        {"name": "app", "kind": "slack_app", "slack_app": {"token": "s3cret"}},
        {"name": "late", "kind": "email", "addresses": ["a@shop.example"], "hours": HOURS | {"time_zone": "Nowhere"}},
        {"name": "two  spaces", "kind": "email"},
        {"name": "late", "kind": "email"},
    ]
    found = faults(program.post("declaration/apply", declared(*wrong)))
    assert {place: text.partition(" ")[0] for place, text in found.items()} == {
        "#/channels/0/kind": "pager",
        "#/channels/1/url": "There",
        "#/channels/2/url": "A",
        "#/channels/2/name": "new",
        "#/channels/3/url": "A",
        "#/channels/4/slack_app/token": "A",
        "#/channels/5/hours": "There",
        "#/channels/6/name": "The",
        "#/channels/7/addresses": "There",
        "#/channels/7/name": "late",
    }
    assert found["#/channels/1/url"] == "There is no channel new yet, so it must be said where it leads: give its url."
    assert Channel.objects.count() == 1


def test_who_may_not_change_channels_may_leave_them_as_they_are(program: Program, alice: Member, world: World) -> None:
    program.post("declaration/apply", declared(HOOK))
    member = Program(make_token(alice, role=Role.MEMBER))
    same = declared(without_secrets(HOOK))
    assert told(member.post("declaration/apply?delete=true", same)) == []
    assert told(member.post("declaration/apply", declared()))[0][0] == "keep"
    # Also where nothing would change: what is stored is nobody's to guess.
    refused = (declared(HOOK), declared(without_secrets(HOOK) | {"after_s": 60}), declared(HOOK | {"name": "new"}))
    for action in ("plan", "apply"):
        for document in refused:
            assert problem_of(member.post(f"declaration/{action}", document))["type"].endswith("forbidden")
        assert problem_of(member.post(f"declaration/{action}?delete=true", declared()))["type"].endswith("forbidden")
    writer = Program(make_token(alice, Scope.WRITE))
    assert problem_of(writer.post("declaration/plan", declared(HOOK)))["type"].endswith("scope-missing")
    assert (stored("pager").after_s, Channel.objects.count()) == (0, 1)
