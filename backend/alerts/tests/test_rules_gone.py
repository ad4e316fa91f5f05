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
