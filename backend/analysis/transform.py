"""Values as logarithms, in which a change of so many per cent is the same step at every level, and back."""

from math import exp, log1p

import numpy as np
from numpy.typing import ArrayLike

from backend.analysis.noise import Floats
from backend.analysis.settings import Settings


def to_log(values: ArrayLike, settings: Settings) -> Floats:
    numbers: Floats = np.asarray(values, dtype=np.float64) + settings.offset
    result: Floats = np.log(np.maximum(numbers, settings.least))
    return result


def from_log(logarithm: float, settings: Settings) -> float:
    """At least 0. Logarithms beyond what a float holds cannot come from finite values."""
    return max(exp(min(logarithm, 700.0)) - settings.offset, 0.0)


def log_step(level: float, change: float, settings: Settings) -> float:
    """By how much the logarithm rises when a value of the logarithm `level` grows by the part `change`."""
    return log1p(change * from_log(level, settings) / exp(level))
