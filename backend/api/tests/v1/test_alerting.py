"""Rules, incidents and maintenance by the API."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.signals import post_init
from django.utils import timezone

from backend.accounts.permissions import Role, Scope
from backend.alerts.models import Incident, Maintenance, Rule, Trend
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.examples import VALUES
from backend.api.tests.v1.world import World
from backend.cast import Member

pytestmark = pytest.mark.django_db


@pytest.fixture
def program(world: World) -> Program:
    return Program(make_token(world.member, Scope.ALERTS))


def faults(answer: Any) -> list[str]:
    """Where the problem lies."""
    return [fault["pointer"] for fault in problem_of(answer)["errors"]]


def test_a_rule_is_made_read_changed_and_deleted(world: World, program: Program) -> None:
    channel = program.post("channels", {"kind": "webhook", "url": "https://hook.example/"}).json()["id"]
    body = {
        "kind": "budget",
        "site": str(world.site.public_id),
        "params": {"metric": "lcp_ms", "limit": 2500},
        "channels": [channel],
        "remind_every_s": 3600,
    }
    answer = program.post("rules", body)
    made = answer.json()
    assert answer.status_code == 201
    assert (made["params"]["limit"], made["params"]["of_last"], made["severity"]) == (2500, 5, "warning")
    assert (made["title"], made["channels"], made["remind_every_s"]) == ("Budget", [channel], 3600)
    path = answer.headers["Location"]
    assert program.get(path).json() == made
    change = {"params": {"critical_limit": 4000}, "name": "Paint", "remind_every_s": None, "enabled": False}
    changed = program.call("PATCH", path, change).json()
    assert (changed["params"]["limit"], changed["params"]["critical_limit"]) == (2500, 4000)
    assert (changed["name"], changed["remind_every_s"], changed["enabled"]) == ("Paint", None, False)
    assert changed["channels"] == [channel]
    assert program.call("DELETE", path).status_code == 204
    assert not Rule.objects.exists()


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"kind": "pigeon"}, ["#/kind"]),
        ({"kind": "budget", "params": {"metric": "speed", "limit": -1}}, ["#/params/metric", "#/params/limit"]),
        ({"kind": "failures", "params": {"x/y": 1}}, ["#/params/x~1y"]),
        ({"kind": "failures", "params": {"failed": 9}}, ["#/params/failed"]),
        ({"kind": "failures", "delay_s": -1}, ["#/delay_s"]),
        ({"kind": "failures", "remind_every_s": 1}, ["#/remind_every_s"]),
        ({"kind": "failures", "channels": [str(uuid4())]}, ["#/channels"]),
        ({"kind": "failures", "site": str(uuid4())}, ["#/site"]),
        ({"kind": "failures", "monitor": str(uuid4())}, ["#/monitor"]),
    ],
)
def test_a_rule_that_cannot_be_names_every_field(program: Program, body: dict[str, Any], pointers: list[str]) -> None:
    assert faults(program.post("rules", body)) == pointers
    assert not Rule.objects.exists()


def test_a_monitor_names_its_site(world: World, program: Program) -> None:
    monitor = world.monitor("probe")
    made = program.post("rules", {"kind": "availability", "monitor": str(monitor.public_id)}).json()
    assert (made["site"], made["monitor"]) == (str(world.site.public_id), str(monitor.public_id))


def test_rules_come_in_pages_and_by_site(world: World, program: Program) -> None:
    for site in (str(world.site.public_id), None, None):
        program.post("rules", {"kind": "failures", "site": site})
    first = program.get("rules?limit=2").json()
    second = program.get(f"rules?limit=2&cursor={first['next']}").json()
    assert (len(first["items"]), len(second["items"]), second["next"]) == (2, 1, None)
    assert len(program.get(f"rules?site={world.site.public_id}").json()["items"]) == 3


def test_a_page_of_rules_reads_no_others(world: World, program: Program) -> None:
    read: list[int] = []

    def note(instance: Rule, **_: object) -> None:
        read.append(instance.pk)

    for _ in range(6):
        program.post("rules", {"kind": "failures", "site": str(world.site.public_id)})
    post_init.connect(note, sender=Rule)
    try:
        shown = program.get("rules?limit=2").json()["items"]
    finally:
        post_init.disconnect(note, sender=Rule)
    assert len(shown) == 2
    # One more tells whether another page follows.
    assert len(set(read)) == 3


def test_a_rule_is_tried_on_the_past(world: World, program: Program) -> None:
    tried = program.post("rules/preview", {"kind": "failures", "params": {"failed": 1, "of_last": 1}}).json()
    assert (tried["alerts"], tried["moments"]) == (0, [])
    untried = program.post("rules/preview", {"kind": "cdn"}).json()
    assert untried["alerts"] is None
    assert "once a rule looks" in untried["reason"]
    assert faults(program.post("rules/preview", {"kind": "budget", "params": {"limit": 0}})) == ["#/params/limit"]


def test_an_incident_is_followed_from_open_to_resolved(world: World, program: Program) -> None:
    path = f"incidents/{VALUES['incident_id'](world)}"
    (listed,) = program.get("incidents").json()["items"]
    assert (listed["status"], listed["cause"], listed["findings"][0]["metric"]) == ("open", "speed", "ttfb_ms")
    assert listed["findings"][0]["after_run"] == str(world.page_run.run_id)
    assert program.post(f"{path}/acknowledge").json()["status"] == "acknowledged"
    assert program.post(f"{path}/unacknowledge").json()["status"] == "open"
    until = (timezone.now() + timedelta(hours=1)).isoformat()
    assert program.post(f"{path}/mute", {"until": until}).json()["status"] == "muted"
    assert program.post(f"{path}/unmute").json()["status"] == "open"
    assert program.post(f"{path}/mute", {}).json()["muted_until_recovery"] is True
    assert program.post(f"{path}/comments", {"text": "Rolled back."}).json()["text"] == "Rolled back."
    closed = program.post(f"{path}/resolve").json()
    assert (closed["status"], closed["resolution"]) == ("resolved", "resolved")
    kinds = [entry["kind"] for entry in closed["timeline"]]
    assert kinds[0] == "opened"
    assert {"acknowledged", "muted", "unmuted", "comment", "resolved"} <= set(kinds)
    assert problem_of(program.post(f"{path}/acknowledge"))["status"] == 409
    assert program.get("incidents").json()["items"] == []
    assert len(program.get("incidents?status=resolved").json()["items"]) == 1
    assert len(program.get(f"incidents?status=all&site={world.site.public_id}").json()["items"]) == 1


def test_a_new_normal_is_accepted(world: World, program: Program) -> None:
    path = f"incidents/{VALUES['incident_id'](world)}"
    Trend.objects.get_or_create(monitor=world.monitor("probe"), defaults={"due_at": timezone.now()})
    assert program.post(f"{path}/accept").json()["resolution"] == "accepted"


def test_a_mute_that_makes_no_sense_names_its_field(world: World, program: Program) -> None:
    path = f"incidents/{VALUES['incident_id'](world)}/mute"
    for until in ("2020-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "2027-01-01T00:00:00"):
        assert faults(program.post(path, {"until": until})) == ["#/until"], until


def test_incidents_come_in_pages(world: World, program: Program) -> None:
    for _ in range(3):
        VALUES["incident_id"](world)
    first = program.get("incidents?limit=2").json()
    second = program.get(f"incidents?limit=2&cursor={first['next']}").json()
    ids = [one["id"] for one in first["items"] + second["items"]]
    assert len(set(ids)) == 3
    assert ids == [str(one.public_id) for one in Incident.objects.order_by("-pk")]


def test_a_maintenance_is_planned_and_ended(world: World, program: Program) -> None:
    now = timezone.now()
    body = {
        "site": str(world.site.public_id),
        "starts_at": now.isoformat(),
        "ends_at": (now + timedelta(hours=1)).isoformat(),
        "reason": "database",
    }
    answer = program.post("maintenance", body)
    assert answer.status_code == 201
    assert program.get(answer.headers["Location"]).json()["reason"] == "database"
    assert len(program.get("maintenance").json()["items"]) == 1
    assert program.call("DELETE", answer.headers["Location"]).status_code == 204
    assert Maintenance.objects.get().ends_at <= timezone.now()
    assert faults(program.post("maintenance", {**body, "ends_at": body["starts_at"]})) == ["#/ends_at"]
    assert faults(program.post("maintenance", {**body, "starts_at": "0001-01-01T00:00:00Z"})) == ["#/starts_at"]
    assert faults(program.post("maintenance", {**body, "site": str(uuid4())})) == ["#/site"]


def test_roles_scopes_and_organisations_hold(world: World, charlie: Member) -> None:
    incident = VALUES["incident_id"](world)
    viewer = Program(make_token(world.member, role=Role.VIEWER))
    assert viewer.get(f"incidents/{incident}").status_code == 200
    refused = problem_of(viewer.post(f"incidents/{incident}/acknowledge"))
    assert (refused["status"], refused["detail"][:35]) == (403, "The role of this token is viewer; t")
    reader = Program(make_token(world.member, Scope.READ))
    assert problem_of(reader.post(f"incidents/{incident}/resolve"))["type"].endswith("/scope-missing")
    theirs = Program(make_token(charlie))
    assert problem_of(theirs.get(f"incidents/{incident}"))["status"] == 404
    assert theirs.get("incidents?status=all").json()["items"] == []
    assert faults(theirs.get(f"incidents?site={world.site.public_id}")) == ["?site"]
    assert faults(theirs.post("rules", {"kind": "failures", "site": str(world.site.public_id)})) == ["#/site"]
