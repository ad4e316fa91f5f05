"""Scatter, centres and slow noise, against what they are known to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from backend.analysis.noise import (
    Floats,
    huber_mean,
    long_run_variance,
    mad_sd,
    median,
    medians,
    scatter,
    variance_of_sums,
)

lists = st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1, max_size=100)


def slow_noise(count: int, keep: float, seed: int) -> Floats:
    """Of variance 1, each value holding the part `keep` of the one before."""
    random = np.random.default_rng(seed)
    values = np.empty(count)
    level = random.normal()
    for index in range(count):
        level = keep * level + (1 - keep**2) ** 0.5 * random.normal()
        values[index] = level
    return values


@given(lists)
def test_the_median_is_numpys(values: list[float]) -> None:
    assert median(np.array(values)) == pytest.approx(float(np.median(values)), abs=1e-9)


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_the_medians_of_rows_are_numpys(width: int, rows: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, width)).round(1)
    assert medians(values) == pytest.approx(np.median(values, axis=1), abs=1e-9)


@given(lists)
def test_the_absolute_deviation_is_scipys(values: list[float]) -> None:
    oracle = float(stats.median_abs_deviation(values, scale="normal"))
    assert mad_sd(np.array(values)) == pytest.approx(oracle, rel=1e-6, abs=1e-6)


def test_spikes_hardly_move_scatter_and_centre() -> None:
    values = np.random.default_rng(1).normal(size=2000)
    spiked = values.copy()
    spiked[::50] += 40
    assert scatter(spiked) == pytest.approx(scatter(values), rel=0.06)
    assert huber_mean(spiked, clip=3.0) == pytest.approx(0, abs=0.12)
    assert float(spiked.mean()) > 0.7


def test_two_heaps_scatter_as_far_as_they_lie_apart() -> None:
    random = np.random.default_rng(2)
    heaps = np.where(random.random(2000) < 0.8, 0, 10) + 0.1 * random.normal(size=2000)
    assert mad_sd(heaps) < 0.3
    assert scatter(heaps) > 3


def test_values_that_never_move_have_no_scatter() -> None:
    assert scatter(np.full(50, 7.0)) == 0
    assert long_run_variance(np.full(50, 7.0)) == 0
    assert variance_of_sums(np.zeros(20)) == 0
    assert variance_of_sums(np.empty(0)) == 0


@given(lists, st.floats(min_value=0.1, max_value=100))
def test_the_huber_centre_lies_within_the_values(values: list[float], clip: float) -> None:
    centre = huber_mean(np.array(values), clip=clip)
    assert min(values) - 1e-6 <= centre <= max(values) + 1e-6


def test_the_variance_of_sums_is_that_of_a_normal_distribution_despite_outliers() -> None:
    sums = 3 * np.random.default_rng(3).normal(size=4000)
    assert variance_of_sums(sums) == pytest.approx(9, rel=0.08)
    sums[::100] = 1e6
    assert variance_of_sums(sums) == pytest.approx(9, rel=0.15)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.67])
def test_the_long_run_variance_is_what_theory_says(keep: float) -> None:
    theory = (1 + keep) / (1 - keep)
    estimates = [long_run_variance(slow_noise(1000, keep, seed)) for seed in range(20)]
    assert float(np.mean(estimates)) == pytest.approx(theory, rel=0.2)


def test_a_step_is_not_taken_for_slow_noise() -> None:
    values = np.random.default_rng(4).normal(size=1000)
    values[500:] += 3
    assert long_run_variance(values) < 1.5
