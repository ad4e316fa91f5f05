"""What rules would have told is worked out beforehand, one after the other, and kept."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.alerts import previews
from backend.alerts.actions.rules import change_rule, settings_of, switch_rule
from backend.alerts.models import Rule, RulePreview
from backend.alerts.previewed import Kept, kept_of
from backend.alerts.previews import IDLE_S, step
from backend.alerts.queries.rules import rules
from backend.alerts.tests.world import World, make_rule, make_world

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def world() -> World:
    made = make_world(rules=["failures"])
    made.minutes("... x.. ... .x. ... ... ...")
    Rule.objects.update(created_at=made.now - 100 * DAY)
    return made


def kept(world: World) -> Kept | None:
    (row,) = rules(world.fleet.organisation)
    return row.kept


def work(world: World, *, later: timedelta = timedelta(0)) -> float:
    return step(lambda: world.now + later)


def test_a_rule_is_worked_out_once_a_day_and_its_list_reads_what_is_kept(world: World) -> None:
    assert kept(world) is None
    assert work(world) < IDLE_S
    found = kept(world)
    assert found is not None
    assert (found.preview.alerts, found.preview.runs, found.at) == (0, 21, world.now)
    assert work(world, later=DAY - timedelta(minutes=1)) == IDLE_S
    assert work(world, later=DAY) < IDLE_S


def test_a_young_rule_is_worked_out_more_often(world: World) -> None:
    Rule.objects.update(created_at=world.now - timedelta(hours=5))
    work(world)
    assert work(world, later=timedelta(minutes=29)) == IDLE_S
    assert work(world, later=timedelta(minutes=31)) < IDLE_S


def test_what_was_said_of_a_rule_before_it_was_changed_is_said_no_more(world: World) -> None:
    work(world)
    rule = Rule.objects.get()
    settings = settings_of(rule)
    stricter = type(settings)(kind=rule.kind, params={"failed": 1, "of_last": 1, "regions": 1})
    change_rule(actor=None, rule=rule, settings=stricter)
    assert kept(world) is None
    assert work(world) < IDLE_S
    found = kept(world)
    assert found is not None
    assert found.preview.alerts == 1
    assert len(found.preview.moments) == 1


def test_a_rule_that_is_changed_while_it_is_worked_out_is_worked_out_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = previews._try

    def changed_meanwhile(rule: Rule, now: object) -> object:
        switch_rule(actor=None, rule=rule, enabled=False)
        return original(rule, now)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(previews, "_try", changed_meanwhile)
    work(world)
    assert kept(world) is None
    monkeypatch.setattr(previews, "_try", original)
    assert work(world) < IDLE_S
    assert kept(world) is not None


def test_new_rules_come_before_those_that_are_kept(world: World) -> None:
    work(world)
    new = make_rule(world, "availability")
    work(world, later=2 * DAY)
    assert kept_of(Rule.objects.select_related("preview").get(pk=new.pk)) is not None
    (old,) = RulePreview.objects.exclude(rule=new)
    assert old.computed_at == world.now


def test_one_that_cannot_be_tried_waits_and_keeps_none_up(world: World) -> None:
    Rule.objects.update(params={"nonsense": 1})
    make_rule(world, "availability")
    work(world)
    work(world)
    assert work(world) == IDLE_S
    assert RulePreview.objects.exclude(computed_at=None).count() == 1


def test_a_list_with_previews_takes_as_many_statements_as_ever(world: World) -> None:
    make_rule(world, "availability")
    work(world)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        rules(world.fleet.organisation)
    assert len(asked) == 3
