"""Whether full packets of the server vanish on the way while smaller ones come through: a path whose MTU is smaller
than the server believes, and a filter that keeps the ICMP messages from it that would say so (RFC 2923, 2.1)."""

from workers.diagnosis.case import Case, rtt_of
from workers.diagnosis.probe.flights import USUAL_MSS_BYTES
from workers.measurement.evidence import TrialEvidence

# After so long a server has sent a lost packet again four times at least, from 200 ms on twice as late each time (RFC
# 6298, 5.5; Linux's least timer): that is no bad luck any more.
_REPEATED_US, _REPEATED_RTT = 3_500_000, 16
# The kernel's largest packet so far is by so much less than a full one. Options of TCP take up to 40 bytes.
_LESS_BYTES = 40


def is_stuck(trial: TrialEvidence) -> bool:
    """Whether what the server said has a hole that was never filled, and no full packet ever came."""
    ended = trial.tcp_ended
    if ended is None or not ended.out_of_order_packets or not _got_none(trial):
        return False
    return fell_silent(trial)


def fell_silent(trial: TrialEvidence) -> bool:
    """Whether nothing came at its end for so long that a lost packet would have been sent again and again."""
    since_us = max((one.at_us for one in trial.transfers), default=0)
    waited_us = (trial.ended_us or since_us) - since_us
    return waited_us > max(_REPEATED_US, _REPEATED_RTT * (rtt_of(trial) or 0))


def vanish_on_the_way(case: Case) -> bool:
    """Whether it was so in one connection at least, and in none a full packet came."""
    made = [trial for trial in case.evidence.trials if trial.connect_us is not None]
    return any(map(is_stuck, made)) and all(map(_got_none, made))


def _got_none(trial: TrialEvidence) -> bool:
    ended = trial.tcp_ended
    if trial.failure is None or ended is None:
        return False
    full = min(ended.adv_mss_bytes or USUAL_MSS_BYTES, ended.snd_mss_bytes or USUAL_MSS_BYTES)
    return (ended.rcv_mss_bytes or 0) <= full - _LESS_BYTES
