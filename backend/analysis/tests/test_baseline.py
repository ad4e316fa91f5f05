"""What is normal is learned from spiky, wavy, patchy values, and noise is not taken for less than it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.baseline import fit
from backend.analysis.fusion import Deviations, affected, majority, noise, weight
from backend.analysis.model import Model, fit_model
from backend.analysis.noise import Floats
from backend.analysis.replay import Recorded
from backend.analysis.settings import DAY_S, Settings, settings_for
from backend.analysis.simulation import START, Step, World, simulate
from backend.analysis.transform import from_log, log_step, to_log

SETTINGS = settings_for("ttfb_ms", interval_s=300)
WEEK: Floats = START + np.arange(8 * 288, dtype=np.float64) * 300


def model_of(world: World, *, excluded: tuple[tuple[float, float], ...] = ()) -> Model | None:
    end = START + world.days * DAY_S
    return fit_model(Recorded(simulate(world, 3)).samples(START - 1, end), excluded, SETTINGS)


def test_level_wave_and_scatter_are_learned_through_spikes() -> None:
    random = np.random.default_rng(1)
    wave = 0.1 * np.sin(2 * np.pi * (WEEK % DAY_S) / DAY_S) + 0.05 * np.cos(4 * np.pi * (WEEK % DAY_S) / DAY_S)
    logs = np.log(200) + wave + 0.1 * random.normal(size=WEEK.size)
    logs[random.random(WEEK.size) < 0.03] += 2
    baseline = fit(WEEK, logs)
    assert baseline.level == pytest.approx(np.log(200), abs=0.015)
    assert baseline.scale == pytest.approx(0.1, rel=0.1)
    expected = baseline.expected_at(WEEK)
    assert float(np.abs(expected - np.log(200) - wave).max()) < 0.025


@given(st.floats(min_value=START, max_value=START + 30 * DAY_S))
def test_one_time_and_many_are_expected_alike(at: float) -> None:
    baseline = fit(WEEK, np.log(200 + 30 * np.sin(WEEK / DAY_S * 2 * np.pi)))
    assert baseline.expected(at) == pytest.approx(float(baseline.expected_at(np.array([at]))[0]), abs=1e-9)


def test_a_single_sample_is_a_baseline_without_waves() -> None:
    baseline = fit(WEEK[:1], np.array([5.0]))
    assert baseline.expected(START + 12_345) == 5.0


def test_samples_at_one_hour_of_the_day_only_do_not_upset_the_waves() -> None:
    times: Floats = START + np.arange(30, dtype=np.float64) * DAY_S
    baseline = fit(times, np.full(30, 5.0))
    assert baseline.expected(START) == pytest.approx(5, abs=1e-6)


def test_noise_that_drifts_counts_for_more_than_noise_that_does_not() -> None:
    white, slow = model_of(World(cv=0.1, days=9, regions=1, slow=0)), model_of(World(cv=0.1, days=9, regions=1))
    assert white is not None
    assert slow is not None
    assert white.noise.variance == pytest.approx(1.1, abs=0.35)
    assert slow.noise.variance == pytest.approx(2.4, abs=0.9)


def test_what_regions_share_is_not_counted_twice() -> None:
    model = model_of(World(cv=0.1, days=9))
    assert model is not None
    assert model.noise.variance > 1.4 * max(member.noise.variance for member in model.members.values())


def test_a_young_baseline_is_trusted_less() -> None:
    young, old = model_of(World(cv=0.1, days=1.1)), model_of(World(cv=0.1, days=9))
    assert young is not None
    assert old is not None
    assert young.noise.uncertainty > 2 * old.noise.uncertainty


def test_days_that_differ_are_known_to() -> None:
    random = np.random.default_rng(2)
    deviations = random.normal(size=WEEK.size) + np.repeat([0.5, -0.5] * 4, 288)
    calm = np.ones(WEEK.size, dtype=np.bool_)
    found = noise(Deviations(WEEK, deviations, np.ones(WEEK.size), calm), interval_s=300)
    assert found.wander == pytest.approx(0.5, abs=0.1)


def test_past_alerts_do_not_bend_the_baseline() -> None:
    values = np.where((WEEK > START + 3 * DAY_S) & (WEEK < START + 5 * DAY_S), 400.0, 200.0)
    samples = {"fra": (WEEK.tolist(), values.tolist())}
    model = fit_model(samples, [(START + 3 * DAY_S, START + 5 * DAY_S)], SETTINGS)
    assert model is not None
    assert from_log(model.members["fra"].baseline.level, SETTINGS) == pytest.approx(200, rel=0.001)


@pytest.mark.parametrize("count", [0, 1, 99])
def test_too_little_is_no_model(count: int) -> None:
    assert fit_model({"fra": (WEEK[:count].tolist(), [200.0] * count)}, (), SETTINGS) is None


def test_a_model_survives_being_written_down() -> None:
    model = model_of(World(cv=0.1, days=3))
    assert model is not None
    assert Model.from_state(model.state()) == model


@given(st.integers(1, 100))
def test_a_majority_is_more_than_half(regions: int) -> None:
    assert majority(regions) * 2 > regions
    assert (majority(regions) - 1) * 2 <= regions


@given(st.dictionaries(st.text(max_size=3), st.floats(min_value=-2, max_value=2), min_size=1, max_size=8))
def test_the_region_that_shifted_most_is_affected_or_none_is(shifts: dict[str, float]) -> None:
    names = affected(shifts, dict.fromkeys(shifts, 1.0))
    most = max(shifts, key=lambda name: shifts[name])
    assert (most in names) == (shifts[most] > 0)
    assert all(shifts[name] > 0 for name in names)


def test_one_of_five_is_told_from_all_five() -> None:
    weights = dict.fromkeys("abcde", 1.0)
    assert affected({"a": 0.4, "b": 0.01, "c": -0.02, "d": 0.03, "e": 0.0}, weights) == ("a",)
    assert affected({"a": 0.2, "b": 0.15, "c": 0.18, "d": 0.22, "e": 0.12}, weights) == tuple("abcde")


def test_a_quieter_region_counts_for_more() -> None:
    random = np.random.default_rng(4)
    quiet, loud = (fit(WEEK, np.log(200) + cv * random.normal(size=WEEK.size)) for cv in (0.08, 0.3))
    assert weight(quiet) > 3 * weight(loud)


values = st.floats(min_value=0, max_value=1e9)


@given(values, st.sampled_from(["ttfb_ms", "dns_ms", "cls", "bytes", "anything"]))
def test_logarithms_lead_back_to_their_values(value: float, metric: str) -> None:
    settings = settings_for(metric, interval_s=300)
    (level,) = to_log([value], settings)
    back = from_log(level, settings)
    assert back == pytest.approx(max(value, settings.least - settings.offset), rel=1e-6, abs=1e-6)


@given(st.floats(min_value=0.1, max_value=1e6), st.floats(min_value=0.01, max_value=1))
def test_a_step_in_logarithms_is_the_change_of_the_value(value: float, change: float) -> None:
    settings = Settings(offset=1)
    (level,) = to_log([value], settings)
    after = from_log(level + log_step(level, change, settings), settings)
    assert after == pytest.approx(value * (1 + change), rel=1e-6)


@pytest.mark.parametrize(
    ("days", "learned"), [(0.93, None), (1.0, 1.0), (1.5, 1.25), (2.0, 1.5), (3.0, 2.0), (5.0, 4.0), (9.0, 8.0)]
)
def test_the_last_day_is_not_learned_and_of_less_than_three_days_half_of_what_is_over_one(
    days: float, learned: float | None
) -> None:
    model = model_of(World(cv=0.1, days=days))
    assert (None if model is None else model.span_s / DAY_S) == (learned and pytest.approx(learned, abs=0.01))


def test_what_happened_on_the_last_day_moves_no_level() -> None:
    world = World(cv=0.05, days=9, regions=2)
    usual, slower = (
        fit_model(Recorded(simulate(world, 3, steps)).samples(START - 1, START + 9 * DAY_S), (), SETTINGS)
        for steps in ([], [Step(at=8 * DAY_S, factor=3)])
    )
    assert usual is not None
    assert slower is not None
    for region, member in usual.members.items():
        assert slower.members[region].baseline == member.baseline


def test_a_level_that_moved_in_one_region_moves_in_no_other() -> None:
    model = model_of(World(cv=0.1, days=9, regions=2))
    assert model is not None
    moved = model.moved({"region-0": 0.4})
    before, after = ([one.members[name].baseline.level for name in ("region-0", "region-1")] for one in (model, moved))
    assert after == pytest.approx([before[0] + 0.4, before[1]])
