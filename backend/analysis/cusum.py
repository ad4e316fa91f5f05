"""A bank of cumulative sums of clipped deviations: one for each size of change, upwards and downwards.

Page's test (Biometrika 1954) of normal noise against the same noise moved by d standard deviations, d being what 5, 10,
20 and 50 per cent are in this stream. An increment is the logarithm of the likelihood ratio divided by the long-run
variance, and no more than noise of this shape allows, so that one threshold holds for all noise.
"""

from collections.abc import Sequence

import numpy as np

from backend.analysis.baseline import CLIP
from backend.analysis.noise import Floats

STEPS = (0.05, 0.10, 0.20, 0.50)
# A larger step is looked for as this many standard deviations, since deviations are clipped at 3.
LARGEST_D = 2.7

# What a deviation may be multiplied by as far as noise is normal.
UNBOUNDED = (LARGEST_D,) * len(STEPS)
# Deviations that lie no further apart are taken for equal: a number of them costs as little as one.
_BIN = 0.1
_BINS = np.arange(-CLIP, CLIP + _BIN / 2, _BIN)
# To a thousandth.
_HALVINGS = 11

# For each step: what a deviation is multiplied by, and what is taken from it before.
Gains = tuple[tuple[float, float], ...]


def step_sizes(steps: Sequence[float], scale: float) -> list[float]:
    """Of steps in logarithms, in standard deviations."""
    return [min(step / scale, LARGEST_D) for step in steps]


def gains(
    steps: Sequence[float], *, scale: float, variance: float, allowance: float, most: Sequence[float] = UNBOUNDED
) -> Gains:
    """For steps in logarithms, noise of `scale` and long-run `variance`, and a baseline known to `allowance`; `most` a
    deviation may be multiplied by."""
    return tuple(
        (min(size / variance, bound), size / 2 + allowance)
        for size, bound in zip(step_sizes(steps, scale), most, strict=True)
    )


def adjustment_coefficients(deviations: Floats, sizes: Sequence[float]) -> tuple[float, ...]:
    """The most that deviations may be multiplied by, for each size of change, after what was seen of no change.

    While nothing changes a likelihood ratio is 1 on average, and only so a threshold bounds false alarms (Wald, 1945).
    That of normal noise is more where one run in twelve takes three times as long. What it has to be multiplied by to
    be 1 for rises and falls (Lundberg's coefficient) is the size itself in normal noise, and never more here.
    """
    counts = np.bincount(np.rint((deviations + CLIP) / _BIN).astype(int), minlength=_BINS.size)
    shares, reach = counts / deviations.size, np.array(sizes)
    beside = _BINS - deviations.mean()
    evidence = np.stack((beside, -beside))[:, None, :] - reach[:, None] / 2
    low, high = np.zeros((2, reach.size)), np.broadcast_to(reach, (2, reach.size))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_more = np.exp(middle[:, :, None] * evidence) @ shares > 1
        low, high = np.where(is_more, low, middle), np.where(is_more, middle, high)
    return tuple(float(most) for most in high.min(axis=0))


class Bank:
    """Sums of evidence for a rise and for a fall, one for each step."""

    __slots__ = ("down", "up")

    def __init__(self, up: Sequence[float] = (0.0,) * len(STEPS), down: Sequence[float] = (0.0,) * len(STEPS)) -> None:
        self.up = list(up)
        self.down = list(down)

    def add(self, deviation: float, gains: Gains, threshold: float, worth: float = 1.0) -> int:
        """Takes a deviation in, which is worth so much of a usual one. 1 when a rise has reached the threshold, -1 when
        a fall has, else 0."""
        up, down, found = self.up, self.down, 0
        for step, (gain, reference) in enumerate(gains):
            rise = up[step] + worth * gain * (deviation - reference)
            up[step] = rise if rise > 0 else 0.0
            fall = down[step] - worth * gain * (deviation + reference)
            down[step] = fall if fall > 0 else 0.0
            if rise >= threshold:
                found = 1
            elif fall >= threshold:
                found = -1
        return found

    def state(self) -> tuple[list[float], list[float]]:
        """What `Bank(*state)` takes."""
        return list(self.up), list(self.down)

    def clear(self) -> None:
        self.up = [0.0] * len(STEPS)
        self.down = [0.0] * len(STEPS)
