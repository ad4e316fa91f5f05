"""The life of an incident: joined, silenced, flapping, and what people do about it."""

from datetime import timedelta
from datetime import timezone as tz

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.alerts.actions.incidents import (
    IncidentError,
    accept,
    acknowledge,
    comment,
    mute,
    resolve,
    unacknowledge,
    unmute,
)
from backend.alerts.actions.maintenance import MaintenanceError, end_maintenance, plan_maintenance
from backend.alerts.incidents import note
from backend.alerts.models import (
    Channel,
    ChannelKind,
    Delivery,
    EventKind,
    Incident,
    IncidentEvent,
    Maintenance,
    Notice,
    Rule,
)
from backend.alerts.queries.incidents import incident_detail, incidents, open_count, open_incidents
from backend.alerts.queries.rules import rules
from backend.alerts.tests.world import DOWN, MINUTE, World, make_rule, make_world, only_incident, told
from backend.alerts.wording import clock
from backend.cast import Member as Person
from backend.runs.models import Schedule
from backend.runs.tests.factories import NOW

pytestmark = pytest.mark.django_db


def maintain(world: World, minutes: int, *, everywhere: bool = False) -> Maintenance:
    return Maintenance.objects.create(
        organisation=world.fleet.organisation,
        site=None if everywhere else world.fleet.site,
        starts_at=world.now,
        ends_at=world.now + minutes * MINUTE,
    )


def silenced() -> list[tuple[str, str]]:
    """What was kept quiet, in the order of the time line."""
    events = only_incident().events.exclude(silenced="").order_by("pk")
    return list(events.values_list("kind", "silenced"))


def at_present() -> World:
    """A world whose clock is near everybody's, for what people do."""
    world = make_world(rules=["availability"])
    world.now = NOW - timedelta(minutes=2)
    return world


def test_a_time_line_begins_with_the_opening_also_where_what_joins_it_was_measured_before() -> None:
    """Another monitor's evidence may be older, and is judged later."""
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    incident = only_incident()
    opened = incident.events.get()
    note(incident, EventKind.JOINED, "Shop is down", at=opened.at - timedelta(milliseconds=300))
    detail = incident_detail(world.fleet.organisation, incident.public_id)
    assert detail is not None
    assert [event.kind for event in detail.events] == ["opened", "joined"]


def test_what_begins_and_ends_in_maintenance_is_recorded_and_not_told() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    maintain(world, 20)
    world.minutes("xxx xxx ... ...")
    world.now += timedelta(minutes=30)
    world.minute("...")
    assert told() == []
    assert silenced() == [("opened", "maintenance")]
    assert only_incident().resolution == "recovered"


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_still_bad_when_maintenance_ends_is_told_then(*, everywhere: bool) -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    maintain(world, 4, everywhere=everywhere)
    world.minutes("xxx xxx xxx")
    assert told() == []
    world.minutes("xxx xxx xxx")
    assert told() == ["opened"]


def test_maintenance_of_another_site_silences_nothing() -> None:
    world = make_world(rules=["availability"])
    window = maintain(world, 60)
    window.site = world.fleet.organisation.sites.create(name="Blog", url="https://blog.example/")
    window.save()
    world.minutes(DOWN)
    assert told() == ["opened"]


def test_a_recovery_in_maintenance_is_told_when_it_ends_if_the_opening_was() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    maintain(world, 5)
    world.minutes("... ... ...")
    assert told() == ["opened"]
    world.minutes("... ... ...")
    assert told() == ["opened", "recovered"]


def test_a_muted_incident_stays_silent_until_it_is_unmuted(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ..x ..x ..x")
    assert told() == ["opened"]
    mute(actor=bob.user, incident=only_incident(), until=None)
    world.minutes("xxx xxx")
    assert told() == ["opened"]
    assert silenced() == [("worse", "muted")]
    unmute(actor=bob.user, incident=only_incident())
    world.minute("xxx")
    assert told() == ["opened", "worse"]


def test_the_end_of_a_mute_is_told_in_utc_whatever_zone_it_was_chosen_in(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    until = timezone.now() + timedelta(hours=1)
    mute(actor=bob.user, incident=only_incident(), until=until.astimezone(tz(timedelta(hours=2))))
    assert IncidentEvent.objects.get(kind=EventKind.MUTED).text == f"until {clock(until)}"


def test_muted_until_recovery_ends_with_it(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    mute(actor=bob.user, incident=only_incident(), until=None)
    world.minutes("... ...")
    assert told() == ["opened", "recovered"]
    assert not only_incident().muted_until_recovery


def test_what_recovers_and_fails_again_at_once_is_the_same_incident() -> None:
    world = make_world(rules=["availability"])
    world.minutes(f"{DOWN} ... ... xxx xxx")
    assert told() == ["opened", "recovered", "opened"]
    assert only_incident().flips != []
    newest = Notice.objects.order_by("-sequence")[0].message
    assert newest["sentences"][0] == "It was over for less than twenty minutes: this is the same incident."


def test_flapping_is_said_once_and_then_only_the_end() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    for _ in range(6):
        world.minutes("xxx xxx ... ...")
    assert told() == ["opened", "recovered", "opened", "recovered", "worse"]
    assert only_incident().flapping
    for _ in range(31):
        world.minute("...")
    assert told()[5:] == ["recovered"]
    assert not only_incident().is_open


def test_a_later_outage_is_another_incident() -> None:
    world = make_world(rules=["availability"])
    world.minutes(f"{DOWN} ... ...")
    for _ in range(25):
        world.minute("...")
    world.minutes("xxx xxx")
    assert Incident.objects.count() == 2
    assert told() == ["opened", "recovered", "opened"]


def test_a_rule_that_tells_nobody_still_opens_an_incident() -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(notify=False)
    world.minutes(f"{DOWN} ... ...")
    assert told() == []
    assert silenced() == [("opened", "rule")]


def test_a_rule_tells_its_own_channels_only_and_the_good_news_go_where_the_bad_went() -> None:
    world = make_world(rules=["availability"])
    mine = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.SLACK, name="Mine", target="hooks.slack.com"
    )
    Rule.objects.get().channels.set([mine])
    world.minutes(DOWN)
    Rule.objects.get().channels.set([])
    world.minutes("... ...")
    assert told() == ["opened", "recovered"]
    assert set(Delivery.objects.values_list("channel__name", flat=True)) == {"Mine"}


def test_a_delay_is_waited_for_and_a_short_fault_never_heard_of() -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(delay_s=240)
    world.minutes("... xxx xxx xxx ... ...")
    assert told() == []
    world.minutes("xxx xxx xxx xxx xxx")
    assert told() == ["opened"]


def test_reminders_come_until_somebody_acknowledges(bob: Person) -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    world.minutes(DOWN)
    for _ in range(11):
        world.minute("xxx")
    assert told() == ["opened", "reminder", "reminder"]
    acknowledge(actor=bob.user, incident=only_incident())
    for _ in range(11):
        world.minute("xxx")
    assert told() == ["opened", "reminder", "reminder"]
    world.minutes("... ...")
    assert told()[3:] == ["recovered"]


def test_two_rules_of_one_cause_share_an_incident_and_one_notice() -> None:
    world = make_world(rules=["availability", "failures"])
    world.minutes("... xxx xxx xxx xxx")
    incident = only_incident()
    assert told() == ["opened"]
    assert set(incident.members.values_list("kind", flat=True)) == {"availability", "failures"}
    world.minutes("... ... ... ...")
    assert told() == ["opened", "recovered"]


def test_what_joins_long_after_is_told() -> None:
    world = make_world("fra", rules=["budget"])
    rule = Rule.objects.get()
    rule.params |= {"metric": "ttfb_ms", "limit": 150, "of_last": 1}
    rule.save()
    world.minutes(". .")
    assert told() == ["opened"]
    for _ in range(20):
        world.minute(".")
    make_rule(world, "budget", params={"metric": "wait_ms", "limit": 50, "of_last": 1})
    world.minutes(". .")
    assert told() == ["opened", "worse"]
    assert Incident.objects.count() == 1


def test_people_acknowledge_comment_and_withdraw_with_their_names(bob: Person) -> None:
    world = at_present()
    world.minutes(DOWN)
    incident = only_incident()
    acknowledge(actor=bob.user, incident=incident)
    comment(actor=bob.user, incident=incident, text="  Looking.  ")
    unacknowledge(actor=bob.user, incident=incident)
    detail = incident_detail(world.fleet.organisation, incident.public_id)
    assert detail is not None
    mine = [(event.kind, event.text) for event in detail.events if event.actor == bob.user]
    assert mine == [("acknowledged", ""), ("comment", "Looking."), ("unacknowledged", "")]
    audited = set(AuditEntry.objects.filter(actor=bob.user).values_list("action", flat=True))
    assert audited == {"acknowledged_incident", "comment_incident", "unacknowledged_incident"}


def test_resolving_is_told_and_what_goes_on_is_not_told_again(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    resolve(actor=bob.user, incident=only_incident())
    world.minutes("xxx xxx")
    assert told() == ["opened", "resolved"]
    world.minutes("... ...")
    assert told() == ["opened", "resolved"]
    with pytest.raises(IncidentError, match="over already"):
        resolve(actor=bob.user, incident=only_incident())


@pytest.mark.parametrize("text", ["", "  ", "x" * 1_001, "a\0b"])
def test_a_comment_says_something_that_fits(text: str, bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    with pytest.raises(IncidentError):
        comment(actor=bob.user, incident=only_incident(), text=text)


def test_muting_needs_a_time_ahead(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    with pytest.raises(IncidentError, match="Choose a time"):
        mute(actor=bob.user, incident=only_incident(), until=timezone.now() - MINUTE)


def test_only_speed_has_a_new_normal(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    with pytest.raises(IncidentError, match="became slower"):
        accept(actor=bob.user, incident=only_incident())


def test_lists_are_of_the_organisation_alone_and_take_few_statements(
    charlie: Person, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    organisation = world.fleet.organisation
    with django_assert_num_queries(3):
        (row,) = open_incidents(organisation)
    assert (row.status, row.regions) == ("open", ("fra", "iad", "sin")[: len(row.regions)])
    assert open_count(organisation) == 1
    assert open_count(charlie.organisation) == 0
    assert incidents(organisation, before=row.place) == []
    assert incidents(charlie.organisation) == []
    assert incident_detail(charlie.organisation, row.incident.public_id) is None
    with django_assert_num_queries(5):
        detail = incident_detail(organisation, row.incident.public_id)
    assert detail is not None
    assert detail.before_run is not None
    assert detail.after_run is not None
    assert [delivery.channel_name for delivery in detail.deliveries] == ["Ops"]
    with django_assert_num_queries(3):
        (rule,) = rules(organisation)
    assert (rule.open, rule.tells_all, [channel.name for channel in rule.channels]) == (1, True, ["Ops"])


def test_windows_are_planned_ended_and_refused_with_a_reason(bob: Person) -> None:
    now = timezone.now()
    ahead = plan_maintenance(
        actor=bob.user,
        organisation=bob.organisation,
        site=None,
        starts_at=now + MINUTE,
        ends_at=now + 2 * MINUTE,
        reason="Move",
    )
    end_maintenance(actor=bob.user, window=ahead)
    assert not Maintenance.objects.exists()
    running = plan_maintenance(
        actor=bob.user, organisation=bob.organisation, site=None, starts_at=now - MINUTE, ends_at=now + MINUTE
    )
    end_maintenance(actor=bob.user, window=running)
    running.refresh_from_db()
    assert running.ends_at <= timezone.now()
    with pytest.raises(MaintenanceError, match="must end after"):
        plan_maintenance(actor=bob.user, organisation=bob.organisation, site=None, starts_at=now, ends_at=now)


def test_what_is_not_measured_any_more_when_maintenance_ends_is_not_said_to_have_recovered() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    maintain(world, 3)
    world.minute("xxx")
    Schedule.objects.all().delete()
    world.minutes("--- --- ---")
    assert only_incident().resolution == "unmeasured"
    assert told() == ["opened", "resolved"]
    assert Notice.objects.order_by("-pk")[0].message["sentences"] == ["No region measures it any more."]
