"""How many round trips a TLS handshake took."""

from workers.diagnosis.probe.flights import handshake_turns
from workers.diagnosis.probe.gaps import GapKind, KnownGap, Ruler, handshake_gaps, ruler_of
from workers.measurement.evidence import TrialEvidence


def handshake_round_trips(trial: TrialEvidence, jitter_us: int = 0) -> int | None:
    """The server's turns, and its waits for us in them; None for a handshake that did not end. On a path that is so
    unsteady."""
    turns = handshake_turns(trial)
    if not turns or trial.handshake is None:
        return None
    ruler = ruler_of(trial, jitter_us)
    return len(turns) + sum(_is_round_trip(one, ruler) for one in handshake_gaps(trial, ruler))


def _is_round_trip(one: KnownGap, ruler: Ruler) -> bool:
    """Whether the server waited for us; where that is not clear, whether it took as long. One that signs, or waits for
    something else, pauses for any time."""
    near = ruler.may_be_near(one.gap.duration_us) or ruler.may_be_near(one.gap.period_us)
    return one.kind in (GapKind.WINDOW, GapKind.HELD) or (one.kind is GapKind.UNCLEAR and near)
