"""Changes of level are found where they are, and spikes and slow noise are not taken for them."""

from itertools import pairwise

import numpy as np
import pytest
import ruptures
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.changepoints import MIN_SEGMENT, changepoints, normal_scores, partition
from backend.analysis.noise import Floats
from backend.analysis.onset import MAX_ROUNDS, Onset, Rounds, Samples, by_samples, onset, rounds

numbers = st.lists(st.floats(min_value=0, max_value=1e6), max_size=120)


def noise(count: int, seed: int, *, cv: float = 0.15) -> Floats:
    """Lognormal, with spikes."""
    random = np.random.default_rng(seed)
    spikes = np.where(random.random(count) < 0.015, random.uniform(2, 12, count), 1)
    values: Floats = 200 * np.exp(cv * random.normal(size=count)) * spikes
    return values


def with_step(seed: int, deviations: float) -> tuple[list[float], int]:
    """400 values with a step of so many standard deviations somewhere in the middle."""
    step = int(np.random.default_rng(seed).integers(50, 350))
    values = noise(400, seed + 1_000)
    values[step:] *= np.exp(0.15 * deviations)
    return values.tolist(), step


def test_a_step_of_two_deviations_is_placed_within_five_samples() -> None:
    placed = 0
    for seed in range(60):
        values, step = with_step(seed, 2)
        placed += any(abs(found - step) <= 5 for found in changepoints(values))
    assert placed >= 57


@pytest.mark.parametrize("cv", [0.05, 0.15, 0.30])
def test_noise_with_spikes_has_no_change_points(cv: float) -> None:
    assert sum(len(changepoints(noise(1000, seed, cv=cv).tolist())) for seed in range(40)) <= 2


def test_noise_that_drifts_slowly_has_no_change_points() -> None:
    random = np.random.default_rng(7)
    found = 0
    for _ in range(30):
        slow = np.zeros(1000)
        for index, fresh in enumerate(random.normal(size=1000)):
            slow[index] = 0.67 * slow[index - 1] + 0.74 * fresh
        found += len(changepoints((0.84 * random.normal(size=1000) + 0.55 * slow).tolist()))
    assert found <= 2


@pytest.mark.parametrize(("count", "memory", "fresh_part"), [(60, 0.67, 0.0), (200, 0.9, 1.0)])
def test_slow_noise_of_a_short_series_is_hardly_ever_taken_for_a_change(
    count: int, memory: float, fresh_part: float
) -> None:
    """As long as changes are not clear, slow noise is estimated as if there were none: around them it looks small."""
    random = np.random.default_rng(1)
    found = 0
    for _ in range(20):
        slow = np.zeros(count)
        for index, fresh in enumerate(random.normal(size=count)):
            slow[index] = memory * slow[index - 1] + (1 - memory**2) ** 0.5 * fresh
        found += len(changepoints((slow + fresh_part * random.normal(size=count)).tolist()))
    assert found <= 5


def test_several_steps_are_all_found() -> None:
    values = noise(600, 3)
    values[150:] *= 1.5
    values[300:] *= 1.6
    values[450:] /= 2
    found = changepoints(values.tolist())
    assert len(found) == 3
    assert np.allclose(found, [150, 300, 450], atol=3)


def test_missing_values_move_nothing() -> None:
    values: list[float | None] = [10.0, 11, 10, None, 11, 10, 11, None, None, 30, 31, 30, None, 31, 30, 31]
    assert changepoints(values) == [9]


@pytest.mark.parametrize("values", [[], [1.0], [None] * 50, [5.0] * 200, [0.0] * 200, [1.0, 100.0] * 4])
def test_what_has_no_step_has_no_change_points(values: list[float | None]) -> None:
    assert changepoints(values) == []


@given(numbers)
def test_segments_are_never_shorter_than_the_least(values: list[float]) -> None:
    edges = [0, *changepoints(list(values)), len(values)]
    assert all(end - start >= MIN_SEGMENT for start, end in pairwise(edges)) or len(edges) == 2


@given(numbers, st.floats(min_value=0.001, max_value=1000))
def test_the_unit_of_the_values_does_not_matter(values: list[float], factor: float) -> None:
    rounded = [round(value) for value in values]
    assert changepoints(list(rounded)) == changepoints([value * factor for value in rounded])


@given(st.lists(st.integers(0, 20), min_size=10, max_size=60), st.floats(min_value=0.5, max_value=50))
def test_the_partition_is_the_best_there_is(values: list[int], penalty: float) -> None:
    """The oracle takes the squares of every last segment of every prefix."""
    scores = np.array(values, dtype=np.float64)
    starts = partition(scores, penalty)
    assert cost_of(scores, starts, penalty) == pytest.approx(best_cost(scores, penalty), abs=1e-6)


def cost_of(scores: Floats, starts: list[int], penalty: float) -> float:
    edges = [0, *starts, scores.size]
    parts = [scores[start:end] for start, end in pairwise(edges)]
    return sum(float(((part - part.mean()) ** 2).sum()) for part in parts) + penalty * len(starts)


def best_cost(scores: Floats, penalty: float) -> float:
    best = {0: -penalty}
    for end in range(MIN_SEGMENT, scores.size + 1):
        best[end] = min(
            cost + penalty + float(((scores[start:end] - scores[start:end].mean()) ** 2).sum())
            for start, cost in best.items()
            if end - start >= MIN_SEGMENT
        )
    return best[scores.size]


def test_ruptures_sees_the_same_steps() -> None:
    for seed in range(10):
        values, _ = with_step(seed, 3)
        scores = normal_scores(np.array(values))
        oracle = ruptures.KernelCPD(kernel="linear", min_size=MIN_SEGMENT).fit(scores[:, None]).predict(pen=15.0)[:-1]
        assert partition(scores, 15.0) == oracle


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80))
def test_normal_scores_keep_order_and_ties(values: list[int]) -> None:
    scores = normal_scores(np.array(values, dtype=np.float64))
    assert abs(scores.sum()) < 1e-9
    for one, score in zip(values, scores, strict=True):
        for other, other_score in zip(values, scores, strict=True):
            assert (one < other) == (score < other_score - 1e-12)


@pytest.mark.parametrize(
    ("levels", "noise"), [((5, 9), 0.0), ((1, 2, 1), 0.0), ((10, 20, 10), 1.0), ((10, 11), 0.1)], ids=str
)
def test_a_clear_change_of_a_short_series_is_found_with_and_without_noise(
    levels: tuple[int, ...], noise: float
) -> None:
    random = np.random.default_rng(1)
    values = np.concatenate([random.normal(level, noise, 30) for level in levels])
    assert changepoints(values.tolist()) == [30 * number for number in range(1, len(levels))]


def test_a_few_very_slow_runs_did_not_begin_with_a_small_rise_hours_ago() -> None:
    means = np.concatenate((np.random.default_rng(1).normal(size=200), np.full(36, 0.6), np.full(4, 3.0)))
    series = Rounds(np.arange(means.size, dtype=np.float64), means, np.ones(means.size))
    assert onset(series, variance=1.0).at == 236
    assert onset(Rounds(series.times[:-4], means[:-4], series.weights[:-4]), variance=1.0).at == 200


def test_a_level_began_with_the_last_rise_to_it_however_much_there_was_before() -> None:
    levels = np.concatenate((np.zeros(100), np.full(100, 2.0), np.full(20, 3.5)))
    means = levels + 0.3 * np.random.default_rng(1).normal(size=levels.size)
    series = Rounds(np.arange(means.size, dtype=np.float64), means, np.ones(means.size))
    assert onset(series, variance=0.1).at == 200


def test_part_of_the_way_back_is_not_where_a_rise_began() -> None:
    levels = np.concatenate((np.zeros(100), np.full(100, 3.0), np.full(20, 1.5)))
    means = levels + 0.3 * np.random.default_rng(1).normal(size=levels.size)
    series = Rounds(np.arange(means.size, dtype=np.float64), means, np.ones(means.size))
    assert onset(series, variance=0.1).at == 100


@pytest.mark.parametrize(
    ("rough", "told"),
    [
        ((150, 145, 155), (152, 145, 155)),
        ((150, 148, 150), (152, 148, 152)),
        ((155, 154, 158), (152, 152, 158)),
    ],
)
def test_by_single_samples_a_change_begins_with_the_first_of_them_within_what_rounds_say_or_beside_it(
    rough: tuple[int, int, int], told: tuple[int, int, int]
) -> None:
    """In minutes: when, at the earliest, at the latest."""
    times: Floats = np.arange(300, dtype=np.float64) * 60
    deviations = np.where(times >= 152 * 60, 2.5, 0.0) + 0.3 * np.random.default_rng(1).normal(size=times.size)
    samples = Samples(times, deviations, np.ones(times.size))
    seen = by_samples(Onset(*(60.0 * one for one in rough)), samples, interval_s=300, variance=0.1)
    assert seen == Onset(*(60.0 * one for one in told))


@pytest.mark.parametrize(("minutes", "width_s"), [(1_440, 60), (1_442, 120), (2_880, 120), (4_300, 180)])
def test_rounds_are_as_long_as_the_interval_unless_there_would_be_too_many(minutes: int, width_s: int) -> None:
    times: Floats = np.arange(minutes, dtype=np.float64) * 60
    series = rounds(Samples(times, np.ones(minutes), np.ones(minutes)), interval_s=60)
    assert set(np.diff(series.times)) == {width_s}
    assert series.times.size <= MAX_ROUNDS
    assert series.weights.sum() == minutes
