from math import pi

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from backend.analysis.gate_bounds import quantile
from backend.analysis.gate_estimate import LOSS
from backend.analysis.gate_types import MAX_LOOKS
from backend.analysis.students import students


@pytest.mark.parametrize(("looks", "published"), [(1, 1.645), (2, 1.875), (3, 1.992), (4, 2.067)])
def test_the_quantiles_are_those_of_pocock(looks: int, published: float) -> None:
    assert quantile(0.05, looks) == pytest.approx(published, abs=0.001)


@pytest.mark.parametrize("looks", [2, 3, 5])
def test_looking_often_errs_as_seldom_as_asked(looks: int) -> None:
    """Against the multivariate normal distribution itself."""
    limit = quantile(0.01, looks)
    correlations = [[(min(a, b) / max(a, b)) ** 0.5 for a in range(1, looks + 1)] for b in range(1, looks + 1)]
    within = stats.multivariate_normal(cov=correlations).cdf([limit] * looks)
    assert 1 - within == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize(("runs", "times"), [((3, 6, 12), 1.015), ((3, 6, 12, 24, 48, 50), 1.03)])
def test_looks_at_twice_as_many_runs_each_time_err_no_more_than_what_medians_are_taken_to_lose_makes_up_for(
    runs: tuple[int, ...], times: float
) -> None:
    """Of normal values the median of all differences loses a twentieth (Hodges and Lehmann, 1963: pi / 3)."""
    correlations = [[(min(a, b) / max(a, b)) ** 0.5 for a in runs] for b in runs]
    limit = times * quantile(0.05, len(runs))
    within = stats.multivariate_normal(cov=correlations, allow_singular=True).cdf([limit] * len(runs))
    assert 1 - within < 0.0505
    assert times < (LOSS / (pi / 3)) ** 0.5


@given(st.floats(min_value=1e-5, max_value=0.4), st.integers(min_value=1, max_value=MAX_LOOKS - 1))
def test_more_looks_need_more_certainty(alpha: float, looks: int) -> None:
    assert quantile(alpha, looks) < quantile(alpha, looks + 1)


@pytest.mark.parametrize(("least", "short", "far"), [(2, 0.01, 0.67), (4, 0.0031, 0.082), (6, 0.002, 0.026)])
def test_students_quantile_is_scipys_or_a_little_more(least: float, short: float, far: float) -> None:
    @given(st.floats(min_value=0.0, max_value=4.0), st.floats(min_value=least, max_value=10_000))
    def is_scipys(z: float, freedom: float) -> None:
        # Near the middle a tail loses the digits of z: a millionth of a deviation decides no gate.
        exact = stats.t.isf(stats.norm.sf(z), freedom)
        assert (1 - short) * exact - 1e-6 <= students(z, freedom) <= (1 + far) * exact + 1e-6

    is_scipys()


def test_what_is_known_by_less_than_two_squares_counts_as_known_by_two() -> None:
    assert students(2.0, 0.7) == students(2.0, 2) > students(2.0, 3)
