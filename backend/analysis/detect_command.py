"""`python -m backend.analysis detect`: the alerts that series of measurements would have raised."""

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from backend.analysis.document import read
from backend.analysis.events import Kind
from backend.analysis.replay import Told, replay
from backend.analysis.settings import settings_for

ABOUT = """\
Finds regressions in series of measurements, as they would have been told at the time.

stdin:
  {"metric": "ttfb_ms",                 a metric's name; its unit decides what is too small to tell
   "interval_s": 300,                   seconds between two tests of a region
   "regions": {"fra": [[1767225600, 212.5], [1767225900, null], …], …},
                                        Unix seconds and value; null = the test failed
   "deploys": [1767229200, …]}          Unix seconds of deploys; may be left out

stdout:
  {"alerts": [{"at": …,                 when it was told first, Unix seconds
               "class": "regression",   slowdown: most regions, not (yet) for an hour; regression: a slowdown that
                                        lasted an hour, or 15 minutes after a deploy; regional: less than half of the
                                        regions; improvement
               "regions": ["fra", …],
               "change_at": …,          when the new level began
               "change_pct": 21.3,      null where the baseline is 0
               "baseline": 201.4,       typical value before, in the metric's unit
               "confidence": 0.9999,    that the level moved in this direction at all
               "resolved_at": …,        when it was told that the level was back; null while it is not
               "level": 244.3,          typical value since
               "confirmed_at": …,       when it had lasted long enough; null if it had not
               "accepted_at": …,        when the level had lasted so long that it became the normal one (7 days; an
                                        improvement: 3.5 days)
               "change_between": [a, b], where change_at lies, nineteen times in twenty
               "deploy_at": …}]}        the last deploy that it can come from

One alert is one change: `at` and `class` are of the same entry, so that a regression's `at` is when it was told as a
slowdown. Nothing is told before a day, and 100 samples of a region, are known.

exit codes: 0 answered, 2 the document is wrong (stderr names the field)
"""
MAX_REGIONS = 100
MAX_SAMPLES = 1_000_000
# The year 9999 ends before.
_LATEST_S = 253_402_300_800

_Time = Annotated[float, Field(ge=0, lt=_LATEST_S, allow_inf_nan=False)]
_Value = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Samples = Annotated[list[tuple[_Time, _Value | None]], Field(max_length=MAX_SAMPLES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    metric: Annotated[str, Field(min_length=1, max_length=100)]
    interval_s: Annotated[float, Field(gt=0, le=7 * 86_400, allow_inf_nan=False)]
    regions: Annotated[dict[str, _Samples], Field(min_length=1, max_length=MAX_REGIONS)]
    deploys: Annotated[list[_Time], Field(max_length=MAX_SAMPLES)] = field(default_factory=list)


_SHAPE = TypeAdapter(_Document)


def answer(text: bytes) -> dict[str, list[dict[str, Any]]]:
    """What to print for the document. Raises DocumentError."""
    document = read(_SHAPE, text)
    settings = settings_for(document.metric, interval_s=document.interval_s)
    regions = {name: sorted(samples, key=itemgetter(0)) for name, samples in document.regions.items()}
    return {"alerts": [_alert(told) for told in replay(regions, document.deploys, settings)]}


def _alert(told: Told) -> dict[str, Any]:
    alert = told.alert
    return {
        "at": alert.opened_at,
        "class": alert.alert_class.value,
        "regions": list(alert.regions),
        "change_at": alert.change_at,
        "change_pct": None if alert.change_pct is None else round(alert.change_pct, 2),
        "baseline": round(alert.baseline, 4),
        "confidence": round(alert.confidence, 4),
        "resolved_at": None if told.ended is Kind.ACCEPTED else told.ended_at,
        "level": round(alert.level, 4),
        "confirmed_at": alert.confirmed_at,
        "accepted_at": told.ended_at if told.ended is Kind.ACCEPTED else None,
        "change_between": [alert.change_from, alert.change_until],
        "deploy_at": alert.deploy_at,
    }
