import pytest

from backend.alerts.actions.incidents import resolve
from backend.alerts.models import Incident, Rule, RuleKind
from backend.alerts.reports import report
from backend.alerts.states import State
from backend.alerts.tests.world import MINUTE, World, make_world, only_incident, titles, told
from backend.cast import Member

pytestmark = pytest.mark.django_db

TITLE = "Shop: the CDN is 38 ms slower than the origin in Sin"


def say(world: World, state: State, subject: str = "pair-1") -> Incident | None:
    world.now += MINUTE
    return report(
        kind=RuleKind.CDN,
        site=world.fleet.site,
        state=state,
        at=world.now,
        subject=subject,
        title=TITLE,
        sentences=["By phase: waiting 12 ms → 50 ms."],
        regions=["sin"],
    )


def test_what_is_reported_again_and_again_is_told_once() -> None:
    world = make_world()
    for _ in range(3):
        say(world, State.DEGRADED)
    assert told() == ["opened"]
    assert titles() == [TITLE]
    say(world, State.OK)
    say(world, State.OK)
    assert told() == ["opened", "recovered"]
    assert titles()[1] == "Shop: the CDN is no longer slower than the origin, after 3 min"


def test_two_pairings_of_a_site_share_an_incident_that_ends_with_the_last() -> None:
    world = make_world()
    say(world, State.DEGRADED)
    say(world, State.DEGRADED, "pair-2")
    say(world, State.OK)
    assert told() == ["opened"]
    say(world, State.OK, "pair-2")
    assert told() == ["opened", "recovered"]
    assert only_incident().cause == "cdn"


def test_a_rule_that_waits_is_told_of_what_has_lasted() -> None:
    world = make_world()
    Rule.objects.filter(kind="cdn").update(delay_s=180)
    since = world.now
    for minutes, events in [(2, []), (2, ["opened"]), (1, ["opened"])]:
        world.now += minutes * MINUTE
        report(kind=RuleKind.CDN, site=world.fleet.site, state=State.DEGRADED, at=world.now, since=since, title=TITLE)
        assert told() == events


def test_nothing_is_told_without_a_rule() -> None:
    world = make_world()
    Rule.objects.filter(kind="cdn").update(enabled=False)
    assert say(world, State.DEGRADED) is None
    assert told() == []


def test_what_a_person_closed_is_told_again_only_after_it_was_over(bob: Member) -> None:
    world = make_world()
    say(world, State.DEGRADED)
    resolve(actor=bob.user, incident=only_incident())
    say(world, State.DEGRADED)
    assert told() == ["opened", "resolved"]
    say(world, State.OK)
    say(world, State.DEGRADED)
    assert told() == ["opened", "resolved", "opened"]
