"""How much slower fresh runs are than history, by region and together, and how far that may be off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, pi

import numpy as np

from backend.analysis.gate_noise import Noise, noise_of, restless_variances, unseen_variance
from backend.analysis.gate_types import MIN_HISTORY, Values
from backend.analysis.noise import Floats, median

MAX_FAILED_PART = 0.3
# What an estimate by medians loses against one by means.
LOSS = 1.1**2
# Beside history that scatters far less, the median of all differences is that of the fresh runs, which loses so much.
_LOSS_OF_RESTLESS = pi / 2
# All pairs of so many values are looked at one by one; of a longer history evenly chosen ones.
_MAX_PAIRED = 2_000


class TooLittleError(ValueError):
    """Too little was measured for a verdict; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Logarithms by region, in which both sides have enough. `left_out` are regions that have not."""

    regions: tuple[str, ...]
    history: tuple[Floats, ...]
    fresh: tuple[Floats, ...]
    failed: int
    left_out: tuple[str, ...]

    @property
    def before(self) -> int:
        return sum(values.size for values in self.history)

    @property
    def after(self) -> int:
        return sum(values.size for values in self.fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionShift:
    """The shift of one region, with the variance that it would have alone, and what may be hidden of that."""

    region: str
    shift: float
    variance: float
    hidden_variance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A shift of logarithms: its variance by source, how many squares that is known by, and its parts by region.

    `fresh_variance` is what one fresh run a region would leave: it shrinks with their number, the other does not.
    `hidden_variance` is what there may be besides, unseen in history: who says that a site became slower allows for it.
    `runs_each` is how many runs one more value takes.
    """

    shift: float
    variance: float
    freedom: float
    fresh_variance: float
    other_variance: float
    fresh_runs: int
    noise: Noise
    regions: tuple[RegionShift, ...]
    hidden_variance: float = 0.0
    runs_each: int = 1

    def extra_runs(self, deviation: float) -> int | None:
        """How many more runs, over all regions, bring the standard error down to `deviation`; None: no number."""
        room = deviation**2 - self.other_variance
        if room <= 0:
            return None
        regions = len(self.regions)
        return self.runs_each * max(ceil(self.fresh_variance / room) * regions - self.fresh_runs, regions)


def sides(
    history: Values, fresh: Values, *, offset: float, least_fresh: int, least_history: int, lost: str = "failed"
) -> Sides:
    """What of both can be compared. Raises TooLittleError."""
    failed = refuse_failures(fresh, f"runs {lost}")
    before, after = logarithms(history, offset), logarithms(fresh, offset)
    regions = [
        region
        for region, values in after.items()
        if values.size >= least_fresh and (not least_history or _size(before, region) >= least_history)
    ]
    left_out = tuple(region for region in after if region not in regions)
    if not regions or len(regions) < len(left_out):
        raise TooLittleError(_too_little(before, after, least_fresh, least_history))
    return Sides(
        regions=tuple(regions),
        history=tuple(before.get(region, np.empty(0)) for region in regions),
        fresh=tuple(after[region] for region in regions),
        failed=failed,
        left_out=left_out,
    )


def shift_of(both: Sides) -> Estimate:
    """How much slower than history."""
    noise = noise_of(both.history)
    shifts = [_shift(before, after) for before, after in zip(both.history, both.fresh, strict=True)]
    return _estimate(both, noise, shifts, [1 / values.size for values in both.history], 1 + 1 / noise.batches)


def level_of(both: Sides, limit: float) -> Estimate:
    """How much slower than a limit (itself a logarithm). The noise is that of history, where there is enough of it."""
    is_known = all(values.size >= MIN_HISTORY for values in both.history)
    noise = noise_of(both.history if is_known else both.fresh)
    levels = [centre(values) - limit for values in both.fresh]
    return _estimate(both, noise, levels, [0.0] * len(levels), 1.0)


def _estimate(both: Sides, noise: Noise, shifts: Sequence[float], others: Sequence[float], batches: float) -> Estimate:
    """`others` is what one run's variance is divided by on the other side, by region, `batches` how often it counts."""
    count = len(shifts)
    squares = LOSS * noise.run_sds**2
    more, restless_freedoms = restless_variances(noise, both.fresh)
    restless = _LOSS_OF_RESTLESS * more
    sizes = np.array([values.size for values in both.fresh])
    fresh = float((squares + restless).sum()) / count**2
    history = float((squares * others).sum()) / count**2
    usual = float((squares / sizes).sum()) / count**2 + history
    beyond = restless / sizes / count**2
    runs = usual + float(beyond.sum())
    whole_batch = noise.batch_variance * batches
    together = noise.shared + (1 - noise.shared) / count
    batch = whole_batch * together
    hidden = unseen_variance(noise, both.fresh) * batches
    # Of a sum of variances (Satterthwaite, 1946): those that few squares tell, as of one restless region, count most.
    doubt = 2 * usual**2 / noise.run_freedom + 2 * batch**2 / noise.batch_freedom
    doubt += float((2 * beyond**2 / restless_freedoms).sum())
    alone = squares * (1 / sizes + others) + restless / sizes + whole_batch
    return Estimate(
        shift=float(np.mean(shifts)),
        variance=runs + batch,
        freedom=2 * (runs + batch) ** 2 / doubt,
        fresh_variance=fresh,
        other_variance=history + batch,
        fresh_runs=both.after,
        noise=noise,
        regions=tuple(
            RegionShift(region=region, shift=shift, variance=float(variance), hidden_variance=hidden)
            for region, shift, variance in zip(both.regions, shifts, alone, strict=True)
        ),
        hidden_variance=hidden * together,
    )


def _shift(before: Floats, after: Floats) -> float:
    """The median of all differences (Hodges and Lehmann, 1963)."""
    if before.size > _MAX_PAIRED:
        before = np.sort(before)[np.linspace(0, before.size - 1, _MAX_PAIRED).astype(int)]
    return float(np.median(after[:, None] - before[None, :]))


def centre(values: Floats) -> float:
    """The median of all means of two."""
    first, second = np.triu_indices(values.size)
    return median((values[first] + values[second]) / 2)


def logarithms(values: Values, offset: float) -> dict[str, Floats]:
    return {
        region: np.log(np.array([value for value in series if value is not None], dtype=np.float64) + offset)
        for region, series in values.items()
    }


def refuse_failures(values: Values, words: str) -> int:
    """How many failed; the `words` say which and how. Raises TooLittleError."""
    runs = sum(len(series) for series in values.values())
    failed = sum(value is None for series in values.values() for value in series)
    if failed > MAX_FAILED_PART * runs:
        raise TooLittleError(f"{failed} of {runs} {words}; at most {100 * MAX_FAILED_PART:.0f} % may")
    return failed


def _size(values: Mapping[str, Floats], region: str) -> int:
    return values[region].size if region in values else 0


def _too_little(before: Mapping[str, Floats], after: Mapping[str, Floats], fresh: int, history: int) -> str:
    """Of the region that has the most of what most are short of."""
    most_after = max((values.size for values in after.values()), default=0)
    if most_after < fresh:
        return f"{most_after} fresh runs in a region; at least {fresh} are needed"
    short_after = [region for region, values in after.items() if values.size < fresh]
    if short_after:
        return f"fewer than {fresh} fresh runs in {', '.join(short_after)}"
    short = [region for region in after if _size(before, region) < history]
    most = max(_size(before, region) for region in short)
    return f"at most {most} earlier runs to compare with in {', '.join(short)}; at least {history} are needed"
