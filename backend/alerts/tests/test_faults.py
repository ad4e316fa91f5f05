"""What cannot be judged or told keeps nothing else from being judged and told."""

from datetime import datetime, timedelta

import pytest
from django.db import DataError

from backend.alerts import judging, upkeep
from backend.alerts.models import Incident, Maintenance, Rule
from backend.alerts.tests.world import World, make_rule, make_world, told
from backend.alerts.turns import Turns
from backend.sites.models import Site

pytestmark = pytest.mark.django_db


def blog(world: World) -> Site:
    """Another site of the same organisation."""
    return Site.objects.create(organisation=world.fleet.organisation, name="Blog", url="https://blog.example/")


def owed(world: World, site: Site, key: str, **fields: object) -> Incident:
    """An outage that began in silence."""
    return Incident.objects.create(
        organisation=site.organisation,
        site=site,
        key=key,
        cause="availability",
        state="failing",
        worst_state="failing",
        severity="critical",
        opened_at=world.now,
        changed_at=world.now,
        owed=True,
        **fields,
    )


def test_an_incident_that_cannot_be_tended_stops_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(rules=["availability"])
    maintenance = Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=world.now, ends_at=world.now + timedelta(minutes=3)
    )
    broken = owed(world, blog(world), "availability/broken")
    pay = upkeep._pay

    def pay_or_fail(incident: Incident, now: datetime) -> int:
        if incident.pk == broken.pk:
            raise IndexError("there is nothing to say")
        return pay(incident, now)

    monkeypatch.setattr(upkeep, "_pay", pay_or_fail)
    world.minutes("... xxx xxx xxx xxx")
    assert maintenance.ends_at < world.now
    assert told() == ["opened"]


@pytest.mark.parametrize("duty", ["look_around", "enrol", "watch_regions"])
def test_a_duty_that_fails_keeps_no_monitor_from_being_judged(monkeypatch: pytest.MonkeyPatch, duty: str) -> None:
    world = make_world(rules=["availability"])

    def fail(now: datetime) -> int:
        raise IndexError("there is nothing to say")

    monkeypatch.setattr(judging, duty, fail)
    world.minutes("... xxx")
    assert told() == ["opened"]


def test_a_rule_about_agents_that_cannot_be_judged_keeps_no_other_from_being_told() -> None:
    world = make_world()
    make_rule(world, "agent")
    broken = Rule.objects.filter(kind="agent").earliest("pk")
    Rule.objects.filter(pk=broken.pk).update(params={})
    world.minute("...")
    world.now += timedelta(minutes=8)
    world.beat("fra", "iad")
    world.judge()
    assert told() == ["opened"]
    assert Incident.objects.get().key == "agent/sin"


def test_what_the_database_refuses_of_one_monitor_keeps_no_other_from_its_turn() -> None:
    world = make_world()
    asked: list[int] = []

    def look(now: datetime, limit: int) -> int:
        asked.append(limit)
        if limit > 1:
            raise DataError("invalid input syntax for type json")
        return 0

    Turns(table="alerts_watch", look=look, batch=2, put_off=timedelta(minutes=5)).next(world.now)
    assert asked == [2, 1, 1]


@pytest.mark.parametrize("silence", ["muted", "maintenance"])
def test_many_silent_incidents_keep_none_from_being_told(monkeypatch: pytest.MonkeyPatch, silence: str) -> None:
    monkeypatch.setattr(upkeep, "AT_ONCE", 2)
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    quiet = blog(world)
    hour = {"starts_at": world.now, "ends_at": world.now + timedelta(hours=1)}
    if silence == "maintenance":
        Maintenance.objects.create(organisation=quiet.organisation, site=quiet, **hour)
    for n in range(3):
        owed(world, quiet, f"availability/{n}", remind_at=world.now, muted_until_recovery=silence == "muted")
    Maintenance.objects.create(
        organisation=quiet.organisation,
        site=world.fleet.site,
        starts_at=world.now,
        ends_at=world.now + timedelta(minutes=3),
    )
    world.minutes("... xxx xxx xxx xxx")
    assert told() == ["opened"]
    world.minutes("xxx xxx xxx xxx xxx")
    assert told() == ["opened", "reminder"]
