"""What has changed, seen from an alarm: since when, where, and by how much."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, log1p
from statistics import NormalDist

import numpy as np

from backend.analysis.baseline import CLIP
from backend.analysis.fusion import affected, weight
from backend.analysis.history import Series
from backend.analysis.model import Model
from backend.analysis.noise import Floats, huber_mean
from backend.analysis.onset import Onset, Samples, by_samples, onset, rounds
from backend.analysis.settings import Settings
from backend.analysis.transform import from_log, to_log

# A region's own shift is told from the common one only as far as more than so many of its samples say so.
_COMMON_SAMPLES = 8
# No number of samples makes surer than this.
_SUREST = 0.9999


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`shifts`: how far logarithms lie above the baseline now, for those affected of the `reporting` regions."""

    onset: Onset
    shifts: Mapping[str, float]
    reporting: int
    # How many standard errors the levels since lie away from those before.
    clearness: float

    @property
    def confidence(self) -> float:
        """That the level has moved in this direction at all, from 0 to 1."""
        return min(NormalDist().cdf(self.clearness), _SUREST)

    @property
    def caution(self) -> float:
        """The part of the shifts that is sure enough to build on: an alarm comes sooner when chance makes a shift look
        larger than it is."""
        return max(0.5, 1 - 1 / self.clearness) if self.clearness > 0 else 0.5


@dataclass(frozen=True, slots=True)
class _Region:
    """What a region measured lately: times, and how far logarithms lay in the direction looked at."""

    times: Floats
    rest: Floats
    scale: float
    weight: float

    def since(self, at: float) -> Floats:
        return self.rest[self.times >= at]

    def shift_since(self, at: float) -> float:
        return huber_mean(self.since(at), clip=CLIP * self.scale)

    def of_size(self, at: float) -> "_Region":
        """In units in which the shift since then is not clipped; itself where it is not anyway."""
        shift = self.shift_since(at) if self.times[-1] >= at else 0.0
        return replace(self, scale=shift / CLIP) if shift > CLIP * self.scale else self


_Regions = Mapping[str, _Region]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Look for a change in `direction` (1 up, -1 down) from the levels that `offsets`, in logarithms, add to the
    baselines. It began where the regions `among` say; all do when that is empty. What may as well have begun with one
    of the `deploys` did."""

    direction: int
    offsets: Mapping[str, float] = field(default_factory=dict)
    among: Collection[str] = ()
    deploys: Sequence[float] = ()


def examine(samples: Mapping[str, Series], model: Model, question: Question, settings: Settings) -> Change | None:
    """The latest change, from samples up to the moment of the alarm; None when they show none."""
    direction, offsets = question.direction, question.offsets
    regions = _regions(samples, model, question, settings)
    asked = {name: region for name, region in regions.items() if not question.among or name in question.among}
    if not asked:
        return None
    began = _began(asked, model, question, settings)
    reporting = _reporting(regions, began.at)
    names = affected(_seen_shifts(reporting, began.at), _weights(reporting))
    if not names:
        return None
    chosen: _Regions = {name: regions[name] for name in names}
    if chosen.keys() != asked.keys():
        began = _began(chosen, model, question, settings)
        chosen = _reporting(chosen, began.at)
    common = _common_shifts(chosen, began.at)
    return Change(
        onset=began,
        shifts={name: offsets.get(name, 0.0) + direction * shift for name, shift in common.items()},
        reporting=len(reporting),
        clearness=_clearness(chosen, began.at, model),
    )


def worth_telling(model: Model, shifts: Mapping[str, float], settings: Settings) -> bool:
    """Whether shifts are as large as the settings ask, as a part and in the metric's unit."""
    before, after = levels(model, shifts, settings)
    return abs(after - before) >= _least_change(before, settings)


def least_told(model: Model, shifts: Mapping[str, float], settings: Settings) -> float:
    """How large a shift of these regions the way they have shifted has to be to be worth telling, in logarithms; inf
    where they cannot fall so far."""
    level = _level(model, shifts)
    part = _least_change(from_log(level, settings), settings) / exp(level)
    if sum(shifts.values()) >= 0:
        return log1p(part)
    return -log1p(-part) if part < 1 else inf


def _least_change(before: float, settings: Settings) -> float:
    return max(settings.min_change, before * settings.min_change_pct / 100, settings.least)


def _level(model: Model, regions: Iterable[str]) -> float:
    return float(np.mean([model.members[name].baseline.level for name in regions]))


def levels(model: Model, shifts: Mapping[str, float], settings: Settings) -> tuple[float, float]:
    """Typical values of the regions shifted, before and after."""
    before = _level(model, shifts)
    return from_log(before, settings), from_log(before + float(np.mean(list(shifts.values()))), settings)


def level_of(samples: Mapping[str, Series], model: Model, settings: Settings) -> dict[str, float]:
    """How far the samples of each region lie above its baseline, in logarithms; only regions that have any."""
    regions = _regions(samples, model, Question(direction=1), settings)
    return _common_shifts(regions, -inf) if regions else {}


def level_of_most(samples: Mapping[str, Series], model: Model, settings: Settings) -> float | None:
    """How far most samples of all regions lie above their baselines, in logarithms; None without any. Of a few runs one
    that missed a cache decides nothing, as it would where each region has but one."""
    regions = _regions(samples, model, Question(direction=1), settings).values()
    if not regions:
        return None
    clip = CLIP * float(np.mean([region.scale for region in regions]))
    return huber_mean(np.concatenate([region.rest for region in regions]), clip=clip)


def level_error(samples: Mapping[str, Series], model: Model) -> float:
    """How far chance may have moved the mean of the levels of all these regions, in logarithms: a standard error."""
    counted = [(model.members[name], len(times)) for name, (times, _) in samples.items() if name in model.members]
    known = [(member, count) for member, count in counted if count]
    if not known:
        return inf
    noise = known[0][0].noise if len(known) == 1 else model.noise
    squares = sum(member.baseline.scale**2 * noise.variance / count for member, count in known)
    return float(squares**0.5 / len(known))


def _regions(samples: Mapping[str, Series], model: Model, question: Question, settings: Settings) -> _Regions:
    regions = {}
    for name, (times, values) in samples.items():
        if name not in model.members or not len(times):
            continue
        baseline, at = model.members[name].baseline, np.asarray(times, dtype=np.float64)
        rest = to_log(values, settings) - baseline.expected_at(at) - question.offsets.get(name, 0.0)
        regions[name] = _Region(at, question.direction * rest, baseline.scale, weight(baseline))
    return regions


def _reporting(regions: _Regions, since: float) -> _Regions:
    return {name: region for name, region in regions.items() if region.times[-1] >= since}


def _began(regions: _Regions, model: Model, question: Question, settings: Settings) -> Onset:
    samples, variance = _in_order(regions), _variance(regions, model)
    variance *= float(samples.weights.mean())
    began = onset(rounds(samples, interval_s=settings.interval_s), variance=variance)
    sized = {name: region.of_size(began.at) for name, region in regions.items()}
    if any(sized[name] is not region for name, region in regions.items()):
        # Clipped, a tenth of it looks as large: seen unclipped, that is no part of it.
        began = by_samples(began, _in_order(sized), interval_s=settings.interval_s, variance=variance)
    # Runs before the deploy that an alert names had nothing of it.
    likely = [deploy for deploy in question.deploys if began.at < deploy <= began.latest]
    return replace(began, at=max(likely)) if likely else began


def _in_order(regions: _Regions) -> Samples:
    times = np.concatenate([region.times for region in regions.values()])
    deviations = np.concatenate([np.clip(r.rest / r.scale, -CLIP, CLIP) for r in regions.values()])
    weights = np.concatenate([np.full(region.times.size, region.weight) for region in regions.values()])
    order = np.argsort(times, kind="stable")
    return Samples(times[order], deviations[order], weights[order])


def _variance(regions: _Regions, model: Model) -> float:
    if len(regions) == 1:
        return model.members[next(iter(regions))].noise.variance
    return model.noise.variance


def _common_shifts(regions: _Regions, since: float) -> dict[str, float]:
    """Each region's shift, drawn towards that of all as long as its samples are few."""
    seen, weights = _seen_shifts(regions, since), _weights(regions)
    common = sum(seen[name] * weight for name, weight in weights.items()) / sum(weights.values())
    own = {name: region.shift_since(since) for name, region in regions.items()}
    return {name: common + (own[name] - common) * _trust(region.since(since).size) for name, region in regions.items()}


def _seen_shifts(regions: _Regions, since: float) -> dict[str, float]:
    """Each region's shift, drawn towards the middle one as long as its samples are few: where a region has but one run,
    that may be one that missed a cache."""
    own = {name: region.shift_since(since) for name, region in regions.items()}
    middle = float(np.median(list(own.values()))) if own else 0.0
    return {name: middle + (own[name] - middle) * _trust(region.since(since).size) for name, region in regions.items()}


def _weights(regions: _Regions) -> dict[str, float]:
    return {name: region.weight for name, region in regions.items()}


def _trust(samples: int) -> float:
    return samples / (samples + _COMMON_SAMPLES)


def _clearness(regions: _Regions, since: float, model: Model) -> float:
    total = squares = counted = 0.0
    for region in regions.values():
        rest = region.since(since)
        counted += region.weight * float(np.clip(rest / region.scale, -CLIP, CLIP).sum())
        total += region.weight * rest.size
        squares += region.weight**2 * rest.size
    error = (_variance(regions, model) * squares / total**2 + model.noise.uncertainty**2) ** 0.5
    return float(counted / total / error)
