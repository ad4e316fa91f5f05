"""How many round trips a TLS handshake took."""

from dataclasses import dataclass

from workers.diagnosis.flights import handshake_turns
from workers.diagnosis.gaps import GapKind, KnownGap, Ruler, handshake_gaps, ruler_of
from workers.measurement.evidence import TrialEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """A handshake counted twice: by the server's turns and its waits for us in them, and its network time in round
    trips (None where that is not known, or the round trip is)."""

    count: int
    by_time: float | None


def handshake_round_trips(trial: TrialEvidence, jitter_us: int = 0) -> RoundTrips | None:
    """None for one that did not end. On a path that is so unsteady."""
    turns, shake = handshake_turns(trial), trial.handshake
    if not turns or shake is None:
        return None
    ruler = ruler_of(trial, jitter_us)
    waits = sum(_is_round_trip(one, ruler) for one in handshake_gaps(trial, ruler))
    by_time = None if not ruler.rtt_us or shake.network_us is None else shake.network_us / ruler.rtt_us
    return RoundTrips(count=len(turns) + waits, by_time=by_time)


def _is_round_trip(one: KnownGap, ruler: Ruler) -> bool:
    """Whether the server waited for us; where that is not clear, whether it took as long. One that signs, or waits for
    something else, pauses for any time."""
    near = ruler.may_be_near(one.gap.duration_us) or ruler.may_be_near(one.gap.period_us)
    return one.kind in (GapKind.WINDOW, GapKind.HELD) or (one.kind is GapKind.UNCLEAR and near)
