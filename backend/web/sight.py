"""How small a change would be noticed, in words. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.alerts.metrics import metric_of, written
from backend.alerts.queries.sight import MonitorSight, Seen
from backend.alerts.wording import joined

# From here on a rise is said as how many times as much.
_TIMES_PCT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SightText:
    """What is said of one metric: its name, what would be noticed, and how it usually is."""

    name: str
    noticed: str
    usual: str


def sight_of(found: Sequence[MonitorSight], kind: str) -> list[SightText]:
    """The sentences about a site's monitor of a kind; none where nothing is watched."""
    mine = next((one for one in found if one.kind == kind), None)
    if mine is None:
        return []
    texts = [_text(seen) for seen in mine.seen]
    if mine.learning:
        names = joined([metric_of(metric).label for metric in mine.learning])
        usual = "What is normal is learned from a day and a hundred runs of a region."
        texts.append(SightText(name=names, noticed="No change would be noticed yet.", usual=usual))
    return texts


def _text(seen: Seen) -> SightText:
    soon, late = _rise(seen, seen.hour_pct), _rise(seen, seen.day_pct)
    within = f"{soon} is noticed within an hour"
    noticed = f"{within}." if soon == late else f"{within}, {late.replace('A rise', 'one')} within a day."
    places = f"{seen.regions} region{'' if seen.regions == 1 else 's'}"
    days = f"{seen.days:.0f} days" if seen.days >= 1.5 else "one day"
    usual = (
        f"Usually {written(seen.metric, seen.typical)}, and single runs vary by {seen.scatter_pct:.0f} %; "
        f"from {days} in {places}."
    )
    return SightText(name=metric_of(seen.metric).label, noticed=noticed, usual=usual)


def _rise(seen: Seen, pct: float) -> str:
    if pct >= _TIMES_PCT:
        return f"A rise to {1 + pct / 100:.1f} times as much"
    return f"A rise by {pct:.0f} % ({written(seen.metric, seen.typical * pct / 100)})"
