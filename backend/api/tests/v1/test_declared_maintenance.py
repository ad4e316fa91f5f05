"""Maintenance, as a file declares it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from backend.accounts.models import AuditEntry
from backend.accounts.permissions import Scope
from backend.alerts.actions.maintenance import plan_maintenance
from backend.alerts.models import Maintenance
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.test_declarations import Document, exported, faults, fields, site_in, told
from backend.api.tests.v1.world import World, make_world
from backend.cast import Member

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def window(starts_h: float, ends_h: float, reason: str = "") -> Document:
    """So many hours from the full hour, in the words of a file."""
    full = timezone.now().replace(minute=0, second=0, microsecond=0)
    times = {"starts_at": said(full + starts_h * HOUR), "ends_at": said(full + ends_h * HOUR)}
    return times | ({"reason": reason} if reason else {})


def said(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def declared(world: World, *windows: Document) -> Document:
    return {"sites": [{"name": world.site.name, "url": world.site.url, "maintenance": list(windows)}]}


def test_windows_are_planned_for_a_site_and_for_all(program: Program, world: World) -> None:
    night, week = window(5, 7, "Database"), window(-1, 100)
    made = told(program.post("declaration/apply", declared(world, night) | {"maintenance": [week]}))

    assert [one[:3] for one in made] == [("create", "maintenance", world.site.name), ("create", "maintenance", None)]
    begins, ends = (night[name][:16].replace("T", " ") for name in ("starts_at", "ends_at"))
    assert made[0][3] == f"{begins} to {ends} UTC (Database)"
    found = {row.site: (said(row.starts_at), said(row.ends_at), row.reason) for row in Maintenance.objects.all()}
    assert found == {
        world.site: (night["starts_at"], night["ends_at"], "Database"),
        None: (week["starts_at"], week["ends_at"], ""),
    }


def test_what_is_declared_already_changes_nothing_in_any_time_zone(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(world, window(5, 7, "Database")))
    acts, elsewhere = AuditEntry.objects.count(), window(5, 7, "Database")
    for name in ("starts_at", "ends_at"):
        at = datetime.fromisoformat(elsewhere[name])
        elsewhere[name] = (at + 2 * HOUR).isoformat().replace("+00:00", "+02:00")

    assert told(program.post("declaration/apply", declared(world, elsewhere))) == []
    assert AuditEntry.objects.count() == acts


def test_a_window_that_begins_then_gets_another_end_and_reason(program: Program, world: World) -> None:
    before, after = window(-1, 7), window(-1, 9, "Longer")
    program.post("declaration/apply", declared(world, before))
    row = Maintenance.objects.get()
    answer = program.post("declaration/apply", declared(world, after))

    assert fields(answer) == {"ends_at": (before["ends_at"], after["ends_at"]), "reason": ("", "Longer")}
    row.refresh_from_db()
    assert (said(row.ends_at), row.reason) == (after["ends_at"], "Longer")
    assert AuditEntry.objects.get(action="change_maintenance").detail["after"]["reason"] == "Longer"


def test_what_is_over_may_stay_in_the_file(program: Program, world: World) -> None:
    assert told(program.post("declaration/apply", declared(world, window(-9, -8), window(-90, -80)))) == []
    assert not Maintenance.objects.exists()


def test_windows_that_a_written_list_does_not_name_end_only_when_that_is_allowed(
    program: Program, world: World
) -> None:
    program.post("declaration/apply", declared(world, window(-1, 7), window(20, 21)))
    silent = {"sites": [{"name": world.site.name, "url": world.site.url}]}
    assert told(program.post("declaration/apply?delete=true", silent)) == []
    assert [one[0] for one in told(program.post("declaration/apply", declared(world)))] == ["keep", "keep"]
    assert [one[0] for one in told(program.post("declaration/apply?delete=true", declared(world)))] == ["delete"] * 2
    # The one that had begun stands as it was until now.
    assert Maintenance.objects.get().ends_at <= timezone.now()
    assert told(program.post("declaration/apply?delete=true", declared(world))) == []


def test_an_export_tells_what_is_not_over_and_changes_nothing(program: Program, world: World, charlie: Member) -> None:
    now = timezone.now()
    for begins, ends in ((now - 9 * HOUR, now - HOUR), (now - HOUR, now + HOUR), (now - HOUR, now + 2 * HOUR)):
        plan_maintenance(
            actor=None,
            organisation=world.site.organisation,
            site=world.site,
            starts_at=begins - HOUR,
            ends_at=max(ends, now + timedelta(seconds=1)),
        )
    Maintenance.objects.filter(starts_at__lt=now - 9 * HOUR).update(ends_at=now - HOUR)
    document = exported(program)
    assert len(site_in(document, world.site.name)["maintenance"]) == 2
    assert told(program.post("declaration/plan?delete=true", document)) == []
    theirs = make_world(charlie, code="eu-2")
    other = Program(make_token(charlie))
    other.post("declaration/apply", document)
    assert site_in(exported(other), world.site.name) == site_in(document, world.site.name)
    assert "maintenance" not in site_in(exported(other), theirs.site.name)


def test_what_cannot_be_is_refused_at_its_place(program: Program, world: World) -> None:
    wrong: Document = declared(world, window(7, 5), window(-5, -7), window(1, 2000)) | {
        "maintenance": [window(1, 2, "a\x07b")]
    }
    found = faults(program.post("declaration/plan", wrong))
    assert found == {
        "#/sites/0/maintenance/0/ends_at": "It must end after it has begun.",
        "#/sites/0/maintenance/1/ends_at": "It must end after it has begun.",
        "#/sites/0/maintenance/2/ends_at": "It may last at most 31 days.",
        "#/maintenance/0/reason": "The reason is one line of at most 200 characters.",
    }


def test_windows_are_declared_only_by_who_may_change_alerts(alice: Member, world: World) -> None:
    writer = Program(make_token(alice, Scope.WRITE))
    documents: tuple[Document, ...] = (declared(world), {"maintenance": []})
    for document in documents:
        assert problem_of(writer.post("declaration/plan", document))["type"].endswith("scope-missing")
