"""Student's quantiles, for who has no numpy in memory."""

from math import expm1, sqrt

# With fewer degrees of freedom bounds lie so far away that they say nothing.
_LEAST_FREEDOM = 2.0


def students(normal_quantile: float, freedom: float) -> float:
    """Student's quantile for the same error, with that many degrees of freedom (Wallace, 1959).

    Up to quantiles of 4 it is too large by no more than three per cent from 6 degrees, and twice as large with 2, as
    which fewer count; too small by no more than a hundredth. What is hardly known errs on the side of doubt.
    """
    n = max(freedom, _LEAST_FREEDOM)
    wider = normal_quantile * (8 * n + 3) / (8 * n + 1)
    return sqrt(n * expm1(wider * wider / n))
