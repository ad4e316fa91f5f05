"""What is normal for one metric of one monitor: each region's baseline and noise, and the noise of all together."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.analysis.baseline import LEAST_SPAN_S, Baseline, fit
from backend.analysis.cusum import UNBOUNDED, Gains, adjustment_coefficients, gains, step_sizes
from backend.analysis.fusion import ALIKE, Deviations, Noise, noise, steps_of, weight, worth_by_hour
from backend.analysis.history import Series
from backend.analysis.noise import Floats
from backend.analysis.settings import DAY_S, HOUR_S, Settings
from backend.analysis.transform import to_log

# The baseline comes from the eight days before the last one, so that a fresh change is not learned; of less than three
# days a smaller part is left out.
WINDOW_S = 9 * DAY_S
_LEFT_OUT_S = DAY_S
_LEAST_HISTORY_S = 0.95 * DAY_S
# A region is judged when it has a day of its own, hour by hour, since else every morning were a change there, and 100
# samples, or after three days, if they are not very few.
_LEAST_HOURS = 20
_ENOUGH, _ENOUGH_AFTER_S, _FEWEST = 100, 3 * DAY_S, 24

Stretch = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Member:
    """One region. `most`: what its deviations may be multiplied by, for each step looked for. `worth`: by hour of the
    day, what part of a usual deviation's evidence one is."""

    baseline: Baseline
    noise: Noise
    most: tuple[float, ...] = UNBOUNDED
    worth: tuple[float, ...] = ALIKE

    def gains(self, noise: Noise, settings: Settings) -> Gains:
        """How its deviations are turned into evidence in a stream of this noise."""
        steps, scale = steps_of(self.baseline, settings), self.baseline.scale
        return gains(steps, scale=scale, variance=noise.variance, allowance=noise.uncertainty, most=self.most)

    def measured(self, times: float) -> "Member":
        """The same, measured so many times as often."""
        return replace(self, noise=self.noise.of(times), most=tuple(bound / max(times, 1) for bound in self.most))


@dataclass(frozen=True, slots=True)
class Model:
    """`span_s` is how long a time it comes from."""

    members: Mapping[str, Member]
    noise: Noise
    span_s: float

    def moved(self, shifts: Mapping[str, float]) -> "Model":
        """The model with the levels of regions moved by so much, in logarithms."""
        moved = {
            region: replace(
                member,
                baseline=replace(member.baseline, level=member.baseline.level + shifts.get(region, 0.0)),
            )
            for region, member in self.members.items()
        }
        return replace(self, members=moved)

    def measured(self, times: float) -> "Model":
        """The model for so many times as many samples, of which nobody knows yet how far they stray together."""
        members = {region: member.measured(times) for region, member in self.members.items()}
        return replace(self, members=members, noise=self.noise.of(times))

    def state(self) -> dict[str, Any]:
        return {
            "members": {
                region: [*astuple(m.baseline), *astuple(m.noise), list(m.most), list(m.worth)]
                for region, m in self.members.items()
            },
            "noise": list(astuple(self.noise)),
            "span_s": self.span_s,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Model":
        members = {
            # What was stored by an earlier version ends with the noise.
            region: Member(Baseline(*parts[:7]), Noise(*parts[7:10]), *map(tuple, parts[10:]))
            for region, parts in state["members"].items()
        }
        return cls(members, Noise(*state["noise"]), state["span_s"])


def fit_model(samples: Mapping[str, Series], excluded: Sequence[Stretch], settings: Settings) -> Model | None:
    """The model from what was measured up to now, without the stretches excluded; None when that is too little yet."""
    logs = _usable(samples, settings)
    if not logs:
        return None
    first, last = min(times[0] for times, _ in logs.values()), max(times[-1] for times, _ in logs.values())
    end = last - min(_LEFT_OUT_S, max(0.0, (last - first - DAY_S) / 2))
    if end - first < _LEAST_HISTORY_S:
        return None
    parts = {region: _Part(times, values, _calm(times, excluded)) for region, (times, values) in logs.items()}
    parts = {region: part.until(end) for region, part in parts.items()}
    parts = {region: part for region, part in parts.items() if _is_known(part.times[part.calm])}
    return _model_of(parts, end - first, settings) if parts else None


@dataclass(frozen=True, slots=True)
class _Part:
    """What a region measured, as logarithms; `calm` marks what lies outside of past alerts."""

    times: Floats
    logs: Floats
    calm: NDArray[np.bool_]

    def until(self, end: float) -> "_Part":
        count = int(np.searchsorted(self.times, end, side="right"))
        return _Part(self.times[:count], self.logs[:count], self.calm[:count])


def _is_known(times: Floats) -> bool:
    """Whether a region's calm samples are enough to say what is normal there."""
    if not times.size:
        return False
    span, hours = float(times[-1] - times[0]), 1 + np.count_nonzero(np.diff(times // HOUR_S))
    enough = _FEWEST if span >= _ENOUGH_AFTER_S else _ENOUGH
    return bool(span >= LEAST_SPAN_S and hours >= _LEAST_HOURS and times.size >= enough)


def _usable(samples: Mapping[str, Series], settings: Settings) -> dict[str, tuple[Floats, Floats]]:
    return {
        region: (np.asarray(times, dtype=np.float64), to_log(values, settings))
        for region, (times, values) in samples.items()
        if len(times)
    }


def _calm(times: Floats, excluded: Sequence[Stretch]) -> NDArray[np.bool_]:
    calm = np.ones(times.size, dtype=np.bool_)
    for since, until in excluded:
        calm &= (times < since) | (times > until)
    return calm


def _model_of(parts: Mapping[str, _Part], span_s: float, settings: Settings) -> Model:
    members, all_deviations = {}, []
    for region, part in parts.items():
        baseline = fit(part.times[part.calm], part.logs[part.calm])
        weights = np.full(part.times.size, weight(baseline))
        deviations = Deviations(part.times, baseline.deviations(part.times, part.logs), weights, part.calm)
        members[region] = _member(baseline, deviations, settings)
        all_deviations.append(deviations)
    together = noise(Deviations.together(all_deviations), interval_s=settings.interval_s, regions=len(parts))
    return Model(members, together, span_s)


def _member(baseline: Baseline, deviations: Deviations, settings: Settings) -> Member:
    times, calm = deviations.times[deviations.calm], deviations.deviations[deviations.calm]
    return Member(
        baseline,
        noise(deviations, interval_s=settings.interval_s),
        adjustment_coefficients(calm, step_sizes(steps_of(baseline, settings), baseline.scale)),
        worth_by_hour(times, calm),
    )
