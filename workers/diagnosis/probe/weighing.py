"""How often a cause was seen, in which connections, and whether that is enough to say so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, TypeVar

from workers.diagnosis.case import CLEAR_RTT_US, ELSEWHERE, Case, lost_packets, lost_syn, rtt_of, said_again
from workers.measurement.evidence import Depth, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Fact, FactValue, FindingId, NotJudged, NotJudgedReason
from workers.measurement.thresholds import MIN_RTT_US

# What was seen less often may have been chance ("3/3").
LEAST_SEEN = 3
# With a clock of our own process, read later than this part of a round trip, a connection proves nothing.
_LATE_RTT = 0.05
# Even the kernel's stamps hide a silence when what came before it was read after it.
_BLIND_RTT = 0.2
# Connections that a new visitor's page is asked for over, by HTTP/1.1 where there is a choice.
ASKED = (Trial.FULL, Trial.CLASSICAL)
# Connections that begin as a new visitor's do; of them one that fails says something else.
_VISITS = (*ASKED, Trial.HTTP2)

Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sure(Generic[Seen]):
    """A cause seen each time: what was seen, and in which connections."""

    seen: tuple[Seen, ...]
    trials: tuple[TrialEvidence, ...]

    @property
    def rtt_us(self) -> int:
        return round(median(rtt_of(trial) or 0 for trial in self.trials))

    @property
    def confidence(self) -> Confidence:
        return Confidence.HIGH if self.rtt_us >= CLEAR_RTT_US else Confidence.MEDIUM

    def facts(self, *facts: Fact) -> tuple[Fact, ...]:
        """These, and what holds for every cause that was counted."""
        counted = f"{len(self.seen)} of {len(self.trials)}"
        return (*facts, fact("rtt_ms", ms_of(self.rtt_us)), fact("seen", counted))


def visits(
    case: Case, kinds: Sequence[Trial] = _VISITS, spare: Sequence[Trial] = (Trial.TLS12,)
) -> list[TrialEvidence]:
    """Connections that shook hands in full; those of `spare` kinds too where the others are too few. Without TLS all
    that were made for the page."""
    if not case.evidence.secure:
        return [trial for trial in case.evidence.of(*kinds, Trial.PLAIN) if trial.exchanges]
    made = [trial for trial in case.evidence.of(*kinds) if _is_full(trial)]
    if len(made) < LEAST_SEEN:
        made += [trial for trial in case.evidence.of(*spare) if _is_full(trial)]
    return made


def weigh(
    case: Case,
    id: FindingId,
    trials: Sequence[TrialEvidence],
    look: Callable[[TrialEvidence], Seen | None],
    *,
    counts_round_trips: bool = True,
    spoilt: Callable[[TrialEvidence], bool] = lost_packets,
    blind: Callable[[TrialEvidence], bool] | None = None,
    unsure: Callable[[TrialEvidence], bool] | None = None,
) -> Sure[Seen] | NotJudged | None:
    """Whether `look` sees the cause in each connection that can show it, at least three times.

    None when it is not there, or there is no connection to look at. `spoilt` tells which connections lost what
    `look` goes by, `blind` those that may not show it although it is there (usually those looked at late), `unsure`
    those in which what `look` does not see may be the cause all the same.
    """
    if not trials:
        return None
    if counts_round_trips and is_short(trials):
        return NotJudged(id=id, reason=NotJudgedReason.RTT_SHORT)
    timely = [trial for trial in trials if not is_late(trial)]
    if not timely:
        return NotJudged(id=id, reason=NotJudgedReason.LATE_CLOCK)
    looks = [(trial, look(trial)) for trial in timely if not spoilt(trial)]
    if not looks:
        return NotJudged(id=id, reason=NotJudgedReason.LOSS)
    clean = tuple(trial for trial, one in looks if one is not None or not (blind or is_blind)(trial))
    seen = tuple(one for _, one in looks if one is not None)
    if len(seen) == len(clean) >= LEAST_SEEN:
        return Sure(seen=seen, trials=clean)
    if any(look(trial) is not None for trial in timely if spoilt(trial)):
        return NotJudged(id=id, reason=NotJudgedReason.LOSS)
    if not clean:
        return NotJudged(id=id, reason=NotJudgedReason.LATE_CLOCK)
    if seen:
        return NotJudged(id=id, reason=unrepeated(case))
    return NotJudged(id=id, reason=NotJudgedReason.UNSTEADY) if unsure is not None and all(map(unsure, clean)) else None


def unrepeated(case: Case) -> NotJudgedReason:
    """Why what was seen too rarely is no finding."""
    return NotJudgedReason.NEEDS_DEEP_PROBE if case.evidence.depth is Depth.LIGHT else NotJudgedReason.NOT_REPEATED


def is_short(trials: Sequence[TrialEvidence]) -> bool:
    """Whether the way is too short to tell a round trip from a busy server."""
    trips = [trip for trial in trials if (trip := rtt_of(trial)) is not None]
    return min(trips, default=0) < MIN_RTT_US


def is_late(trial: TrialEvidence) -> bool:
    """Whether its stamps are our own and too late to be believed."""
    return not trial.kernel_clock and (trial.scheduling_lag_us or 0) > _LATE_RTT * (rtt_of(trial) or 0)


def is_blind(trial: TrialEvidence) -> bool:
    """Whether our process looked so late that flights may have run into one: a read has the stamp of its last packet
    alone. What such a connection shows is real; what it does not show may have been there."""
    return (trial.scheduling_lag_us or 0) > _BLIND_RTT * (rtt_of(trial) or 0)


def own_lag_us(trial: TrialEvidence) -> int:
    """What our own process may have added to a wait: while it did not look, what came first got the stamp of what came
    last. Behind a missing packet all lies in the kernel, whoever looks."""
    ended = trial.tcp_ended
    return 0 if ended is not None and ended.out_of_order_packets else trial.scheduling_lag_us or 0


def lost_in_handshake(trial: TrialEvidence) -> bool:
    """Whether packets were lost before the end of the handshake; at all, where the kernel was not asked then."""
    secured = trial.tcp_secured
    if secured is None:
        return lost_packets(trial)
    return bool(lost_syn(trial) or said_again(trial, secured) or secured.out_of_order_packets)


def asked_again(trial: TrialEvidence) -> bool:
    """Whether something that we said after the handshake had to be said again."""
    secured, ended = trial.tcp_secured, trial.tcp_ended
    if ended is None:
        return lost_packets(trial)
    return said_again(trial, ended) > (0 if secured is None else said_again(trial, secured))


def never(trial: TrialEvidence) -> bool:
    """For what no lost packet can imitate, and for what no late look can hide."""
    return False


def jitter_us(case: Case) -> int:
    """How far the round trips of this probe's connections lie apart: what is shorter than this may be the path's."""
    trips = _trips(case)
    return max(trips) - min(trips) if trips else 0


def queues_us(case: Case) -> list[int]:
    """By how much the round trip of each of this probe's connections is longer than the shortest."""
    trips = _trips(case)
    return [trip - min(trips) for trip in trips]


def _trips(case: Case) -> list[int]:
    trials = [trial for trial in case.evidence.trials if trial.trial not in ELSEWHERE]
    return [trial.syn_rtt_us for trial in trials if trial.syn_rtt_us and not trial.syn_retransmits]


def fact(name: str, value: FactValue) -> Fact:
    return Fact(name=name, value=value)


def ms_of(us: float) -> float:
    """Milliseconds to a hundredth, as facts tell them."""
    return round(us / 1000, 2)


def _is_full(trial: TrialEvidence) -> bool:
    shake = trial.handshake
    return shake is not None and shake.ended_us is not None and not shake.resumed
