"""What an open alert says of a level that has changed since: it is measured again soon, region by region."""

from math import inf, log

import pytest

from backend.analysis.baseline import Baseline
from backend.analysis.change import Change, least_told, worth_telling
from backend.analysis.detector import Detector
from backend.analysis.episode import Episode, Facts
from backend.analysis.events import Alert
from backend.analysis.fusion import Noise
from backend.analysis.model import Member, Model
from backend.analysis.onset import Onset
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


def one_region(typical_ms: float = 200) -> Model:
    """Its runs scatter by a fifth."""
    region = Member(Baseline(log(typical_ms), 0, 0, 0, 0, 0.2, 10_000), Noise(1.0, 0.0, 10_000))
    return Model({"fra": region}, region.noise, 9 * DAY_S)


def slower_by_a_third(facts: Facts) -> Episode:
    change = Change(onset=Onset(0.0, 0.0, 0.0), shifts={"fra": log(1.33)}, reporting=1, clearness=8.0)
    return Episode.begin(0.0, change, 1, facts)


def eased(*, left_pct: float, runs: int, gone: float = 8.0) -> tuple[Episode, bool | None]:
    """A third slower from one region, and then so much is left in so many runs, one a minute, which speak against a
    third by `gone`: what is made of it."""
    since = [(60.0 * number, 200 + 2 * left_pct) for number in range(1, runs + 1)]
    settings = settings_for("ttfb_ms", interval_s=60)
    facts = Facts(one_region(), settings, Recorded({"fra": since}))
    episode = slower_by_a_third(facts)
    episode.measure_at, episode.watch.gone, episode.watch.shown = 0.0, gone, runs
    return episode, episode.follow(60.0 * runs, facts)


@pytest.mark.parametrize(
    ("left_pct", "runs", "over"),
    [
        # Half an hour shows that it is back, and some minutes do not.
        (0, 30, True),
        (0, 8, None),
        # A third of it is left, which is told: the fewer runs, the less sure.
        (10, 20, None),
        (10, 90, False),
        (20, 30, False),
        # What nobody would have been told is no alert.
        (3, 200, True),
        (6, 200, False),
    ],
)
def test_a_level_is_the_old_one_or_what_is_left_once_runs_tell_which(
    left_pct: float, runs: int, over: bool | None
) -> None:
    episode, found = eased(left_pct=left_pct, runs=runs)
    assert found is over
    assert episode.alert.change_pct == pytest.approx(left_pct if over is False else 33)
    # Until more has come nobody asks again, and the evidence so far still counts.
    assert episode.watch.ask_at > episode.watch.gone


@pytest.mark.parametrize(("left_pct", "runs", "over"), [(0, 8, True), (10, 20, False)])
def test_what_is_surely_not_as_slow_as_told_is_over_or_told_anew_whichever_is_likelier(
    left_pct: float, runs: int, over: bool
) -> None:
    assert eased(left_pct=left_pct, runs=runs, gone=30.0)[1] is over


def test_a_quick_run_before_a_gap_makes_slow_runs_that_come_late_no_part_of_what_is_left() -> None:
    """The only agent was cut off for an hour, and it was over in the meantime."""
    quick, late, over = [60.0], [60.0 * minute for minute in range(2, 62)], [60.0 * minute for minute in range(62, 92)]
    runs = [(at, 266.0 if at in late else 200.0) for at in quick + late + over]
    facts = Facts(one_region(), settings_for("ttfb_ms", interval_s=60), Recorded({"fra": runs}))
    episode = slower_by_a_third(facts)
    for at in quick + over:
        episode.add(at, "fra", 0.0, facts)
    assert episode.watch.back_at == quick[0]
    assert episode.follow(over[-1], facts) is True
    assert episode.watch.back_at == over[0]


@pytest.mark.parametrize("typical_ms", [25, 90, 300])
@pytest.mark.parametrize("direction", [1, -1])
def test_the_least_that_is_told_of_a_rise_or_a_fall_is_worth_telling_and_less_is_not(
    direction: int, typical_ms: float
) -> None:
    model, settings = one_region(typical_ms), settings_for("ttfb_ms", interval_s=60)
    least = least_told(model, {"fra": direction}, settings)
    assert worth_telling(model, {"fra": direction * least * 1.001}, settings)
    assert not worth_telling(model, {"fra": direction * least * 0.999}, settings)


def test_of_a_site_that_answers_within_the_least_change_no_fall_is_told() -> None:
    assert least_told(one_region(9), {"fra": -0.5}, settings_for("ttfb_ms", interval_s=60)) == inf


def test_what_is_minutes_old_is_measured_again_after_an_hour_at_the_soonest() -> None:
    episode, _ = eased(left_pct=20, runs=30)
    assert episode.measure_at == 30 * 60 + HOUR_S
    episode, _ = eased(left_pct=20, runs=90)
    assert episode.measure_at == 2 * 90 * 60


def test_what_a_newer_version_noted_besides_is_left_out() -> None:
    episode, _ = eased(left_pct=20, runs=30)
    state = episode.state()
    newer = state | {"mood": 1, "alert": state["alert"] | {"mood": 1}, "watch": state["watch"] | {"mood": 1}}
    assert Episode.from_state(newer) == episode
