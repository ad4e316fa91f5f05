"""Whether the network that a run measured through had the numbers of its profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from workers.measurement.evidence import Direction, ProbeEvidence, TrialEvidence
from workers.measurement.profile import Profile

# How much faster than asked for a link may seem: the clock starts with the first packet, headers are not counted.
_RATE_TOLERANCE = 1.1
# How late a busy machine's link may let out a packet, so that what follows seems to come faster.
_PATIENCE_US = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What one connection showed of the link: the round trip of its SYN, and what came in when, in bytes."""

    syn_rtt_us: int | None = None
    arrivals: tuple[tuple[int, int], ...] = ()


def passages_of(evidence: ProbeEvidence) -> list[Passage]:
    """Of every connection that was made, of either family."""
    return [_passage(trial) for trial in evidence.trials]


def keeps_profile(profile: Profile, passages: Sequence[Passage]) -> bool | None:
    """Whether no connection was quicker than its link allows; None for a profile that shapes nothing.

    Every handshake must have taken at least the round trip, and no data may have come at more than 1.1 times the rate.
    A run without any handshake has verified nothing: False.
    """
    if not profile.shapes:
        return None
    seen = [passage for passage in passages if passage.syn_rtt_us is not None]
    return bool(seen) and all(_keeps(profile, passage) for passage in seen)


def _keeps(profile: Profile, passage: Passage) -> bool:
    if profile.rtt_us is not None and (passage.syn_rtt_us or 0) < profile.rtt_us:
        return False
    return profile.down_kbit_s is None or _hurry_us(passage, profile.down_kbit_s * _RATE_TOLERANCE) <= _PATIENCE_US


def _hurry_us(passage: Passage, kbit_s: float) -> float:
    """By how much data came too soon for the rate, over the stretch of the connection where it was worst."""
    worst = hurry = 0.0
    for (before_us, _), (at_us, size) in pairwise(passage.arrivals):
        hurry = max(0.0, hurry) + size * 8000 / kbit_s - (at_us - before_us)
        worst = max(worst, hurry)
    return worst


def _passage(trial: TrialEvidence) -> Passage:
    """Without the kernel's stamps an arrival says when our process had time for it, and nothing about the link."""
    transfers = trial.transfers if trial.kernel_clock else ()
    received = (one for one in transfers if one.direction is Direction.RECEIVED)
    return Passage(syn_rtt_us=trial.syn_rtt_us, arrivals=tuple((one.at_us, one.size_bytes) for one in received))
