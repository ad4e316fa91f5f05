"""What a detector tells, and what it keeps to itself."""

import json

import numpy as np
import pytest

from backend.analysis.detector import Detector
from backend.analysis.events import AlertClass, Event, Kind
from backend.analysis.history import History
from backend.analysis.noise import Floats
from backend.analysis.replay import Recorded, Sample, Told, in_order, replay
from backend.analysis.settings import DAY_S, HOUR_S, settings_for
from backend.analysis.simulation import START, Step, World, simulate
from backend.analysis.tests.series import days_after_start, noise, series, told
from backend.analysis.trials import watch

SETTINGS = settings_for("ttfb_ms", interval_s=300)
WORLD = World(cv=0.1, days=12)
AT = 10 * DAY_S


def observe(detector: Detector, samples: dict[str, list[Sample]], since: float = 0) -> list[Event]:
    events: list[Event] = []
    for at, region, value in in_order(samples):
        if at >= START + since:
            events += detector.observe(at, region, value)
    return events


def only(alerts: list[Told]) -> Told:
    assert len(alerts) == 1, alerts
    return alerts[0]


def test_a_deploy_that_slows_all_regions_is_one_regression_that_names_it() -> None:
    samples = simulate(WORLD, 1, [Step(at=AT, factor=1.3)])
    alert = only(replay(samples, [START + AT - DAY_S, START + AT - 90, START + AT + DAY_S], SETTINGS)).alert
    assert alert.alert_class is AlertClass.REGRESSION
    assert len(alert.regions) == 5
    assert alert.change_at == pytest.approx(START + AT, abs=900)
    assert alert.change_from <= START + AT <= alert.change_until + 300
    assert alert.change_pct == pytest.approx(30, abs=5)
    assert alert.opened_at < START + AT + HOUR_S
    assert alert.deploy_at == START + AT - 90
    assert alert.confidence > 0.99


def test_what_began_with_a_deploy_is_no_older_and_no_smaller_than_after_it() -> None:
    def slower(times: Floats, random: np.random.Generator) -> Floats:
        # What was somewhat slow in the minute before the release is no part of it.
        factors = np.select([times >= 2 * DAY_S, times >= 2 * DAY_S - 60], [1.5, 1.07], 1.0)
        return 200 * factors * noise(times, random, cv=0.03)

    samples = series(slower, days=2.004, regions=2, interval_s=60)
    released = START + 2 * DAY_S
    detector = Detector(settings_for("ttfb_ms", interval_s=60), Recorded(samples, [released]))
    opened = observe(detector, samples)[0].alert
    assert (opened.change_at, opened.deploy_at) == (released, released)
    assert opened.change_pct == pytest.approx(50, abs=6)


def test_after_a_deploy_a_quarter_of_an_hour_confirms_and_else_an_hour() -> None:
    samples = simulate(WORLD, 2, [Step(at=AT, factor=1.5)])
    for deploys, least, most in (([START + AT - 60], 15, 40), ([], 60, 90)):
        alert = only(replay(samples, deploys, SETTINGS)).alert
        assert alert.confirmed_at is not None
        assert least <= (alert.confirmed_at - alert.opened_at) / 60 <= most


def test_a_quarter_of_an_hour_of_slowness_is_told_and_goes_away() -> None:
    alerts = watch(World(cv=0.05, days=12), 3, Step(at=AT, factor=2, until=AT + 1200))
    slow = only(alerts)
    assert slow.alert.alert_class is AlertClass.SLOWDOWN
    assert slow.ended is Kind.WENT_AWAY
    assert slow.ended_at is not None
    assert slow.ended_at < START + AT + 1200 + HOUR_S


def test_a_regression_that_is_taken_back_is_resolved_once() -> None:
    slow = only(watch(WORLD, 4, Step(at=AT, factor=1.4, until=AT + 6 * HOUR_S)))
    assert slow.alert.alert_class is AlertClass.REGRESSION
    assert slow.ended is Kind.RESOLVED
    assert slow.ended_at == pytest.approx(START + AT + 6 * HOUR_S, abs=HOUR_S)


@pytest.mark.parametrize("cv", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("factor", [1.4, 2.0])
def test_it_was_over_when_the_level_was_back_however_long_it_took_to_be_sure(cv: float, factor: float) -> None:
    over = AT + 6 * HOUR_S
    off: list[float] = []
    for seed in range(8):
        samples = simulate(World(cv=cv, days=11), seed, [Step(at=AT, factor=factor, until=over)])
        events = observe(Detector(SETTINGS, Recorded(samples)), samples)
        (end,) = [event for event in events if event.kind is Kind.RESOLVED]
        assert end.over_at is not None
        assert end.over_at < end.at
        off.append(end.over_at - (START + over))
    assert np.median(np.abs(off)) <= SETTINGS.interval_s, off


def test_a_level_that_stays_is_told_once_and_is_normal_after_a_week() -> None:
    alerts = watch(World(cv=0.1, days=28), 5, Step(at=AT, factor=1.4))
    shift = only(alerts)
    assert shift.ended is Kind.ACCEPTED
    assert shift.ended_at == pytest.approx(shift.alert.opened_at + 7 * DAY_S, abs=HOUR_S)


def test_one_slow_region_is_regional_and_named() -> None:
    slow = only(watch(WORLD, 6, Step(at=AT, factor=1.6, regions=["region-3"])))
    assert slow.alert.alert_class is AlertClass.REGIONAL
    assert slow.alert.regions == ("region-3",)
    assert slow.alert.confirmed_at is not None


def test_a_slowdown_that_reaches_the_other_regions_gets_worse_and_becomes_a_regression() -> None:
    steps = [Step(at=AT, factor=1.6, regions=["region-3"]), Step(at=AT + 8 * HOUR_S, factor=1.6)]
    samples = simulate(WORLD, 7, steps)
    events = observe(Detector(SETTINGS, Recorded(samples)), samples)
    assert [event.kind for event in events[:3]] == [Kind.OPENED, Kind.CONFIRMED, Kind.WORSENED]
    assert events[0].alert.alert_class is AlertClass.REGIONAL
    assert events[-1].alert.alert_class is AlertClass.REGRESSION
    assert len(events[-1].alert.regions) == 5


def test_a_second_step_on_top_of_the_first_is_the_same_alert_made_worse() -> None:
    samples = simulate(WORLD, 8, [Step(at=AT, factor=1.3), Step(at=AT + 12 * HOUR_S, factor=1.4)])
    events = observe(Detector(SETTINGS, Recorded(samples)), samples)
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CONFIRMED, Kind.WORSENED]
    assert events[-1].alert.change_pct == pytest.approx(82, abs=15)
    assert events[-1].alert.change_at == pytest.approx(START + AT, abs=900)


def test_part_of_the_way_back_is_not_the_end() -> None:
    samples = simulate(WORLD, 9, [Step(at=AT, factor=1.8), Step(at=AT + 12 * HOUR_S, factor=1 / 1.35)])
    events = observe(Detector(SETTINGS, Recorded(samples)), samples)
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CONFIRMED, Kind.EASED]
    assert events[-1].alert.change_pct == pytest.approx(100 * (1.8 / 1.35 - 1), abs=6)


def test_an_improvement_is_told_as_one() -> None:
    better = only(watch(WORLD, 10, Step(at=AT, factor=0.7)))
    assert better.alert.alert_class is AlertClass.IMPROVEMENT
    assert better.alert.change_pct == pytest.approx(-30, abs=4)


def test_a_dead_region_keeps_nobody_from_seeing_the_others() -> None:
    samples = simulate(WORLD, 11, [Step(at=AT, factor=1.4)])
    samples["region-0"] = [(at, None) for at, _ in samples["region-0"]]
    samples["region-1"] = [(at, value if at < START + AT - DAY_S else None) for at, value in samples["region-1"]]
    alert = only(replay(samples, [], SETTINGS)).alert
    assert alert.alert_class is AlertClass.REGRESSION
    assert alert.regions == ("region-2", "region-3", "region-4")


def test_too_small_a_change_is_not_told_however_sure() -> None:
    assert told(series(lambda t, r: np.where(t < AT, 200, 206) * noise(t, r, 0.01), days=12)) == []
    assert told(series(lambda t, r: np.where(t < AT, 20, 26) * noise(t, r, 0.01), days=12)) == []
    doubled = series(lambda t, r: np.where(t < AT, 0.5, 1.0) * noise(t, r, 0.2), days=12)
    assert told(doubled, metric="dns_ms") == []


def test_nothing_is_told_before_a_day_is_known() -> None:
    assert told(series(lambda t, r: np.where(t < DAY_S / 2, 200, 400) * noise(t, r), days=0.9)) == []


def test_three_days_are_enough_to_see_a_third_more() -> None:
    alerts = told(series(lambda t, r: np.where(t < 2 * DAY_S, 200, 260) * noise(t, r), days=3, regions=3))
    assert only(alerts).alert.change_at == pytest.approx(START + 2 * DAY_S, abs=900)


@pytest.mark.parametrize("value", [0.0, 0.3, 100.0, float("nan")])
def test_what_never_moves_or_never_is_tells_nothing(value: float) -> None:
    assert told(series(lambda t, _: np.full(t.size, value), days=12, regions=2)) == []


def test_a_step_from_nothing_has_no_per_cent() -> None:
    step = only(told(series(lambda t, _: np.where(t < AT, 0.0, 100.0), days=12)))
    assert step.alert.change_pct is None
    assert step.alert.baseline == pytest.approx(0, abs=0.01)
    assert step.alert.level == pytest.approx(100, rel=0.01)


def test_values_on_few_steps_tell_nothing() -> None:
    assert told(series(lambda t, r: np.where(r.random(t.size) < 0.9, 1.0, 2.0), days=20), metric="dns_ms") == []
    assert told(series(lambda t, r: np.where(r.random(t.size) < 0.7, 0, 0.02), days=20), metric="cls") == []


def test_two_heaps_are_normal_and_a_shift_between_them_is_told() -> None:
    def mix(change: float) -> list[Told]:
        def heaps(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
            hits = random.random(times.size) < np.where(times < AT, 0.8, change)
            return np.asarray(np.where(hits, 50, 200) * noise(times, random))

        return told(series(heaps, days=13, regions=3))

    assert mix(0.8) == []
    assert only(mix(0.5)).alert.alert_class is AlertClass.REGRESSION


def test_a_slow_drift_is_not_a_regression() -> None:
    assert told(series(lambda t, r: 200 * (1 + 0.15 * t / (30 * DAY_S)) * noise(t, r), days=30)) == []


def test_the_shape_of_a_day_is_normal() -> None:
    def office(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
        hours = times % DAY_S / HOUR_S
        return np.asarray(200 * np.where((hours >= 9) & (hours < 17), 1.3, 1) * noise(times, random))

    assert told(series(office, days=14, regions=3)) == []


def test_a_slow_weekend_is_told_twice_and_then_known() -> None:
    def weekends(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return np.asarray(200 * np.where(times // DAY_S % 7 >= 5, 1.2, 1) * noise(times, random))

    alerts = told(series(weekends, days=35, regions=2))
    assert [round(days_after_start(one.alert.change_at)) for one in alerts] == [5, 12]


def test_a_quiet_weekend_makes_no_alarm_on_monday() -> None:
    def weekends(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return np.asarray(200 * np.where(times // DAY_S % 7 >= 5, 0.8, 1) * noise(times, random))

    assert {one.alert.alert_class for one in told(series(weekends, days=23))} == {AlertClass.IMPROVEMENT}


def test_other_intervals_do_as_well() -> None:
    hourly = series(lambda t, r: np.where(t < 20 * DAY_S, 200, 280) * noise(t, r), days=22, interval_s=3600)
    assert only(told(hourly, interval_s=3600)).alert.alert_class is AlertClass.REGRESSION
    often = series(lambda t, r: np.where(t < 3 * DAY_S, 200, 240) * noise(t, r), days=3.2, interval_s=30)
    assert only(told(often, interval_s=30)).alert.alert_class is AlertClass.REGRESSION


class Afresh:
    """A detector that is written down and made anew before each sample."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.text = json.dumps(Detector(SETTINGS, history).state(), allow_nan=False)

    def observe(self, at: float, region: str, value: float | None) -> list[Event]:
        detector = Detector.from_state(SETTINGS, self.history, json.loads(self.text))
        events = detector.observe(at, region, value)
        self.text = json.dumps(detector.state(), allow_nan=False)
        return events


def test_a_detector_written_down_goes_on_as_if_it_had_not_been() -> None:
    world = World(cv=0.1, days=4, regions=3)
    samples = simulate(world, 12, [Step(at=2 * DAY_S, factor=1.5, until=2.5 * DAY_S)])
    history = Recorded(samples)
    afresh, kept = Afresh(history), Detector(SETTINGS, history)
    written: list[Event] = []
    for at, region, value in in_order(samples):
        written += afresh.observe(at, region, value)
    assert written == observe(kept, samples)
    assert [event.kind for event in written] == [Kind.OPENED, Kind.CONFIRMED, Kind.RESOLVED]
    assert len(afresh.text) < 4_000


def test_a_state_of_another_version_is_begun_anew() -> None:
    detector = Detector.from_state(SETTINGS, Recorded({}), {"version": 0})
    assert detector.model is None
    assert detector.alert is None


def test_an_accepted_level_is_the_normal_one_at_once() -> None:
    samples = simulate(WORLD, 13, [Step(at=AT, factor=1.5)])
    detector = Detector(SETTINGS, Recorded(samples))
    before = {region: part for region, part in samples.items() if part}
    first = {
        region: [sample for sample in part if sample[0] < START + AT + 3 * HOUR_S] for region, part in before.items()
    }
    assert [event.kind for event in observe(detector, first)] == [Kind.OPENED, Kind.CONFIRMED]
    accepted = detector.accept(START + AT + 3 * HOUR_S)
    assert [event.kind for event in accepted] == [Kind.ACCEPTED]
    assert detector.alert is None
    assert observe(detector, samples, since=AT + 3 * HOUR_S) == []
    assert detector.accept(START + AT + 4 * HOUR_S) == []


def test_what_was_slow_before_it_was_accepted_is_learned_as_normal() -> None:
    samples = simulate(World(cv=0.1, days=14), 13, [Step(at=AT, factor=1.5)])
    detector = Detector(SETTINGS, Recorded(samples))
    accepted_at = AT + 3 * DAY_S
    for at, region, value in in_order(samples):
        if detector.alert and at >= START + accepted_at:
            detector.accept(at)
        if at >= START + accepted_at + 2 * HOUR_S:
            break
        detector.observe(at, region, value)
    assert detector.model is not None
    # Of three days the last one is left out.
    assert detector.model.span_s == pytest.approx(2 * DAY_S, abs=2 * HOUR_S)


@pytest.mark.parametrize(("cv", "factor"), [(0.01, 1.03), (0.03, 1.1)])
def test_a_region_that_seemed_to_join_by_a_few_runs_is_no_part_of_what_is_confirmed(cv: float, factor: float) -> None:
    """One region of five is slow and a second becomes so: a third is as it was, and its first runs since lay high."""
    second = Step(at=AT + 8 * HOUR_S, factor=factor, regions=["region-1"])
    world = World(cv=cv, days=12, slow=0, spikes=0, wave=0)
    samples = simulate(world, 7, [Step(at=AT, factor=1.6, regions=["region-3"]), second])
    events = observe(Detector(SETTINGS, Recorded(samples)), samples)
    assert any("region-0" in event.alert.regions for event in events)
    last = events[-1].alert
    assert (last.alert_class, last.regions) == (AlertClass.REGIONAL, ("region-1", "region-3"))
    assert last.confirmed_at is not None


def test_after_a_restart_nothing_measured_before_counts() -> None:
    samples = simulate(World(cv=0.1, days=12), 14, [Step(at=6 * DAY_S, factor=2)])
    detector = Detector(SETTINGS, Recorded(samples))
    events: list[Event] = []
    for at, region, value in in_order(samples):
        if START + 6 * DAY_S <= at < START + 6 * DAY_S + 60:
            events += detector.restart(START + 6 * DAY_S)
        events += detector.observe(at, region, value)
    assert events == []
    assert detector.model is not None


def test_what_is_not_a_number_is_refused() -> None:
    samples = simulate(World(cv=0.1, days=2, regions=1), 15)
    detector = Detector(SETTINGS, Recorded(samples))
    observe(detector, samples)
    with pytest.raises(ValueError, match="not a finite number"):
        detector.observe(START + 2 * DAY_S, "region-0", float("nan"))


def test_a_region_never_seen_before_says_nothing_until_its_baseline_is_known() -> None:
    samples = simulate(World(cv=0.1, days=2, regions=1), 16)
    detector = Detector(SETTINGS, Recorded(samples))
    observe(detector, samples)
    assert detector.observe(START + 2 * DAY_S, "elsewhere", 9_999) == []


def test_what_comes_at_the_same_hour_every_day_is_told_twice_and_then_known() -> None:
    def nightly(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
        at_night = (times % DAY_S >= 2 * HOUR_S) & (times % DAY_S < 4 * HOUR_S) & (times > 9 * DAY_S)
        return np.asarray(200 * np.where(at_night, 1.6, 1) * noise(times, random, cv=0.05))

    alerts = told(series(nightly, days=16, regions=2))
    assert [round(days_after_start(one.alert.change_at), 1) for one in alerts] == [9.1, 10.1]


def test_what_comes_again_after_days_of_slowness_is_no_habit() -> None:
    """Slow for three days, well for an hour, slow again: that this hour was slow on those days excuses nothing."""
    samples = simulate(WORLD, 5, [Step(at=AT - 3 * DAY_S, factor=1.6, until=AT), Step(at=AT + 3 * HOUR_S, factor=1.6)])
    first, second = replay(samples, [], SETTINGS)
    assert first.ended is Kind.RESOLVED
    assert second.alert.change_at == pytest.approx(START + AT + 3 * HOUR_S, abs=900)


def test_what_comes_again_is_no_older_than_the_end_of_what_was_told_before() -> None:
    slow = [Step(at=AT - 3 * DAY_S, factor=1.6, until=AT), Step(at=AT + 3 * HOUR_S, factor=1.6)]
    events = observe(Detector(SETTINGS, Recorded(samples := simulate(WORLD, 5, slow))), samples)
    end = next(event for event in events if event.kind is Kind.RESOLVED)
    again = next(event for event in events if event.kind is Kind.OPENED and event.at > end.at)
    assert again.alert.change_at == pytest.approx(START + AT + 3 * HOUR_S, abs=900)


def test_what_is_left_of_a_slowdown_is_no_end_and_is_told_as_what_it_is() -> None:
    """Five times as slow, and then a third slower than it was: that is not as good as before."""
    left = AT + 8 * HOUR_S
    samples = simulate(
        World(cv=0.1, days=13), 6, [Step(at=AT, factor=5, until=left), Step(at=left, factor=1.35, until=left + DAY_S)]
    )
    events = [event for event in observe(Detector(SETTINGS, Recorded(samples)), samples) if event.at > START + AT]
    kinds = [event.kind for event in events]
    assert kinds[:2] == [Kind.OPENED, Kind.CONFIRMED]
    assert kinds[-1] is Kind.RESOLVED
    assert set(kinds[2:-1]) == {Kind.EASED}
    eased = events[2]
    assert START + left < eased.at < START + left + 3 * HOUR_S
    assert events[-2].alert.change_pct == pytest.approx(35, abs=6)
    assert events[-1].at > START + left + DAY_S
