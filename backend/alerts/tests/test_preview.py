from datetime import timedelta

import pytest

from backend.alerts import preview as preview_module
from backend.alerts.models import Incident
from backend.alerts.parameters import InvalidRuleError
from backend.alerts.preview import preview
from backend.alerts.previewed import Preview
from backend.alerts.tests.world import World, make_world, told
from backend.analysis.events import Alert, AlertClass, Kind
from backend.analysis.replay import Told
from backend.cast import Member

pytestmark = pytest.mark.django_db


def tried(world: World, kind: str, **params: object) -> Preview:
    return preview(
        world.fleet.organisation, kind=kind, params=params, site=world.fleet.site, now=world.now + timedelta(hours=1)
    )


def test_a_preview_counts_what_the_judge_would_have_told_and_writes_nothing() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... xxx xxx ... ...")
    for _ in range(25):
        world.minute("...")
    world.minutes("xxx xxx ... ... .x. ...")
    assert told().count("opened") == 2
    before = Incident.objects.count()
    found = tried(world, "availability")
    assert (found.alerts, found.runs, len(found.moments)) == (2, 36 * 3, 2)
    assert Incident.objects.count() == before


def test_a_stricter_rule_would_have_told_more() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... x.. ... .x. ... ... ... ...")
    assert tried(world, "availability").alerts == 0
    assert tried(world, "failures", failed=1, of_last=1).alerts == 1
    assert tried(world, "budget", metric="ttfb_ms", limit=150, of_last=3).alerts == 1
    assert tried(world, "budget", metric="lcp_ms", limit=1, of_last=3).runs == 0


def test_a_faulty_rule_is_refused() -> None:
    world = make_world(rules=["availability"])
    with pytest.raises(InvalidRuleError, match="no metric"):
        tried(world, "budget", metric="speed")


def test_much_history_shortens_the_period(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(rules=["availability"])
    monkeypatch.setattr(preview_module, "MAX_RUNS", 3 * 60 * 24)
    found = tried(world, "availability")
    assert found.since == world.now + timedelta(hours=1) - timedelta(days=1)


def test_regressions_are_tried_on_the_past_too() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ...")
    assert tried(world, "regression").alerts == 0


@pytest.mark.parametrize(("tell", "after_min"), [("slowdown", 0), ("regression", 60)])
def test_what_had_lasted_before_it_spread_and_ended_is_counted_by_when_that_was_known(
    tell: str, after_min: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(rules=["availability"])
    opened_at = (world.now - timedelta(hours=8)).timestamp()
    spread = Alert(
        alert_class=AlertClass.SLOWDOWN,
        opened_at=opened_at,
        change_at=opened_at,
        change_from=opened_at,
        change_until=opened_at,
        level_since=opened_at,
        regions=("fra", "iad", "sin"),
        baseline=100,
        level=160,
        change_pct=60,
        confidence=0.999,
    )
    was = Told(alert=spread, lasting_at=opened_at + 3600, ended=Kind.WENT_AWAY, ended_at=opened_at + 7200)
    monkeypatch.setattr(preview_module, "replay", lambda *_: [was])
    found = tried(world, "regression", metrics=["ttfb_ms"], tell=tell)
    assert found.moments == (world.now - timedelta(hours=8) + timedelta(minutes=after_min),)


def test_another_organisations_site_has_no_past_here(charlie: Member) -> None:
    world = make_world(rules=["availability"])
    world.minutes("... xxx xxx")
    found = preview(charlie.organisation, kind="availability", params={}, site=world.fleet.site, now=world.now)
    assert (found.alerts, found.runs) == (0, 0)


def test_a_young_site_has_no_two_weeks_behind_it() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ...")
    world.fleet.site.created_at = world.now - timedelta(hours=5)
    world.fleet.site.save()
    assert tried(world, "availability").since == world.now - timedelta(hours=5)
