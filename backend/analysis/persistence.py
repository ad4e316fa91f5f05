"""Whether the level of an open alert stays, or goes back to what it was: evidence from after the alert alone."""

from dataclasses import dataclass, replace
from math import log

from backend.analysis.baseline import CLIP
from backend.analysis.cusum import LARGEST_D
from backend.analysis.fusion import Noise

# In natural logarithms of likelihood. Staying needs little, since a false alarm would have to go on by chance for an
# hour; going back needs more, so that an alert does not flap.
_STAYS = 3.0
_GONE = 8.0
_MOST = 12.0
# So much more makes it worth asking once more what is left.
_MORE = 1.0
# With so much the level is surely not the one that is told: to wait on would leave that standing.
_WAITS_UNTIL = 30.0
# Counted as runs of an alert that has just opened, all of them slow. A run so much of the shift from the old level, or
# less, is as the old ones were.
_RUNS_BEFORE, _BACK_PART = 10, 1 / 4
_JUST_BEFORE_S = 0.001


@dataclass(slots=True)
class Watch:
    """`stays`: likelihood of the shift against none since the alert. `gone`: the same the other way round since its
    last low, at `gone_since`, behind which the first sample came at `back_at`. At `ask_at` it is asked what is left.
    `runs`: all at the present level; `back`: those among them that were as the old ones, and yet it did not go back;
    `going`: those of which nobody knows yet; `shown`: all since the low."""

    stays: float
    gone: float
    gone_since: float
    back_at: float = 0.0
    ask_at: float = _GONE
    runs: int = 0
    back: int = 0
    going: int = 0
    shown: int = 0

    def add(self, at: float, deviation: float, size: float, noise: Noise) -> None:
        """Takes in a deviation from the baseline in the alert's direction, where the shift is `size` (both in standard
        deviations)."""
        size = min(size, LARGEST_D)
        gain = size / noise.variance
        step = gain * (max(-CLIP, min(CLIP, deviation)) - size / 2)
        # That the baseline itself lies too low must not make an alert last.
        self.stays = min(self.stays + step - gain * noise.uncertainty, _MOST)
        if self.gone == 0:
            self.back_at = at
        self.gone -= max(step, -self._most_of_one)
        self.runs, self.going = self.runs + 1, self.going + (deviation <= _BACK_PART * size)
        self.shown += 1
        if self.gone <= 0:
            self.back, self.going = self.back + self.going, 0
            self._look_from(at)

    def look_anew(self, at: float) -> None:
        """Only what comes from now on speaks for going back."""
        self.runs = self.back = self.going = 0
        self._look_from(at)

    def _look_from(self, at: float) -> None:
        self.gone, self.gone_since, self.ask_at, self.shown = 0.0, at, _GONE, 0

    def at_its_low(self) -> "Watch":
        """As it was at its last low: to be shown what has come since, late runs included."""
        return replace(self, gone=0.0, runs=self.runs - self.shown, going=0, shown=0)

    def wait(self) -> None:
        """What is left cannot be told yet."""
        self.ask_at = self.gone + _MORE

    @property
    def back_since(self) -> float:
        """Behind which the first sample came that may be as the old ones: what came late is of before."""
        return max(self.gone_since, self.back_at - _JUST_BEFORE_S)

    @property
    def has_stayed(self) -> bool:
        return self.stays >= _STAYS and self.gone < _GONE / 2

    @property
    def may_wait(self) -> bool:
        return self.gone < _WAITS_UNTIL

    @property
    def _most_of_one(self) -> float:
        """What one run may say of going back: where such runs come while it lasts, as from the quick ones of several
        servers, no more than how rare they are."""
        return log((self.runs + _RUNS_BEFORE) / (self.back + 1))

    @property
    def is_gone(self) -> bool:
        return self.gone >= self.ask_at
