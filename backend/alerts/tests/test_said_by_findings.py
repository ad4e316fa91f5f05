"""Certificates that shut visitors out may be found by deep probes first: the outage that follows is no second alert."""

from datetime import timedelta

import pytest

from backend.alerts.judgement.findings import DeepLook, Found
from backend.alerts.models import Channel, ChannelKind, Delivery, Incident, IncidentEvent, Rule
from backend.alerts.preview import preview
from backend.alerts.said_by_outages import Outage
from backend.alerts.tests.night import BY_DAY
from backend.alerts.tests.test_expired_certificates import EXPIRED, REFUSED, RULES, causes, deep, minutes
from backend.alerts.tests.world import World, make_world, titles, told

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
MISMATCH = "tls.cert_name_mismatch"
WRONG_HOST = {"failure_stage": "tls", "failure_kind": "certificate_wrong_host", "failure_detail": "It is of another."}


def would_have_told(world: World) -> int | None:
    organisation = world.fleet.organisation
    return preview(organisation, kind="availability", params={}, site=world.fleet.site, now=world.now).alerts


@pytest.fixture
def world() -> World:
    """Its first region is refused for a certificate of another host, and deep probes have told so."""
    world = make_world("fra", rules=RULES)
    minutes(world, 2, ".")
    deep(world, 2, "x", MISMATCH, **WRONG_HOST)
    assert told() == ["opened"]
    return world


def test_an_outage_whose_cause_was_told_is_told_no_second_time_nor_is_its_end(world: World) -> None:
    minutes(world, 3, "x", **WRONG_HOST)
    assert causes() == ["finding", "availability"]
    minutes(world, 3, ".")
    deep(world, 2, ".")
    assert told() == ["opened", "recovered"]
    assert titles()[-1].startswith("Shop: mended: the certificate is for another name")
    assert not Incident.objects.filter(resolved_at=None).exists()
    silent = IncidentEvent.objects.filter(incident__cause="availability", kind="opened")
    assert [event.silenced for event in silent] == ["finding"]
    assert would_have_told(world) == 0


def test_the_outage_may_outlast_the_finding_for_as_long_as_it_takes_to_be_sure_of_its_end(world: World) -> None:
    minutes(world, 3, "x", **WRONG_HOST)
    deep(world, 2, ".")
    assert told() == ["opened", "recovered"]
    minutes(world, 3, ".")
    assert told() == ["opened", "recovered"]


def test_a_site_that_stays_down_once_its_certificate_is_mended_is_told_then(world: World) -> None:
    minutes(world, 3, "x", **WRONG_HOST)
    deep(world, 2, ".")
    minutes(world, 4, "x", **REFUSED)
    assert would_have_told(world) == 0
    minutes(world, 2, "x", **REFUSED)
    assert told() == ["opened", "recovered", "opened"]
    assert titles()[-1].startswith("Shop is down")
    assert would_have_told(world) == 1


def test_an_outage_of_another_kind_is_told_beside_the_finding(world: World) -> None:
    minutes(world, 3, "x", **REFUSED)
    assert told() == ["opened", "opened"]
    assert titles()[-1].startswith("Shop is down")
    assert would_have_told(world) == 1


def test_an_outage_of_the_same_kind_with_another_cause_is_told_beside_the_finding(world: World) -> None:
    minutes(world, 3, "x", **EXPIRED)
    assert told() == ["opened", "opened"]


def test_who_did_not_hear_of_the_finding_hears_of_the_outage(world: World) -> None:
    on_call = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.SLACK, name="On call", target="hooks.slack.com"
    )
    Rule.objects.get(kind="availability").channels.set([on_call])
    minutes(world, 3, "x", **WRONG_HOST)
    assert list(Delivery.objects.order_by("pk").values_list("channel__name", flat=True)) == ["Ops", "On call"]
    assert would_have_told(world) == 1


@pytest.mark.parametrize(("at_any_time", "expected"), [(True, ["opened", "opened"]), (False, ["opened"])])
def test_an_outage_that_may_be_told_at_night_is_told_where_the_milder_finding_is_held_until_morning(
    at_any_time: bool, expected: list[str]
) -> None:
    world = make_world("fra", rules=RULES)
    Rule.objects.filter(kind="finding").update(severity="warning")
    hours = {**BY_DAY.to_json(), "critical_at_any_time": at_any_time}
    Channel.objects.update(hours=hours)
    minutes(world, 2, ".")
    deep(world, 2, "x", MISMATCH, **WRONG_HOST)
    morning = world.now + 8 * HOUR
    Delivery.objects.update(next_try_at=morning, held_until=morning)
    minutes(world, 3, "x", **WRONG_HOST)
    assert told() == expected


def test_what_was_told_of_another_site_says_nothing_of_this_one(world: World) -> None:
    blog = world.fleet.organisation.sites.create(name="Blog", url="https://blog.example/")
    Incident.objects.update(site=blog)
    minutes(world, 3, "x", **WRONG_HOST)
    assert told() == ["opened", "opened"]
    assert titles()[-1].startswith("Shop is down")


def test_what_deep_probes_got_past_shuts_nobody_out() -> None:
    world = make_world("fra", rules=RULES)
    minutes(world, 2, ".")
    deep(world, 2, ".", MISMATCH)
    minutes(world, 3, "x", **WRONG_HOST)
    assert told() == ["opened", "opened"]


def test_a_site_whose_page_fails_for_another_reason_is_told() -> None:
    world = make_world("fra", rules=RULES, kinds=("probe", "page"))
    minutes(world, 2, ".")
    deep(world, 2, "x", MISMATCH, **WRONG_HOST)
    minutes(world, 3, "x", **WRONG_HOST)
    assert told() == ["opened"]
    for _ in range(3):
        world.minute("x", monitor=world.monitors[1])
    assert told() == ["opened", "opened"]
    assert titles()[-1].startswith("Shop is down")


def test_a_site_that_is_down_where_the_finding_was_not_seen_is_told() -> None:
    world = make_world("fra", "iad", rules=RULES)
    minutes(world, 2, ".")
    deep(world, 2, "x", MISMATCH, **WRONG_HOST)
    minutes(world, 3, "x", **WRONG_HOST)
    assert told() == ["opened", "opened"]
    assert titles()[-1].startswith("Shop is down: ")
    assert would_have_told(world) == 1


@pytest.mark.parametrize(("before_min", "is_told"), [(4, True), (6, False)])
def test_a_deep_probe_that_was_refused_just_before_the_first_slot_was_is_part_of_the_outage(
    before_min: int, is_told: bool
) -> None:
    """Both may have been under way when nobody had looked at either."""
    at_us = 10_000_000_000
    look = DeepLook(
        region="fra",
        at_us=at_us - before_min * 60_000_000,
        run_id="",
        found={MISMATCH: Found("critical", None)},
        not_judged=frozenset(),
    )
    outage = Outage(since_us=at_us, until_us=None, causes=frozenset({MISMATCH}), channels=frozenset())
    assert outage.says(look) == ({MISMATCH} if is_told else frozenset())
