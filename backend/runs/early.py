"""The phases of a probe that is still looking deeper, as agents tell them ahead of its result.

Agents of a region may lie: what is kept is small, and what no probe can have seen is not kept at all.
"""

import json
from dataclasses import asdict

from workers.measurement.messages import Progress, ProgressStage
from workers.measurement.timing import Phases

# No monitor may wait longer for an answer.
_MOST_US = 3_600_000_000
# Where a run begins, and begins anew when its message is delivered once more: what was told before is no longer so.
_BEGINNING = (ProgressStage.QUEUED, ProgressStage.STARTING, ProgressStage.CONNECTING)

Kept = dict[str, int | None]


def noted(message: Progress) -> dict[str, Kept | None]:
    """What becomes of a pending run's phases: new ones, none any more, or nothing where they stay as they are."""
    if message.stage in _BEGINNING:
        return {"phases": None}
    if message.phases is None or not _may_be(message.phases):
        return {}
    return {"phases": asdict(message.phases)}


def phases_from(text: str | None) -> Phases | None:
    """The phases that are kept as this JSON."""
    return None if text is None else Phases(**json.loads(text))


def _may_be(phases: Phases) -> bool:
    """Those of a probe that was answered stand without gaps, so they add up."""
    told = [us for us in asdict(phases).values() if us is not None]
    if any(not 0 <= us <= _MOST_US for us in told) or phases.wait_us is None:
        return False
    before = (phases.dns_us, phases.connect_us, phases.tls_us, phases.send_us, phases.wait_us)
    ttfb_us = sum(us or 0 for us in before)
    total_us = None if phases.download_us is None else ttfb_us + phases.download_us
    return (phases.ttfb_us, phases.total_us) == (ttfb_us, total_us)
