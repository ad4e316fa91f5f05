"""Loads with and without hosts are an experiment's alone: nothing that is told of the site comes from them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from backend.alerts.judging import Judging
from backend.alerts.models import Incident, Outage
from backend.experiments.models import ExperimentRun, Side
from backend.experiments.tests.world import FAILS, World, loaded
from backend.runs.models import Rollup, Run, Trigger
from backend.runs.queries import (
    Wanted,
    host_costs,
    newest_measurements,
    phase_series,
    recent_runs,
    site_overview,
)
from backend.runs.rollups import roll_up
from workers.measurement.messages import Outcome

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def slow_or_down(run: ExperimentRun) -> Outcome:
    """What would be told of at once if it were measured by schedule."""
    return FAILS if run.side == Side.WITHOUT else loaded(9_000, reached=True)


def test_no_chart_median_rollup_overview_or_list_has_them(world: World) -> None:
    world.play(world.start(), slow_or_down)
    assert Run.objects.filter(trigger=Trigger.COST).count() > 6
    now = timezone.now() + HOUR
    assert phase_series(world.monitor, Wanted(since=now - 3 * HOUR, until=now)) == []
    roll_up(now + 2 * HOUR)
    assert not Rollup.objects.exists()
    assert recent_runs(world.monitor) == []
    assert newest_measurements(world.monitor) == []
    assert host_costs(world.monitor, [world.region], now - 3 * HOUR) == []
    (row,) = site_overview(world.member.organisation, world.site)
    assert not any(one.run for each in row.monitors for one in each.last)


def test_no_rule_outage_or_incident_comes_of_them(world: World) -> None:
    world.play(world.start(), slow_or_down)
    judging = Judging()
    for _ in range(3):
        judging.step()
    assert not Incident.objects.exists()
    assert not Outage.objects.exists()
