"""What is measured from elsewhere, or more often, than it was: no change of the site."""

import json

import pytest

from backend.analysis.detector import Detector
from backend.analysis.events import AlertClass, Event, Kind
from backend.analysis.replay import Recorded, Sample, in_order, replay
from backend.analysis.settings import DAY_S, HOUR_S, Settings, settings_for
from backend.analysis.simulation import START, Step, World, simulate

SETTINGS = settings_for("ttfb_ms", interval_s=300)
SLOWER_AT = 10 * DAY_S
NEW = "region-2"


def since(samples: list[Sample], at: float) -> list[Sample]:
    return [sample for sample in samples if sample[0] >= START + at]


def until(samples: list[Sample], at: float) -> list[Sample]:
    return [sample for sample in samples if sample[0] < START + at]


@pytest.mark.parametrize("days", [6.2, 6.4, 6.6, 6.8])
def test_a_new_region_is_judged_once_it_has_a_day_of_its_own(days: float) -> None:
    samples = simulate(World(cv=0.03, regions=3, days=10, wave=0.3), 1)
    samples[NEW] = since(samples[NEW], days * DAY_S)
    assert replay(samples, [], SETTINGS) == []


@pytest.mark.parametrize("seed", [1, 3])
def test_a_few_runs_of_long_ago_are_no_day_of_its_own(seed: int) -> None:
    samples = simulate(World(cv=0.1, regions=3, days=12, wave=0.3), seed)
    once = until(since(samples[NEW], 1.2 * DAY_S), 1.3 * DAY_S)
    samples[NEW] = once + since(samples[NEW], 8.7 * DAY_S)
    assert replay(samples, [], SETTINGS) == []


def test_a_new_region_that_has_become_slower_since_is_told() -> None:
    samples = simulate(World(cv=0.03, regions=3, days=11), 1, [Step(at=SLOWER_AT, factor=1.5, regions=[NEW])])
    samples[NEW] = since(samples[NEW], 6.6 * DAY_S)
    (told,) = replay(samples, [], SETTINGS)
    assert (told.alert.alert_class, told.alert.regions) == (AlertClass.REGIONAL, (NEW,))


def measured_more_often(first_s: float, then_s: float, world: World, *steps: Step) -> list[Event]:
    """What is told where the interval becomes shorter in the middle of the tenth day."""
    changed_at = START + 9.5 * DAY_S
    found = simulate(world, 3, steps)
    samples = {
        region: [
            sample
            for place, sample in enumerate(series)
            if sample[0] >= changed_at or place % round(first_s / then_s) == 0
        ]
        for region, series in found.items()
    }
    detector = Detector(settings_for("ttfb_ms", interval_s=first_s), Recorded(samples))
    events: list[Event] = []
    is_changed = False
    for at, region, value in in_order(samples):
        if at >= changed_at and not is_changed:
            is_changed = True
            settings: Settings = settings_for("ttfb_ms", interval_s=then_s)
            detector = Detector.from_state(settings, Recorded(samples), json.loads(json.dumps(detector.state())))
        events += detector.observe(at, region, value)
    return events


@pytest.mark.parametrize(("first_s", "then_s"), [(3600, 60), (900, 60), (3600, 300)])
def test_many_runs_of_an_hour_say_no_more_than_few_did_until_it_is_known_how_they_stray(
    first_s: float, then_s: float
) -> None:
    world = World(cv=0.15, regions=3, days=13, interval_s=then_s)
    assert [event.alert for event in measured_more_often(first_s, then_s, world)] == []


def test_a_site_that_becomes_slower_while_that_is_learned_is_told_all_the_same() -> None:
    world = World(cv=0.05, regions=3, days=10.5, interval_s=60)
    slower = Step(at=SLOWER_AT, factor=1.5)
    (opened, *_) = measured_more_often(3600, 60, world, slower)
    assert opened.kind is Kind.OPENED
    assert opened.alert.change_at == pytest.approx(START + SLOWER_AT, abs=HOUR_S)


def changed_to(interval_s: float, detector: Detector, samples: dict[str, list[Sample]]) -> Detector:
    """The detector as the next look has it, once its monitor is measured that often."""
    settings = settings_for("ttfb_ms", interval_s=interval_s)
    return Detector.from_state(settings, Recorded(samples), json.loads(json.dumps(detector.state())))


def test_what_was_measured_more_often_for_a_moment_is_judged_as_before_afterwards() -> None:
    """How runs stray is learned anew once a day, and of a site that is slower not before it is quick again."""
    step = Step(at=SLOWER_AT, factor=1.5, until=SLOWER_AT + 12 * HOUR_S)
    samples = simulate(World(cv=0.1, days=11, regions=3, interval_s=900), 1, [step])
    detector, events = Detector(settings_for("ttfb_ms", interval_s=900), Recorded(samples)), []
    for at, region, value in in_order(samples):
        if START + SLOWER_AT + 4 * HOUR_S <= at < START + SLOWER_AT + 5 * HOUR_S:
            detector = changed_to(900, changed_to(60, detector, samples), samples)
        events += detector.observe(at, region, value)
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CONFIRMED, Kind.RESOLVED]
    assert events[-1].at < START + SLOWER_AT + 13 * HOUR_S


@pytest.mark.parametrize("changed_h", [-30, -2, 2])
def test_rare_runs_say_no_less_than_they_do_although_many_strayed_together_before(changed_h: float) -> None:
    """Where a site is slower by now, what is normal is that of before."""
    slower_at = 3 * DAY_S
    changed_at = START + slower_at + changed_h * HOUR_S
    step = Step(at=slower_at, factor=1.4, until=slower_at + 8 * HOUR_S)
    found = simulate(World(cv=0.1, days=3.5, regions=3, interval_s=60, slow=0.6), 1, [step])
    samples = {
        region: [sample for place, sample in enumerate(series) if sample[0] < changed_at or place % 15 == 0]
        for region, series in found.items()
    }
    detector, events, is_changed = Detector(settings_for("ttfb_ms", interval_s=60), Recorded(samples)), [], False
    for at, region, value in in_order(samples):
        if at >= changed_at and not is_changed:
            detector, is_changed = changed_to(900, detector, samples), True
        events += detector.observe(at, region, value)
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CONFIRMED, Kind.RESOLVED]
    opened_h, _, ended_h = ((event.at - START - slower_at) / HOUR_S for event in events)
    assert opened_h < 1
    assert ended_h < 9


def test_a_region_that_falls_silent_keeps_no_alert_open() -> None:
    step = Step(at=SLOWER_AT, factor=1.8, until=SLOWER_AT + 6 * HOUR_S)
    samples = simulate(World(cv=0.05, regions=3, days=12), 1, [step])
    samples[NEW] = until(samples[NEW], SLOWER_AT + 2 * HOUR_S)
    (told,) = replay(samples, [], SETTINGS)
    assert told.ended is Kind.RESOLVED
    assert told.ended_at == pytest.approx(START + SLOWER_AT + 6.5 * HOUR_S, abs=HOUR_S)
    assert told.alert.regions == ("region-0", "region-1")
    assert told.alert.change_pct == pytest.approx(80, abs=5)


def test_one_that_falls_silent_just_before_the_end_keeps_it_open_for_an_hour_more() -> None:
    step = Step(at=SLOWER_AT, factor=1.8, until=SLOWER_AT + 6 * HOUR_S)
    samples = simulate(World(cv=0.05, regions=3, days=12), 3, [step])
    samples[NEW] = until(samples[NEW], SLOWER_AT + 5.95 * HOUR_S)
    (told,) = replay(samples, [], SETTINGS)
    assert told.ended is Kind.RESOLVED
    assert told.ended_at is not None
    assert told.ended_at < START + SLOWER_AT + 8 * HOUR_S


@pytest.mark.parametrize("seed", range(4))
def test_one_that_falls_silent_just_before_the_end_makes_it_last_no_longer_and_is_not_said_to_be_slow(
    seed: int,
) -> None:
    """Nobody knows whether it became quick as well: it keeps no alert open, nor one of its own."""
    ends_at = START + SLOWER_AT + 6 * HOUR_S
    step = Step(at=SLOWER_AT, factor=1.5, until=SLOWER_AT + 6 * HOUR_S)
    samples = simulate(World(cv=0.08, regions=3, days=11.5, interval_s=900), seed, [step])
    samples[NEW] = until(samples[NEW], SLOWER_AT + 5.98 * HOUR_S)
    detector, events = Detector(settings_for("ttfb_ms", interval_s=900), Recorded(samples)), []
    for at, region, value in in_order(samples):
        events += detector.observe(at, region, value)
        assert detector.alert is None or NEW in detector.alert.regions or at > ends_at + 3 * HOUR_S
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CONFIRMED, Kind.RESOLVED]
    assert events[-1].at < ends_at + 4 * HOUR_S
    assert events[-1].over_at == pytest.approx(ends_at, abs=1000)


def test_a_region_that_is_as_slow_after_a_silence_joins_again_without_a_word() -> None:
    step = Step(at=SLOWER_AT, factor=1.8, until=SLOWER_AT + 12 * HOUR_S)
    samples = simulate(World(cv=0.05, regions=3, days=12), 1, [step])
    back = since(samples[NEW], SLOWER_AT + 6 * HOUR_S)
    samples[NEW] = until(samples[NEW], SLOWER_AT + 2 * HOUR_S) + back
    detector, kinds = Detector(SETTINGS, Recorded(samples)), []
    for at, region, value in in_order(samples):
        kinds += [event.kind for event in detector.observe(at, region, value)]
        if START + SLOWER_AT + 8 * HOUR_S <= at < START + SLOWER_AT + 8 * HOUR_S + 300:
            assert detector.alert is not None
            assert NEW in detector.alert.regions
    assert kinds == [Kind.OPENED, Kind.CONFIRMED, Kind.RESOLVED]


def test_a_regional_alert_is_no_worse_when_one_of_its_regions_speaks_again() -> None:
    step = Step(at=SLOWER_AT, factor=1.8, regions=["region-1", NEW])
    samples = simulate(World(cv=0.05, regions=5, days=11), 1, [step])
    samples[NEW] = until(samples[NEW], SLOWER_AT + 2 * HOUR_S) + since(samples[NEW], SLOWER_AT + 5 * HOUR_S)
    detector = Detector(SETTINGS, Recorded(samples))
    kinds = [event.kind for at, region, value in in_order(samples) for event in detector.observe(at, region, value)]
    assert kinds == [Kind.OPENED, Kind.CONFIRMED]
    assert detector.alert is not None
    assert detector.alert.regions == ("region-1", NEW)


def test_hours_without_any_run_make_no_region_silent() -> None:
    step = Step(at=SLOWER_AT, factor=1.8, regions=["region-1", NEW])
    samples = {
        region: until(series, SLOWER_AT + 3 * HOUR_S) + since(series, SLOWER_AT + 6 * HOUR_S)
        for region, series in simulate(World(cv=0.05, regions=5, days=11), 1, [step]).items()
    }
    detector = Detector(SETTINGS, Recorded(samples))
    for at, region, value in in_order(samples):
        detector.observe(at, region, value)
        if detector.alert and at > START + SLOWER_AT + 3 * HOUR_S:
            assert detector.alert.regions == ("region-1", NEW)
    assert detector.alert is not None


@pytest.mark.parametrize("seed", range(3))
def test_slow_runs_that_come_late_are_no_part_of_what_is_left_once_it_is_over(seed: int) -> None:
    """The only agent was cut off for two hours, and it was over in the meantime."""
    cut_off_at, heard_at = START + SLOWER_AT + 3 * HOUR_S, START + SLOWER_AT + 5 * HOUR_S
    step = Step(at=SLOWER_AT, factor=2, until=SLOWER_AT + 4.2 * HOUR_S)
    samples = simulate(World(cv=0.1, regions=1, days=10.5), seed, [step])
    in_time = [sample for sample in samples["region-0"] if not cut_off_at <= sample[0] < heard_at]
    detector, events = Detector(SETTINGS, Recorded({"region-0": in_time})), []
    for at, value in in_time:
        if at >= heard_at and (at - 300) < heard_at:
            detector = Detector.from_state(SETTINGS, Recorded(samples), json.loads(json.dumps(detector.state())))
        events += detector.observe(at, "region-0", value)
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CONFIRMED, Kind.RESOLVED]
    # They tell when it was over as well.
    assert events[-1].over_at == pytest.approx(START + SLOWER_AT + 4.2 * HOUR_S, abs=600)


def test_a_region_that_is_added_after_a_clock_that_was_ahead_was_set_back_is_judged() -> None:
    """While it was ahead, the model was made for a day that is long to come."""
    set_back_at = 9 * DAY_S
    samples = simulate(World(cv=0.03, regions=3, days=13), 1, [Step(at=12 * DAY_S, factor=1.5, regions=[NEW])])
    samples[NEW] = since(samples[NEW], set_back_at)
    detector = Detector(SETTINGS, Recorded(samples))
    events = []
    is_ahead = True
    for at, region, value in in_order(samples):
        if at >= START + set_back_at and is_ahead:
            detector.observe(at + 60 * DAY_S, region, value)
            is_ahead = False
        events += detector.observe(at, region, value)
    assert [event.alert.regions for event in events if event.kind is Kind.OPENED] == [(NEW,)]
