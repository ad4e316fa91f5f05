"""A certificate that has ended shuts visitors out: that is told once, and not again as what deep probes find."""

from datetime import timedelta

import pytest

from backend.accounts.models import Organisation
from backend.alerts import scrutiny
from backend.alerts.models import Channel, ChannelKind, Delivery, DeliveryState, Incident, Rule, Scrutiny
from backend.alerts.preview import preview
from backend.alerts.tests.world import MINUTE, World, make_world, put_run, told
from backend.runs.models import Finding, Schedule
from backend.runs.models import Run as StoredRun

pytestmark = pytest.mark.django_db
EXPIRED = {"failure_stage": "tls", "failure_kind": "certificate_expired", "failure_detail": "It has expired."}
REFUSED = {"failure_stage": "connect", "failure_kind": "connect_refused"}
RULES = ("availability", "finding")


@pytest.fixture
def world() -> World:
    return make_world("fra", "iad", rules=RULES)


def minutes(world: World, count: int, letter: str, **columns: str) -> None:
    """So many minutes of runs that come to this in all regions."""
    for _ in range(count):
        for place, region in enumerate(world.regions):
            put_run(
                world.monitor,
                region,
                world.now + timedelta(seconds=1 + 20 * place),
                letter,
                trigger="schedule",
                **columns,
            )
        world.minute("-" * len(world.regions))


def deep(world: World, count: int, letter: str, *ids: str, **columns: str) -> None:
    """So many deep probes of the first region found this."""
    for _ in range(count):
        world.now += timedelta(seconds=20)
        run = put_run(world.monitor, world.regions[0], world.now, letter, depth="deep", trigger="diagnose", **columns)
        Finding.objects.bulk_create(_finding(run, position, id) for position, id in enumerate(ids, start=1))
        Schedule.objects.update(next_at=world.now + 60 * MINUTE)
        Scrutiny.objects.update(due_at=world.now)
        scrutiny.step(lambda: world.now)


def _finding(run: StoredRun, position: int, id: str) -> Finding:
    return Finding(
        run_id=run.run_id,
        scheduled_for=run.scheduled_for,
        position=position,
        monitor_id=run.monitor_id,
        region_id=run.region_id,
        finding=id,
        severity="critical",
        confidence="high",
    )


def causes() -> list[str]:
    return list(Incident.objects.order_by("pk").values_list("cause", flat=True))


def test_a_site_that_is_down_for_its_certificate_is_one_incident(world: World) -> None:
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 3, "x", "tls.cert_expired", **EXPIRED)
    assert (told(), causes()) == (["opened"], ["availability"])
    minutes(world, 3, ".")
    deep(world, 2, ".")
    assert told() == ["opened", "recovered"]


def test_what_is_found_once_the_outage_is_over_is_told(world: World) -> None:
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 2, "x", "tls.cert_expired", **EXPIRED)
    minutes(world, 3, ".")
    deep(world, 1, ".", "tls.cert_expired")
    assert causes() == ["availability"]
    deep(world, 1, ".", "tls.cert_expired")
    assert (told(), causes()) == (["opened", "recovered", "opened"], ["availability", "finding"])


def test_a_cause_that_is_not_why_the_site_is_down_is_told_beside_it(world: World) -> None:
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 2, "x", "tls.cert_expired", "tls.cert_name_mismatch", **EXPIRED)
    assert (told(), causes()) == (["opened", "opened"], ["availability", "finding"])


def test_an_outage_of_another_kind_has_said_nothing_of_certificates(world: World) -> None:
    minutes(world, 2, ".")
    minutes(world, 3, "x", **REFUSED)
    deep(world, 2, ".", "tls.cert_expired")
    assert causes() == ["availability", "finding"]


def test_an_outage_that_nobody_was_told_of_has_said_nothing(world: World) -> None:
    Rule.objects.filter(kind="availability").update(notify=False)
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 2, "x", "tls.cert_expired", **EXPIRED)
    assert (told(), causes()) == (["opened"], ["availability", "finding"])


def test_who_did_not_hear_of_the_outage_hears_of_the_cause(world: World) -> None:
    other = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.SLACK, name="Security", target="hooks.slack.com"
    )
    Rule.objects.get(kind="availability").channels.set([world.channel])
    Rule.objects.get(kind="finding").channels.set([other])
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 2, "x", "tls.cert_expired", **EXPIRED)
    assert causes() == ["availability", "finding"]
    assert list(Delivery.objects.order_by("pk").values_list("channel__name", flat=True)) == ["Ops", "Security"]
    # Whom a rule that is tried would tell nobody knows.
    found = preview(world.fleet.organisation, kind="finding", params={}, site=world.fleet.site, now=world.now + MINUTE)
    assert found.alerts == 1


@pytest.mark.parametrize(
    ("own", "is_on", "expected"),
    [(False, True, ["availability", "finding"]), (False, False, ["availability"]), (True, True, ["availability"])],
)
def test_the_cause_is_told_where_a_channel_of_its_rule_that_is_told_anything_did_not_hear_of_the_outage(
    world: World, own: bool, is_on: bool, expected: list[str]
) -> None:
    ours, others = world.fleet.organisation, Organisation.objects.create(name="Others")
    for organisation in (ours, others):
        Channel.objects.create(organisation=organisation, kind="webhook", name="Log", target="x.example", enabled=is_on)
    Rule.objects.get(kind="availability").channels.set([world.channel])
    Rule.objects.get(kind="finding").channels.set([world.channel] if own else [])
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 2, "x", "tls.cert_expired", **EXPIRED)
    assert causes() == expected


def test_an_outage_whose_message_was_never_to_arrive_has_said_nothing(world: World) -> None:
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    Delivery.objects.update(state=DeliveryState.DROPPED)
    deep(world, 2, "x", "tls.cert_expired", **EXPIRED)
    assert causes() == ["availability", "finding"]


def test_what_was_told_before_the_outage_ends_by_what_is_found_after_it(world: World) -> None:
    minutes(world, 2, ".")
    deep(world, 2, ".", "tls.cert_expired")
    assert causes() == ["finding"]
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 3, "x", "tls.cert_expired", **EXPIRED)
    assert told() == ["opened", "opened"]
    minutes(world, 3, ".")
    deep(world, 2, ".")
    assert told() == ["opened", "opened", "recovered", "recovered"]


def test_a_rule_about_findings_would_not_have_told_what_outages_did(world: World) -> None:
    minutes(world, 2, ".")
    minutes(world, 3, "x", **EXPIRED)
    deep(world, 3, "x", "tls.cert_expired", **EXPIRED)
    found = preview(world.fleet.organisation, kind="finding", params={}, site=world.fleet.site, now=world.now + MINUTE)
    assert found.alerts == 0
