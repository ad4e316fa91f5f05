"""Rules that go by what a page measures itself."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.models import Resolution, Rule
from backend.alerts.parameters import InvalidRuleError, checked
from backend.alerts.preview import preview
from backend.alerts.queries.sight import sight
from backend.alerts.queries.silent_timings import LOADS, SilentTiming, silent_timings
from backend.alerts.tests.slow_site import Site, Wait, slower, usual
from backend.alerts.tests.world import World, make_rule, make_world, only_incident, put_run, titles
from backend.runs.models import Run
from backend.runs.sql import execute
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db
# As long as may be, and what formats, lookups and SQL would each read something else in.
TIMING = f"mark:Hero's__%s {'x' * 88}"
NAME = TIMING.replace(":", " ")


class MarkedSite(Site):
    """Whose pages mark an instant with their first byte."""

    def _put(self, steps: Iterable[int], wait: Wait) -> None:
        Monitor.objects.update(user_timings=[TIMING])
        super()._put(steps, wait)
        execute("UPDATE runs_run SET timings = jsonb_build_object(%s::text, ttfb_us) WHERE timings IS NULL", [TIMING])


@pytest.fixture
def world() -> World:
    """A page whose timing is watched by a budget of 500 ms."""
    world = make_world("fra", kinds=["page"], rules=["budget"])
    Rule.objects.update(params=checked("budget", {"metric": TIMING, "limit": 500, "of_last": 3}))
    Monitor.objects.update(user_timings=[TIMING])
    return world


def load(world: World, *times_ms: float | None, contended: bool = False) -> None:
    """Page loads, a minute each, that told the timing so late, or did not tell it."""
    for ms in times_ms:
        timings = {TIMING: None if ms is None else round(1000 * ms)}
        put_run(
            world.monitor, world.regions[0], world.now + timedelta(seconds=1), ".", timings=timings, contended=contended
        )
        world.now += timedelta(minutes=1)
        world.beat()
        world.judge()


def test_a_median_over_the_limit_is_told_by_the_name_that_the_page_gave(world: World) -> None:
    load(world, 400, 600, 700)
    assert titles() == [f"Shop: {NAME} 600 ms in Fra, over the limit of 500 ms"]
    load(world, 300, 300)
    assert only_incident().resolution == Resolution.RECOVERED


def test_a_load_that_does_not_tell_it_is_neither_over_the_limit_nor_within_it(world: World) -> None:
    load(world, 600, None, 700, None)
    assert titles() == []
    load(world, 800)
    assert len(titles()) == 1
    load(world, *[None] * 6)
    assert only_incident().resolved_at is None
    assert preview(world.fleet.organisation, kind="budget", params=Rule.objects.get().params, now=world.now).alerts == 1


def test_what_other_work_made_late_counts_for_nothing(world: World) -> None:
    load(world, 900, 900, 900, contended=True)
    assert titles() == []


def test_an_alert_of_what_nobody_follows_any_more_is_over(world: World) -> None:
    load(world, 600, 700, 800)
    Monitor.objects.update(user_timings=["mark:other"])
    load(world, None)
    assert only_incident().resolution == Resolution.UNMEASURED
    assert preview(world.fleet.organisation, kind="budget", params=Rule.objects.get().params, now=world.now).alerts == 0


def test_a_timing_that_comes_later_than_usual_is_told_with_its_cause_until_nobody_follows_it() -> None:
    site = MarkedSite(metrics=[TIMING])
    site.pass_time(10, usual)
    assert [seen.metric for found in sight(site.world.fleet.site) for seen in found.seen] == [TIMING]
    site.pass_time(120, slower)
    (member,) = only_incident().members.all()
    assert f"Shop is slower in Fra, Iad and Sin: {NAME} " in titles()[0]
    assert (member.metric, member.facts["cause"]) == (TIMING, "origin")
    assert member.before_run is not None
    Monitor.objects.update(user_timings=[])
    site.pass_time(5, usual)
    Monitor.objects.update(user_timings=[])
    site.look()
    assert only_incident().resolution == Resolution.UNMEASURED
    assert [found.learning for found in sight(site.world.fleet.site)] == [()]


def test_a_failed_run_has_no_timing() -> None:
    told = Sample("fra", 0, UUID(int=1), Seen.UP, "", (), timings_us={TIMING: 1_500})
    assert (told.value(TIMING), told.value("mark:other")) == (1.5, None)
    assert told._replace(seen=Seen.DOWN).value(TIMING) is None


def test_a_rule_says_where_what_it_goes_by_is_not_told(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    (rule,) = Rule.objects.all()
    load(world, 400, *[None] * (LOADS - 1))
    assert silent_timings([rule]) == {}
    load(world, None)
    with django_assert_num_queries(2):
        found = silent_timings([rule])
    assert found == {rule.pk: [SilentTiming(timing=TIMING, site="Shop", regions=("Fra",))]}
    # Before it was followed nobody noted it.
    Run.objects.filter(scheduled_for=Run.objects.latest("scheduled_for").scheduled_for).update(timings=None)
    assert silent_timings([rule]) == {}
    Monitor.objects.update(user_timings=[])
    assert silent_timings([rule]) == {rule.pk: [SilentTiming(timing=TIMING)]}


def test_rules_that_go_by_no_timing_cost_no_statement(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    plain = make_rule(world, "regression")
    with django_assert_num_queries(0):
        assert silent_timings([plain]) == {}


@pytest.mark.parametrize("metric", ["mark:", "hero", "mark:a\nb", f"mark:{'x' * 101}", "mark", 5])
def test_what_no_page_can_tell_is_no_metric_of_a_rule(metric: object) -> None:
    with pytest.raises(InvalidRuleError):
        checked("budget", {"metric": metric})
    with pytest.raises(InvalidRuleError):
        checked("regression", {"metrics": [metric]})
