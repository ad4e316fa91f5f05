"""How often history itself is as slow, against what can be counted on paper."""

import numpy as np
import pytest

from backend.analysis.gate_chance import chance_of
from backend.analysis.gate_estimate import Sides
from backend.analysis.noise import Floats

# One run in ten misses a cache, which adds 1 to its logarithm.
MISSES: Floats = np.array([1.0] * 6 + [0.0] * 54)
# Two of three do.
OFTEN = 3 * 0.1**2 * 0.9 + 0.1**3


def sides(history: Floats, *, regions: int = 1, runs: int = 3) -> Sides:
    return Sides(
        regions=tuple(map(str, range(regions))),
        history=(history,) * regions,
        fresh=(np.zeros(runs),) * regions,
        failed=0,
        left_out=(),
    )


def test_most_runs_of_a_region_miss_as_often_as_they_do() -> None:
    assert chance_of(sides(MISSES), 0.9) == pytest.approx(OFTEN, abs=0.011)
    assert chance_of(sides(MISSES), 1.1) == 0


@pytest.mark.parametrize(("shift", "often"), [(0.4, 1 - (1 - OFTEN) ** 2), (0.6, OFTEN**2)])
def test_of_two_regions_the_middle_counts(shift: float, often: float) -> None:
    """Half of what one of them misses, and all of it only where both do."""
    assert chance_of(sides(MISSES, regions=2), shift) == pytest.approx(often, abs=0.015)


@pytest.mark.parametrize(("shift", "often"), [(-0.41, 0.84), (0.0, 0.5), (0.41, 0.16), (0.82, 0.023)])
def test_of_what_scatters_evenly_half_lies_above_the_middle_and_the_rest_by_its_deviation(
    shift: float, often: float
) -> None:
    """Six runs of a deviation of 1 have one of 0.41 together, and a little more by their median."""
    history = np.random.default_rng(1).normal(0, 1, 2_000)
    assert chance_of(sides(history, runs=6), shift) == pytest.approx(often, abs=0.04)
