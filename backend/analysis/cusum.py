"""A bank of cumulative sums of clipped deviations: one for each size of change, upwards and downwards.

Page's test (Biometrika 1954) of normal noise against the same noise moved by d standard deviations, d being what 5, 10,
20 and 50 per cent are in this stream. An increment is the logarithm of the likelihood ratio divided by the long-run
variance, so that one threshold holds for all noise.
"""

from collections.abc import Sequence

STEPS = (0.05, 0.10, 0.20, 0.50)
# A larger step is looked for as this many standard deviations, since deviations are clipped at 3.
LARGEST_D = 2.7

# For each step: what a deviation is multiplied by, and what is taken from it before.
Gains = tuple[tuple[float, float], ...]


def gains(steps: Sequence[float], *, scale: float, variance: float, allowance: float) -> Gains:
    """For steps in logarithms, noise of `scale` and long-run `variance`, and a baseline known to `allowance`."""
    sizes = [min(step / scale, LARGEST_D) for step in steps]
    return tuple((size / variance, size / 2 + allowance) for size in sizes)


class Bank:
    """Sums of evidence for a rise and for a fall, one for each step."""

    __slots__ = ("down", "up")

    def __init__(self, up: Sequence[float] = (0.0,) * len(STEPS), down: Sequence[float] = (0.0,) * len(STEPS)) -> None:
        self.up = list(up)
        self.down = list(down)

    def add(self, deviation: float, gains: Gains, threshold: float) -> int:
        """Takes a deviation in. 1 when a rise has reached the threshold, -1 when a fall has, else 0."""
        up, down, found = self.up, self.down, 0
        for step, (gain, reference) in enumerate(gains):
            rise = up[step] + gain * (deviation - reference)
            up[step] = rise if rise > 0 else 0.0
            fall = down[step] - gain * (deviation + reference)
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
