"""How small a change would be seen, as the trends' loop worked it out when it last looked."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from backend.alerts.metrics import measured_by
from backend.alerts.models import Trend
from backend.sites.models import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Of one metric: what it usually is, how far single runs vary, and the least rise that is told within an hour and
    within a day. `typical` is in the door's unit."""

    metric: str
    typical: float
    scatter_pct: float
    hour_pct: float
    day_pct: float
    regions: int
    days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSight:
    """What is watched of a monitor. `learning` are metrics of which too little is known yet."""

    kind: str
    seen: tuple[Seen, ...]
    learning: tuple[str, ...]


def sight(site: Site) -> list[MonitorSight]:
    """By monitor, in the order of their kinds. One statement."""
    rows = Trend.objects.filter(monitor__site=site, monitor__kind__in=["probe", "page"]).order_by("monitor__kind")
    found = rows.values_list("monitor__kind", "monitor__user_timings", "memory")
    return [_of(kind, followed, json.loads(memory)) for kind, followed, memory in found]


def _of(
    kind: str, followed: Collection[str], memory: dict[str, dict[str, dict[str, dict[str, float]]]]
) -> MonitorSight:
    seen: dict[str, Seen] = {}
    watched = []
    for key, eye in memory.get("eyes", {}).items():
        metric = key.partition(":")[2]
        if not measured_by(metric, kind, followed):
            continue
        watched.append(metric)
        kept = eye.get("sight")
        if kept is None:
            continue
        found = Seen(metric=metric, **{**kept, "regions": int(kept["regions"])})  # type: ignore[arg-type]  # a count
        # Of two rules for one metric that which is told of less.
        if metric not in seen or found.day_pct < seen[metric].day_pct:
            seen[metric] = found
    learning = tuple(metric for metric in dict.fromkeys(watched) if metric not in seen)
    return MonitorSight(kind=kind, seen=tuple(seen.values()), learning=learning)
