"""How small a change can be seen how soon, in noise like this: what no setting can better by much."""

from dataclasses import dataclass
from math import exp, expm1

from backend.analysis.fusion import weight
from backend.analysis.model import Model
from backend.analysis.settings import DAY_S, HOUR_S, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a model sees. `typical` is in the metric's unit; the least rises, and how far single runs vary, in per cent.

    `days` is how long a time the model comes from.
    """

    typical: float
    scatter_pct: float
    hour_pct: float
    day_pct: float
    regions: int
    days: float


def sight(model: Model, settings: Settings) -> Sight:
    """What the detector of a model can see."""
    scale = _weighed(model, [member.baseline.scale for member in model.members.values()])
    return Sight(
        typical=_typical(model, settings),
        scatter_pct=100 * expm1(scale**2) ** 0.5,
        hour_pct=smallest_pct(model, settings, hours=1),
        day_pct=smallest_pct(model, settings, hours=24),
        regions=len(model.members),
        days=model.span_s / DAY_S,
    )


def smallest_pct(model: Model, settings: Settings, *, hours: float) -> float:
    """The least rise, in per cent of all regions' values, that is as a rule told within so many hours.

    Evidence grows by d squared over twice the long-run variance with each sample, d being the rise in standard
    deviations; a rise below the least one that is told at all is not made out to be.
    """
    samples = len(model.members) * hours * HOUR_S / settings.interval_s
    size = (2 * settings.threshold * model.noise.variance / samples) ** 0.5 + 2 * model.noise.uncertainty
    scale = _weighed(model, [member.baseline.scale for member in model.members.values()])
    typical = _typical(model, settings)
    rise = (typical + settings.offset) * expm1(size * scale)
    return 100 * max(rise / typical, settings.min_change_pct / 100, settings.min_change / typical)


def _typical(model: Model, settings: Settings) -> float:
    """Of all regions, in the metric's unit; never nothing, of which there are no per cents."""
    level = _weighed(model, [member.baseline.level for member in model.members.values()])
    return max(exp(level) - settings.offset, settings.least)


def _weighed(model: Model, values: list[float]) -> float:
    """The mean over regions, each with what it counts."""
    weights = [weight(member.baseline) for member in model.members.values()]
    return sum(one * value for one, value in zip(weights, values, strict=True)) / sum(weights)
