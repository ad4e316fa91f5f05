"""What an open alert says of a level that has changed since: it is measured again soon, region by region."""

import pytest

from backend.analysis.detector import Detector
from backend.analysis.events import Alert
from backend.analysis.replay import Recorded, Sample, in_order
from backend.analysis.settings import DAY_S, HOUR_S, settings_for
from backend.analysis.simulation import START, Step, World, simulate

AT, LATER = 10 * DAY_S, 12 * DAY_S
OTHERS = ("region-1", "region-2")


def alert_at(samples: dict[str, list[Sample]], until: float) -> Alert:
    """The open alert at so many seconds since START."""
    detector = Detector(settings_for("ttfb_ms", interval_s=300), Recorded(samples))
    for at, region, value in in_order(samples):
        if at > START + until:
            break
        detector.observe(at, region, value)
    assert detector.alert is not None
    return detector.alert


@pytest.mark.parametrize("seed", range(5))
def test_a_region_that_is_quick_again_is_named_for_some_hours_at_most(seed: int) -> None:
    world = World(cv=0.1, regions=3, days=12.5)
    steps = [Step(at=AT, factor=1.3, regions=OTHERS), Step(at=AT, until=LATER, factor=1.3, regions=["region-0"])]
    alert = alert_at(simulate(world, seed, steps), LATER + 8 * HOUR_S)
    assert alert.regions == OTHERS
    assert alert.change_pct == pytest.approx(30, abs=4)


@pytest.mark.parametrize("seed", [1, 3])
def test_what_is_left_of_a_slowdown_is_told_by_all_runs_since_and_not_by_the_first_alone(seed: int) -> None:
    world, steps = (
        World(cv=0.15, regions=3, days=12.5),
        [Step(at=AT, factor=1.25), Step(at=AT, until=11 * DAY_S, factor=1.3)],
    )
    alert = alert_at(simulate(world, seed, steps), 11 * DAY_S + 10 * HOUR_S)
    assert alert.change_pct == pytest.approx(25, abs=5)


def test_a_second_step_is_measured_again_although_the_first_has_lasted_for_days() -> None:
    steps = [Step(at=AT, factor=1.2), Step(at=LATER, factor=1.25)]
    for seed in range(4):
        samples = simulate(World(cv=0.15, regions=3, days=12.5), seed, steps)
        assert alert_at(samples, LATER + 10 * HOUR_S).change_pct == pytest.approx(50, abs=4)


def test_what_is_minutes_old_is_not_taken_apart_by_region() -> None:
    """Back after three days, which half an hour makes not sure: some regions were somewhat slow by chance."""
    samples = simulate(World(cv=0.1, days=12), 5, [Step(at=AT - 3 * DAY_S, factor=1.6, until=AT)])
    assert len(alert_at(samples, AT + HOUR_S).regions) == 5
