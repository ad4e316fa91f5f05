"""How well changes are found: the detector run over made-up months, and what came of it counted."""

from collections import Counter
from dataclasses import dataclass, replace

from backend.analysis.events import AlertClass
from backend.analysis.replay import Told, replay
from backend.analysis.settings import DAY_S, settings_for
from backend.analysis.simulation import START, Step, World, simulate

# A baseline's worth of quiet before a step, and time to find the step in.
_QUIET_DAYS, _FOUND_WITHIN_DAYS = 10, 2.5
_SLOWER = (AlertClass.SLOWDOWN, AlertClass.REGRESSION, AlertClass.REGIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of a step: minutes until it was told (None: never), how many rounds of tests beside the truth it was
    placed, its size in per cent, and how many alerts were told in all."""

    told_min: float | None
    beside_rounds: float | None
    change_pct: float | None
    alerts: int


def watch(world: World, seed: int, *steps: Step) -> list[Told]:
    """The alerts over a made-up stretch of TTFB."""
    return replay(simulate(world, seed, steps), [], settings_for("ttfb_ms", interval_s=world.interval_s))


def false_alerts(world: World, seed: int) -> Counter[AlertClass]:
    """How many alerts of each class were told while nothing had happened but what the world has of short slowdowns."""
    return Counter(told.alert.alert_class for told in watch(world, seed))


def find_step(world: World, seed: int, factor: float) -> Found:
    """What came of a step to `factor` at a time of the day that the seed chooses."""
    at = _QUIET_DAYS * DAY_S + seed * 7919 % DAY_S
    days = _QUIET_DAYS + 1 + _FOUND_WITHIN_DAYS
    since = [
        told.alert
        for told in watch(replace(world, days=days), seed, Step(at=at, factor=factor))
        if told.alert.opened_at >= START + at
    ]
    slower = next((alert for alert in since if alert.alert_class in _SLOWER), None)
    if slower is None:
        return Found(told_min=None, beside_rounds=None, change_pct=None, alerts=len(since))
    return Found(
        told_min=(slower.opened_at - START - at) / 60,
        beside_rounds=(slower.change_at - START - at) / world.interval_s,
        change_pct=slower.change_pct,
        alerts=len(since),
    )
