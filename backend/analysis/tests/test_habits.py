"""What comes every hour or every night is told twice; what only looks like it, or does not end, is told."""

import json
from collections.abc import Collection

import numpy as np
import pytest

from backend.analysis.detector import Detector
from backend.analysis.events import AlertClass, Kind
from backend.analysis.noise import Floats
from backend.analysis.replay import Recorded, Sample, Told, in_order
from backend.analysis.settings import DAY_S, HOUR_S, settings_for
from backend.analysis.simulation import START, World, simulate
from backend.analysis.tests.series import days_after_start, noise, series, told

SETTINGS = settings_for("ttfb_ms", interval_s=300)
STAYS_ON = 15 * DAY_S


def test_a_job_of_a_few_minutes_each_hour_is_told_for_two_days_at_most() -> None:
    def busy_each_hour(times: Floats, random: np.random.Generator) -> Floats:
        return 200 * noise(times, random) * np.where(times % HOUR_S < 300, 1.5, 1)

    # Five regions have one run each while it lasts: those right before it would hide it.
    alerts = told(series(busy_each_hour, days=16, regions=5))
    assert all(days_after_start(slow.alert.opened_at) < 3.1 for slow in alerts)


def nightly_until_it_stays(hour: int, regions: int) -> dict[str, list[Sample]]:
    """A job of half an hour doubles all times; on the sixteenth day it does not end."""

    def formula(times: Floats, random: np.random.Generator) -> Floats:
        into = (times - hour * HOUR_S) % DAY_S
        is_on = (into < HOUR_S / 2) | (times >= STAYS_ON + hour * HOUR_S)
        return 200 * noise(times, random) * np.where(is_on & (times > DAY_S), 2, 1)

    return series(formula, days=16.5, regions=regions)


def slower_since(alerts: list[Told], at: float) -> list[Told]:
    return [
        one for one in alerts if one.alert.opened_at >= START + at and one.alert.alert_class != AlertClass.IMPROVEMENT
    ]


@pytest.mark.parametrize("regions", [1, 3])
@pytest.mark.parametrize("hour", [2, 9, 22])
def test_a_nightly_job_that_does_not_end_is_told_within_three_hours_and_dated_back(hour: int, regions: int) -> None:
    began = STAYS_ON + hour * HOUR_S
    (stayed,) = slower_since(told(nightly_until_it_stays(hour, regions)), began)
    assert stayed.alert.opened_at - (START + began) < 3 * HOUR_S
    assert stayed.alert.change_at == pytest.approx(START + began, abs=900)
    assert stayed.alert.alert_class is AlertClass.REGRESSION


@pytest.mark.parametrize("hour", [2, 9, 22])
def test_that_a_habit_is_to_be_asked_after_again_is_kept(hour: int) -> None:
    samples = nightly_until_it_stays(hour, 3)
    history = Recorded(samples)
    detector = Detector(SETTINGS, history)
    kinds = []
    written_at = START + STAYS_ON + hour * HOUR_S + 1800
    for at, region, value in in_order(samples):
        if written_at <= at < written_at + 60:
            detector = Detector.from_state(SETTINGS, history, json.loads(json.dumps(detector.state(), allow_nan=False)))
        kinds += [event.kind for event in detector.observe(at, region, value) if at >= written_at - 1800]
    assert kinds[:2] == [Kind.OPENED, Kind.CONFIRMED]


@pytest.mark.parametrize(
    ("slower", "regions", "cv", "seed"), [(1.15, 1, 0.05, 3), (1.15, 1, 0.15, 3), (1.15, 3, 0.05, 3), (1.3, 3, 0.15, 2)]
)
def test_a_weekend_that_is_slow_each_week_is_told_no_third_time(
    slower: float, regions: int, cv: float, seed: int
) -> None:
    """By chance the first runs of its hour were quick in one of the two weeks before."""
    random = np.random.default_rng(seed)
    samples = {}
    for index in range(regions):
        times: Floats = (np.arange(26 * 288, dtype=np.float64) + index / regions) * 300
        is_weekend = (times - 5 * DAY_S) % (7 * DAY_S) < 2 * DAY_S
        values = 200 * noise(times, random, cv) * np.where(is_weekend, slower, 1)
        samples[f"r{index}"] = [(START + at, value) for at, value in zip(times.tolist(), values.tolist(), strict=True)]
    alerts = slower_since(told(samples), 0)
    assert [round(days_after_start(one.alert.opened_at)) for one in alerts] == [5, 12]


def test_what_came_now_and_then_on_the_days_before_makes_no_step_a_habit() -> None:
    """Of a handful of runs at this time of two days one missed a cache: most were as quick as ever."""
    for hour in range(0, 24, 2):
        at = 10 * DAY_S + hour * HOUR_S

        def slower(times: Floats, random: np.random.Generator, at: float = at) -> Floats:
            misses = np.where(random.random(times.size) < 1 / 12, 3, 1)
            return 40 * misses * np.where(times >= at, 1.3, 1)

        (slow,) = told(series(slower, days=at / DAY_S + 0.1, regions=5))
        assert slow.alert.opened_at - (START + at) < HOUR_S / 2


def quiet_at_weekends(
    seed: int, *, days: float, regions: Collection[str] = (), on_monday: float = 1
) -> dict[str, list[Sample]]:
    """A site that takes three quarters of the time on Saturdays and Sundays, in these regions or all, and so many times
    as long from the fourth Monday on."""

    def factor(at: float, region: str) -> float:
        slower = on_monday if at >= START + 28 * DAY_S else 1
        return slower * (0.75 if days_after_start(at) % 7 >= 5 and (not regions or region in regions) else 1)

    world = World(cv=0.15, regions=3, days=days)
    return {
        region: [(at, None if value is None else value * factor(at, region)) for at, value in samples]
        for region, samples in simulate(world, seed).items()
    }


@pytest.mark.parametrize(("seed", "regions"), [(1, ()), (11, ()), (4, ("region-1",)), (5, ("region-1",))])
def test_a_quiet_weekend_that_ends_as_it_does_each_week_makes_nobody_slower(seed: int, regions: tuple[str]) -> None:
    """The first runs of that Monday were somewhat slow by chance."""
    assert slower_since(told(quiet_at_weekends(seed, days=28.5, regions=regions)), 0) == []


@pytest.mark.parametrize("seed", [0, 6])
def test_what_is_slow_from_the_end_of_a_quiet_weekend_on_is_told_as_soon_as_on_any_day(seed: int) -> None:
    (slow,) = slower_since(told(quiet_at_weekends(seed, days=29, on_monday=1.2)), 0)
    assert slow.alert.opened_at - (START + 28 * DAY_S) < 3 * HOUR_S
    assert slow.alert.change_at == pytest.approx(START + 28 * DAY_S, abs=600)
    assert slow.alert.change_pct == pytest.approx(20, abs=4)


def test_what_was_held_against_another_level_is_no_evidence_once_a_level_is_known() -> None:
    """Else one run that is far off would be enough, on top of what lay below the level of before."""
    samples = quiet_at_weekends(4, days=20, regions=["region-1"])
    detector = Detector(SETTINGS, Recorded(samples))
    known: dict[str, float] = {}
    gathered = []
    for at, region, value in in_order(samples):
        detector.observe(at, region, value)
        state = detector.state()
        if state["known"] and state["known"] != known:
            gathered.append([*state["all"], *(sums for bank in state["banks"].values() for sums in bank)])
        known = state["known"]
    assert gathered
    assert not any(sum(sums) for banks in gathered for sums in banks)
