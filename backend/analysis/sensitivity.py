"""How small a change can be seen how soon, in noise like this: what no setting can better by much."""

from math import expm1

from backend.analysis.fusion import weight
from backend.analysis.model import Model
from backend.analysis.settings import HOUR_S, Settings


def smallest_pct(model: Model, settings: Settings, *, hours: float) -> float:
    """The least rise, in per cent of all regions' values, that is as a rule told within so many hours.

    Evidence grows by d squared over twice the long-run variance with each sample, d being the rise in standard
    deviations; a rise below the least one that is told at all is not made out to be.
    """
    samples = len(model.members) * hours * HOUR_S / settings.interval_s
    size = (2 * settings.threshold * model.noise.variance / samples) ** 0.5 + 2 * model.noise.uncertainty
    total = sum(weight(member.baseline) for member in model.members.values())
    scale = sum(weight(member.baseline) * member.baseline.scale for member in model.members.values()) / total
    return max(100 * expm1(size * scale), settings.min_change_pct)
