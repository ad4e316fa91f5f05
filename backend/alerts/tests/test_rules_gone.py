"""What rules that were deleted leave behind."""

import pytest

from backend.alerts.actions.rules import delete_rule
from backend.alerts.models import Rule
from backend.alerts.tests.world import make_rule, make_world, only_incident, told
from backend.cast import Member

pytestmark = pytest.mark.django_db

DOWN = "... xxx xxx xxx"


def test_rules_that_told_of_the_same_can_all_be_deleted(bob: Member) -> None:
    world = make_world(rules=["availability"])
    make_rule(world, "availability")
    world.minutes(DOWN)
    for rule in Rule.objects.order_by("pk"):
        delete_rule(actor=bob.user, rule=rule)
    assert [member.rule for member in only_incident().members.all()] == [None, None]
    assert told() == ["opened", "resolved"]


def test_an_incident_is_called_by_what_goes_on_once_the_rule_that_named_it_is_deleted(bob: Member) -> None:
    world = make_world(rules=["availability", "failures"])
    world.minutes(f"{DOWN} xxx xxx xxx xxx")
    assert only_incident().title.startswith("Shop is down: ")
    delete_rule(actor=bob.user, rule=Rule.objects.get(kind="availability"))
    assert only_incident().is_open
    assert not only_incident().title.startswith("Shop is down")
