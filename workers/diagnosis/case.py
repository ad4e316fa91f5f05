"""What every rule is given: one probe's measurement, and the few questions that all rules ask of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from workers.measurement.evidence import ProbeEvidence, TcpState, Trial, TrialEvidence
from workers.measurement.finding import Finding, NotJudged
from workers.measurement.messages import Hop
from workers.measurement.thresholds import MIN_PAUSE_US

T = TypeVar("T")
# What one rule says: nothing when the cause is not there, a NotJudged when the evidence cannot tell.
Verdicts = Iterable[Finding | NotJudged]

# What failed so often, and never went well, is broken, and what was refused so often is refused.
REPEATS = 3
# Connections to other addresses than the run's own, which may be farther or nearer.
ELSEWHERE = frozenset({Trial.OTHER_FAMILY, Trial.RESUMED_ELSEWHERE})
# From here on a round trip stands out clearly.
CLEAR_RTT_US = 20_000
# After so long a SYN is said again (RFC 6298, 2.1). An answer to that comes a round trip later still, give or take.
SYN_TIMER_US = 1_000_000
_LEAST_RTT = 0.85


@dataclass(frozen=True, kw_only=True)
class Case:
    """One probe under judgement. `hops` are its requests in order, redirects first."""

    evidence: ProbeEvidence
    hops: tuple[Hop, ...] = ()

    @cached_property
    def _answers(self) -> dict[Callable[["Case"], Any], Any]:
        return {}

    def once(self, question: Callable[["Case"], T]) -> T:
        """The answer to a question that several rules ask, found the first time and kept."""
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: T = self._answers[question]
        return answer

    @cached_property
    def rtt_us(self) -> int | None:
        """The shortest round trip of any TCP connection to the run's own address; None when none was made."""
        here = [trial for trial in self.evidence.trials if trial.trial not in ELSEWHERE]
        trips = [trip for trial in here if (trip := rtt_of(trial)) is not None]
        return min(trips, default=None)

    @property
    def is_reached(self) -> bool:
        """Whether anybody answered: a TCP connection was made, or a QUIC handshake."""
        trials = self.evidence.trials
        shaken = (one.handshake for one in trials if one.handshake is not None)
        return any(one.connect_us is not None for one in trials) or any(one.ended_us is not None for one in shaken)


Rule = Callable[[Case], Verdicts]


def rtt_of(trial: TrialEvidence) -> int | None:
    """The round trip of one connection: the lesser of the SYN's and of the kernel's own minimum."""
    least = trial.syn_rtt_us or None
    # Every rule asks this of every connection, so it is spelt out.
    for state in (trial.tcp_connected, trial.tcp_secured, trial.tcp_ended):
        if state is not None and state.min_rtt_us and (least is None or state.min_rtt_us < least):
            least = state.min_rtt_us
    return least


def pause_us(rtt_us: int | None) -> int:
    """What parts two flights of a server: bytes further apart than this were not sent in one go."""
    return max(MIN_PAUSE_US, (rtt_us or 0) // 2)


def lost_packets(trial: TrialEvidence) -> bool:
    """Whether packets were lost or came out of order, either way: then no pause proves a setting of the server."""
    return lost_syn(trial) or lost_once_connected(trial)


def lost_once_connected(trial: TrialEvidence) -> bool:
    """The same without a lost SYN, which spoils nothing of what comes after it."""
    last = next(reversed(_states(trial)), TcpState())
    return bool(said_again(trial, last) or last.out_of_order_packets)


def lost_syn(trial: TrialEvidence) -> bool:
    """Whether a SYN got lost, or its answer. On a way that is longer than its timer it is said again all the same."""
    waited_us = SYN_TIMER_US * (trial.syn_retransmits or 0)
    return waited_us > 0 and (trial.connect_us or 0) >= waited_us + _LEAST_RTT * (rtt_of(trial) or 0)


def said_again(trial: TrialEvidence, state: TcpState) -> int:
    """How many packets of ours were, by then, besides the SYN."""
    return max(0, (state.total_retransmits or 0) - (trial.syn_retransmits or 0))


def _states(trial: TrialEvidence) -> tuple[TcpState, ...]:
    return tuple(state for state in (trial.tcp_connected, trial.tcp_secured, trial.tcp_ended) if state is not None)
