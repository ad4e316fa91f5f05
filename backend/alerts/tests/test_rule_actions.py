"""Rules made, changed, switched off and deleted, and what becomes of what they opened."""

import pytest

from backend.alerts.actions.rules import RuleSettings, change_rule, create_rule, delete_rule, switch_rule
from backend.alerts.models import Channel, ChannelKind, Member, Rule
from backend.alerts.parameters import InvalidRuleError
from backend.alerts.tests.world import DOWN, make_world, only_incident, told
from backend.cast import Member as Person

pytestmark = pytest.mark.django_db


def test_a_rule_that_is_switched_off_or_deleted_ends_what_it_opened(bob: Person) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    switch_rule(actor=bob.user, rule=Rule.objects.get(), enabled=False)
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "rule_off"
    world.minute("xxx")
    switch_rule(actor=bob.user, rule=Rule.objects.get(), enabled=True)
    world.minutes("xxx xxx")
    assert told()[2:] == ["opened"]
    delete_rule(actor=bob.user, rule=Rule.objects.get())
    assert told()[3:] == ["resolved"]
    assert not Member.objects.filter(ended_at=None).exists()


def test_a_changed_rule_begins_anew(bob: Person) -> None:
    world = make_world("fra", rules=["budget"])
    rule = Rule.objects.get()
    change_rule(actor=bob.user, rule=rule, settings=settings(limit=150))
    world.minutes(". .")
    assert told() == ["opened"]
    change_rule(actor=bob.user, rule=rule, settings=settings(limit=250))
    assert told() == ["opened", "resolved"]
    world.minutes(". . .")
    assert told() == ["opened", "resolved"]


def settings(limit: float) -> RuleSettings:
    return RuleSettings(kind="budget", params={"metric": "ttfb_ms", "limit": limit, "of_last": 1})


def test_every_fault_of_a_rule_is_named(bob: Person, charlie: Person) -> None:
    foreign = Channel.objects.create(organisation=charlie.organisation, kind=ChannelKind.SLACK, name="X", target="x")
    wrong = RuleSettings(
        kind="failures",
        params={"failed": 9, "of_last": 5, "regoins": 1},
        name="x" * 101,
        severity="dire",
        channels=[foreign],
        delay_s=-1,
        remind_every_s=1,
    )
    with pytest.raises(InvalidRuleError) as error:
        create_rule(actor=bob.user, organisation=bob.organisation, settings=wrong)
    named = {"params.failed", "params.regoins", "name", "severity", "channels", "delay_s", "remind_every_s"}
    assert set(error.value.faults) == named


def test_a_rule_belongs_to_the_place_it_is_for(bob: Person, charlie: Person) -> None:
    world = make_world(rules=["availability"])
    with pytest.raises(InvalidRuleError, match="no such site"):
        create_rule(
            actor=bob.user,
            organisation=bob.organisation,
            settings=RuleSettings(kind="availability"),
            site=world.fleet.site,
        )
    with pytest.raises(InvalidRuleError, match="whole organisation"):
        create_rule(
            actor=bob.user,
            organisation=world.fleet.organisation,
            settings=RuleSettings(kind="agent"),
            site=world.fleet.site,
        )
