"""How late a server begins its handshakes, beyond what the way takes: with a signature in them, and without."""

from collections.abc import Iterable

from workers.diagnosis.case import Case, lost_packets, rtt_of
from workers.diagnosis.probe.flights import Turn, handshake_turns, mss_of, packet_time_us
from workers.diagnosis.probe.once import once_a_trial
from workers.diagnosis.probe.weighing import jitter_us, lost_in_handshake
from workers.measurement.evidence import Trial, TrialEvidence

# The kinds of connection that ask to continue a session; what came as early data waits for other things too.
_CONTINUED = (Trial.RESUMED, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
# What a server needs to find a session again, and what our own clock is late by, is less.
_FAR_BEHIND_US = 15_000
# What is to be told from the way stands out of its unsteadiness by so much.
_JITTERS = 1.5


@once_a_trial
def lead_us(trial: TrialEvidence) -> int | None:
    """How long the server took, beyond a round trip, to begin its handshake."""
    rtt_us, turns = rtt_of(trial), handshake_turns(trial)
    if rtt_us is None or not turns:
        return None
    return max(0, max(turn.start_us - turn.asked_us - rtt_us for turn in turns))


def begun_late_us(trial: TrialEvidence, up_us_per_byte: float) -> int:
    """How long the server took to begin its handshake, beyond what the way takes."""
    return max(0, round((lead_us(trial) or 0) - _on_narrow_link_us(trial, up_us_per_byte)))


def _on_narrow_link_us(trial: TrialEvidence, up_us_per_byte: float) -> float:
    """What the way takes beyond a round trip for our hello, and for the first packet of what follows. Packets that are
    sent again come far apart on any way."""
    hello_bytes = 0 if trial.handshake is None else trial.handshake.hello_bytes
    first = first_packet_bytes(trial, handshake_turns(trial)[0])
    packet_us = 0 if lost_packets(trial) else packet_time_us(trial)
    return up_us_per_byte * hello_bytes + packet_us * first / mss_of(trial)


def first_packet_bytes(trial: TrialEvidence, turn: Turn) -> int:
    """A full one where the flight has as much: reads are smaller than packets where the engine wants to know more."""
    return min(turn.flights[0].size_bytes, mss_of(trial)) or 1


def up_us_per_byte(case: Case) -> float:
    """What a byte of ours takes on a narrow way to the server: by so much later it answers a ClientHello with a hybrid
    key share than one without. 0 where that is no more than the way's unsteadiness."""
    larger, smaller = _whole_hellos(case, Trial.FULL, Trial.HTTP2), _smaller_hellos(case)
    if not larger or not smaller:
        return 0.0
    later_us = min(us for us, _ in larger) - min(us for us, _ in smaller)
    longer_bytes = min(size for _, size in larger) - max(size for _, size in smaller)
    return later_us / longer_bytes if longer_bytes > 0 and later_us > _JITTERS * jitter_us(case) else 0.0


def _smaller_hellos(case: Case) -> list[tuple[int, int]]:
    """Of those that signed without a hybrid key share. What was lost of them makes none begin sooner, and TLS 1.2 has
    no key share at all."""
    return _whole_hellos(case, Trial.CLASSICAL) or _hellos(case.evidence.of(Trial.CLASSICAL, Trial.TLS12))


def _whole_hellos(case: Case, *kinds: Trial) -> list[tuple[int, int]]:
    return _hellos(trial for trial in case.evidence.of(*kinds) if not lost_in_handshake(trial))


def _hellos(trials: Iterable[TrialEvidence]) -> list[tuple[int, int]]:
    """How long full handshakes took to begin, and the size of the hello before."""
    return [
        (turns[0].start_us - turns[0].asked_us, trial.handshake.hello_bytes)
        for trial in trials
        if trial.handshake is not None and not trial.handshake.resumed
        if (turns := handshake_turns(trial))
    ]


def always_late_us(trials: Iterable[TrialEvidence]) -> int:
    """By how much even the quickest of their handshakes began late, and not for a narrow link; 0 for hardly any."""
    leads = ((lead_us(trial), packet_time_us(trial)) for trial in trials)
    least_us = min((lead - packet_us for lead, packet_us in leads if lead is not None), default=0)
    return least_us if least_us >= _FAR_BEHIND_US else 0


def least_unsigned_us(case: Case) -> int:
    """How late even the quickest of those handshakes began for which nothing was signed; 0 where there was none."""
    up_us = up_us_per_byte(case)
    return min((begun_late_us(trial, up_us) for trial in continued(case)), default=0)


def unsigned_us(case: Case) -> int:
    """The same; 0 for hardly any."""
    least_us = least_unsigned_us(case)
    return least_us if least_us >= _FAR_BEHIND_US else 0


def continued(case: Case) -> list[TrialEvidence]:
    """Connections whose handshake continued a session."""
    trials = (one for one in case.evidence.of(*_CONTINUED) if one.handshake is not None and one.handshake.resumed)
    return [trial for trial in trials if lead_us(trial) is not None]
