"""What a probe knows that is still looking deeper, as agents tell it ahead of its result.

Agents of a region may lie: what is kept is small, and what no probe can have seen is not kept at all.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields

from workers.measurement.messages import Early, Progress, ProgressStage
from workers.measurement.timing import Phases

# No monitor may wait longer for an answer.
_MOST_US = 3_600_000_000
# More than any probe counts of round trips or connections.
_MOST = 1_000
# Where a run begins, and begins anew when its message is delivered once more: what was told before is no longer so.
_BEGINNING = (ProgressStage.QUEUED, ProgressStage.STARTING, ProgressStage.CONNECTING)
_PHASES = frozenset(field.name for field in fields(Phases))

Kept = dict[str, int | None]


def noted(message: Progress) -> dict[str, Kept | None]:
    """What becomes of what a pending run has told ahead: it is new, gone, or as it was."""
    if message.stage in _BEGINNING:
        return {"phases": None}
    kept: Kept = {}
    if message.phases is not None and _may_be(message.phases):
        kept |= asdict(message.phases) | _within(message, {"tls_round_trips": _MOST, "rtt_us": _MOST_US})
    if message.connections is not None and message.planned is not None and message.connections <= message.planned:
        kept |= _within(message, {"connections": _MOST, "planned": _MOST})
    return {"phases": kept} if kept else {}


def early_from(text: str | None) -> Early | None:
    """What is kept as this JSON."""
    if text is None:
        return None
    kept = json.loads(text)
    phases = {name: kept.pop(name) for name in _PHASES if name in kept}
    return Early(phases=Phases(**phases) if phases else None, **kept)


def _within(message: Progress, most: Mapping[str, int]) -> Kept:
    """Those of its numbers that are told and may be."""
    told = {name: getattr(message, name) for name in most}
    return {name: number for name, number in told.items() if number is not None and 0 <= number <= most[name]}


def _may_be(phases: Phases) -> bool:
    """Those of a probe that was answered stand without gaps, so they add up with the redirects before them."""
    told = [us for us in asdict(phases).values() if us is not None]
    if any(not 0 <= us <= _MOST_US for us in told) or phases.wait_us is None:
        return False
    before = (phases.dns_us, phases.connect_us, phases.tls_us, phases.send_us, phases.wait_us)
    if phases.ttfb_us is None or phases.ttfb_us < sum(us or 0 for us in before):
        return False
    return phases.total_us == (None if phases.download_us is None else phases.ttfb_us + phases.download_us)
