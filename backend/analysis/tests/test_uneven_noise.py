"""Noise that is not the same at all hours, or not normal, is no change; and a change in it is found."""

import json

import numpy as np
import pytest

from backend.analysis.cusum import LARGEST_D, adjustment_coefficients
from backend.analysis.detector import Detector
from backend.analysis.events import AlertClass
from backend.analysis.fusion import ALIKE, worth_by_hour
from backend.analysis.model import Member, Model, fit_model
from backend.analysis.noise import Floats
from backend.analysis.replay import Recorded
from backend.analysis.settings import DAY_S, HOUR_S, settings_for
from backend.analysis.simulation import START
from backend.analysis.tests.series import Formula, noise, series, told

SETTINGS = settings_for("ttfb_ms", interval_s=300)
SIZES = [0.5, 1.0, LARGEST_D]


def busy_by_day(times: Floats, random: np.random.Generator) -> Floats:
    """Three times as restless from nine to five."""
    hours = times % DAY_S / HOUR_S
    values: Floats = 200 * np.exp(np.where((hours >= 9) & (hours < 17), 0.15, 0.05) * random.normal(size=times.size))
    return values


def one_in_twelve_misses(times: Floats, random: np.random.Generator) -> Floats:
    """Answers from a cache take as long as each other, others three times that."""
    values: Floats = np.where(random.random(times.size) < 1 / 12, 120.0, 40.0)
    return values


def a_round_trip_more_now_and_then(times: Floats, random: np.random.Generator) -> Floats:
    values: Floats = np.where(random.random(times.size) < 1 / 12, 2.0, 1.0)
    return values


@pytest.mark.parametrize(
    ("formula", "metric"),
    [
        (busy_by_day, "ttfb_ms"),
        (one_in_twelve_misses, "ttfb_ms"),
        (a_round_trip_more_now_and_then, "tls_round_trips"),
    ],
)
def test_an_unchanged_site_of_uneven_noise_is_told_of_nothing(formula: Formula, metric: str) -> None:
    assert told(series(formula, days=30, regions=5), metric=metric) == []


@pytest.mark.parametrize("formula", [busy_by_day, one_in_twelve_misses])
def test_a_step_in_uneven_noise_is_told_within_an_hour_at_any_time_of_the_day(formula: Formula) -> None:
    for hour in range(0, 24, 4):
        at = 10 * DAY_S + hour * HOUR_S

        def slower(times: Floats, random: np.random.Generator, at: float = at) -> Floats:
            return formula(times, random) * np.where(times >= at, 1.3, 1)

        (slow,) = told(series(slower, days=10.9, regions=5))
        assert slow.alert.alert_class in (AlertClass.SLOWDOWN, AlertClass.REGRESSION)
        assert 0 <= slow.alert.opened_at - (START + at) <= HOUR_S


def test_a_miss_makes_a_small_step_in_all_regions_no_large_one_in_a_single_one() -> None:
    """8 ms more everywhere: before, one run of 120 ms was told as a change of its region by 109 to 270 per cent."""
    for hour in range(1, 24, 4):
        at = 10 * DAY_S + hour * HOUR_S

        def slower(times: Floats, random: np.random.Generator, at: float = at) -> Floats:
            return one_in_twelve_misses(times, random) * noise(times, random, 0.05) * np.where(times >= at, 1.2, 1)

        for one in told(series(slower, days=10.5, regions=5)):
            assert one.alert.alert_class is not AlertClass.REGIONAL
            assert one.alert.change_pct == pytest.approx(20, abs=15)


def test_evidence_of_normal_noise_is_that_of_a_likelihood_ratio() -> None:
    normal = np.clip(np.random.default_rng(1).normal(size=200_000), -3, 3)
    found = adjustment_coefficients(normal, SIZES)
    # Clipped, the largest could be more; it is a ratio of likelihoods all the same.
    assert found == pytest.approx(SIZES, rel=0.03)


@pytest.mark.parametrize("side", [1, -1], ids=["far above", "far below"])
@pytest.mark.parametrize("share", [0.03, 0.08, 0.15])
def test_evidence_of_no_change_multiplies_to_one_on_average(side: int, share: float) -> None:
    random = np.random.default_rng(2)
    seen = np.where(random.random(20_000) < share, 3.0 * side, np.clip(random.normal(size=20_000), -3, 3))
    (most,) = adjustment_coefficients(seen, [LARGEST_D])
    assert most < LARGEST_D
    ratio = np.exp(most * (side * (seen - seen.mean()) - LARGEST_D / 2)).mean()
    assert ratio == pytest.approx(1, abs=0.02)


def test_noise_around_another_middle_gives_as_much_evidence() -> None:
    seen = np.random.default_rng(3).normal(size=5_000) / 2
    assert adjustment_coefficients(seen + 0.5, SIZES) == pytest.approx(adjustment_coefficients(seen, SIZES), rel=0.01)


def test_an_hour_that_varies_twice_as_much_is_worth_half_and_a_quiet_one_no_more() -> None:
    times: Floats = 60 * np.arange(8 * 1440, dtype=np.float64)
    hours = times % DAY_S // HOUR_S
    factors = np.where(hours == 3, 2**0.5, np.where(hours == 4, 0.5, 1))
    worth = worth_by_hour(times, factors * np.random.default_rng(4).normal(size=times.size))
    assert worth[3] == pytest.approx(0.5, rel=0.15)
    assert {*worth[:3], *worth[4:]} == {1.0}


def test_a_few_runs_of_an_hour_do_not_make_it_a_restless_one() -> None:
    times: Floats = HOUR_S * np.arange(8 * 24, dtype=np.float64)
    assert worth_by_hour(times, np.random.default_rng(5).normal(size=times.size)) == ALIKE
    assert worth_by_hour(times, np.zeros(times.size)) == ALIKE


def learned(formula: Formula) -> Model:
    model = fit_model(Recorded(series(formula, days=9)).samples(START - 1, START + 9 * DAY_S), (), SETTINGS)
    assert model is not None
    return model


def test_what_is_known_of_uneven_noise_is_kept() -> None:
    for formula in (busy_by_day, one_in_twelve_misses):
        model = learned(formula)
        assert Model.from_state(json.loads(json.dumps(model.state()))) == model


def test_what_was_kept_before_noise_could_be_uneven_is_read_and_kept_again() -> None:
    model = learned(busy_by_day)
    state = model.state()
    state["members"] = {region: parts[:10] for region, parts in state["members"].items()}
    read = Model.from_state(state)
    assert read.members["r0"] == Member(model.members["r0"].baseline, model.members["r0"].noise)
    assert Model.from_state(json.loads(json.dumps(read.state(), allow_nan=False))) == read


def test_runs_that_come_more_often_are_no_more_evidence_where_one_in_twelve_misses() -> None:
    model = learned(one_in_twelve_misses)
    often = model.measured(5)
    seldom = model.members["r0"].gains(model.noise, SETTINGS)
    assert [5 * gain for gain, _ in often.members["r0"].gains(often.noise, SETTINGS)] == pytest.approx(
        [gain for gain, _ in seldom]
    )
    # Not by the variance alone, which is as it would be of normal noise.
    assert seldom[-1][0] < LARGEST_D / model.noise.variance


def test_a_detector_goes_on_with_what_an_hour_is_worth() -> None:
    samples = series(busy_by_day, days=9)
    detector = Detector(SETTINGS, Recorded(samples))
    detector.observe(samples["r0"][-1][0], "r0", 200.0)
    again = Detector.from_state(SETTINGS, Recorded(samples), json.loads(json.dumps(detector.state())))
    assert detector.model is not None
    assert again.model == detector.model
    assert min(detector.model.members["r0"].worth) < 0.6
