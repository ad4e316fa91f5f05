"""Which connections lost packets for certain. Packets that only came in another order are no loss.

A packet of ours was lost when it was said again and nobody answered that it had come twice. Of the server's packets the
kernel counts those that came out of order; which of them had been lost shows in time. What is lost comes a round trip
later at the earliest, and all behind it lies in the kernel until then: our process sees it so much later than it came.
A packet that was overtaken by more is sent again as well, and then comes twice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf

from workers.diagnosis.case import SYN_TIMER_US, lost_syn, rtt_of, said_again
from workers.diagnosis.probe.flights import Gap, Turn, answer_turn, handshake_turns, mss_of, packets_of, tickets_before
from workers.diagnosis.probe.full_packets import is_stuck
from workers.diagnosis.probe.gaps import Ruler, ruler_of, splits_record
from workers.measurement.evidence import Direction, TcpState, Trial, TrialEvidence
from workers.measurement.thresholds import MIN_RTT_US

# The server hears of a hole with the packet behind it, so that nothing fills it sooner. Round trips are rounded.
_REPAIRED_RTT = 0.95
# Later than this part of a round trip our own process was late, if no packet was lost. Where it was so in more
# connections than this part of those with loss, its lateness may be all that is seen.
_LATE_RTT, _MOST_LATE = 0.25, 0.25
# Only a process that was late by a round trip leaves the stamps of a hole that was filled, and then hardly ever.
_AS_LATE_AS_A_HOLE_RTT, _MOST_AS_LATE = 0.85, 0.5
_SILENCE_RTT = 0.5
# What filled it comes in one go with all that lay behind it.
_AT_ONCE_RTT = 0.02
# A head that leaves alone is one segment more than an answer needs. What is above came twice; once may be chance.
_SPARE_SEGMENTS = 1
_LEAST_DOUBLED = 2
# Of 63 probes in the lab that lost packets in every connection none had such a surplus in more than a quarter of them,
# of 38 whose packets only came later by a round trip 31 had it in most.
_MOST_STRANGE = 0.5
# Chance hits each time another packet. Of so many connections at least, and of this part as many packets are disturbed.
_LEAST_ALIKE, _MOSTLY_ALIKE = 6, 0.75
# The kernel's variance of the round trip begins at a half (RFC 6298, 2.2) and falls on a way without queues.
_QUEUED_RTT = 0.75
# Where round trips differ by this part of its timer a SYN may take as long as that.
_QUEUED_SYN = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """`certain` lost packets. Where they only came out of order time alone could tell in some, but the way is too
    `short`, or our process was too `late`; in some it cannot, since packets `queued`, or came twice (`doubled`), or the
    server `paced` them. Most of the certain ones are `strange`: more came than they need, and no connection tells
    whether of this server as much comes where nothing is lost; or the same happens in each."""

    certain: tuple[TrialEvidence, ...]
    short: bool
    late: bool
    queued: bool
    doubled: bool
    paced: bool
    strange: bool


def losses_of(trials: Sequence[TrialEvidence]) -> Losses:
    """What is known of these connections, which were all made over one path."""
    unsteady = _is_unsteady(trials)
    again = tuple(trial for trial in trials if (lost_syn(trial) and not unsteady) or _is_said_again(trial))
    disturbed = [trial for trial in trials if trial not in again and _ended(trial).out_of_order_packets]
    # What never came at all is another matter, and a hole that stays one is filled by no repair.
    overtaken = tuple(trial for trial in disturbed if not is_stuck(trial))
    far = tuple(trial for trial in overtaken if (rtt_of(trial) or 0) >= MIN_RTT_US)
    holes = tuple(trial for trial in far if _has_hole(trial))
    repaired = tuple(trial for trial in far if trial in holes or _is_held(trial, _REPAIRED_RTT))
    late = _count_late(repaired, trials, _LATE_RTT) > _MOST_LATE * len(repaired) > 0
    usual = _usual_surplus([trial for trial in trials if trial not in overtaken])
    doubled = sum(_is_doubled(trial, usual) for trial in overtaken) >= _LEAST_DOUBLED
    sound = holes if _count_late(holes, trials, _AS_LATE_AS_A_HOLE_RTT) <= _MOST_AS_LATE * len(holes) else ()
    certain = again if doubled else (*again, *(sound if late else repaired))
    strange = [trial for trial in certain if trial not in again and trial.trial not in usual and _has_surplus(trial)]
    return Losses(
        certain=certain,
        short=len(far) < len(overtaken),
        late=late,
        queued=any((_unanswered(trial) and _queues(trial)) or (lost_syn(trial) and unsteady) for trial in trials),
        doubled=doubled,
        paced=any(_has_hole(trial, at_once=False) for trial in far if trial not in repaired),
        strange=len(strange) > _MOST_STRANGE * len(certain) or (not again and _happens_each_time(trials)),
    )


def _happens_each_time(trials: Sequence[TrialEvidence]) -> bool:
    """Whether it is a property of the way or of the server rather than chance: each connection of a kind that is
    disturbed at all is so, and most by as many packets, as where the same one comes late each time."""
    counts: dict[Trial, list[int]] = {}
    for trial in trials:
        counts.setdefault(trial.trial, []).append(_ended(trial).out_of_order_packets or 0)
    several = [seen for seen in counts.values() if len(seen) > 1 and any(seen)]
    made, alike = sum(map(len, several)), sum(Counter(seen).most_common(1)[0][1] for seen in several)
    return all(map(all, several)) and made >= _LEAST_ALIKE and alike >= _MOSTLY_ALIKE * made


def _usual_surplus(undisturbed: Sequence[TrialEvidence]) -> dict[Trial, float]:
    """How many segments more than it needs an answer takes of this server, which may send small ones. Nothing is known
    of kinds of connections without an undisturbed one."""
    usual: dict[Trial, float] = {}
    for trial in undisturbed:
        surplus = _surplus_segments(trial)
        if surplus is not None:
            usual[trial.trial] = max(surplus, usual.get(trial.trial, _SPARE_SEGMENTS))
    return usual


def _is_doubled(trial: TrialEvidence, usual: dict[Trial, float]) -> bool:
    """Whether something came twice in this connection."""
    return (_surplus_segments(trial) or 0) > usual.get(trial.trial, inf)


def _has_surplus(trial: TrialEvidence) -> bool:
    return (_surplus_segments(trial) or 0) > _SPARE_SEGMENTS


def _surplus_segments(trial: TrialEvidence) -> float | None:
    """How many segments more than it needed an answer took; None where not all is known."""
    spare = _spare_segments(trial)
    if spare is None:
        return None
    tickets = sum(tickets_before(trial, exchange) > 0 for exchange in trial.exchanges)
    return max(0, spare - tickets) / len(trial.exchanges)


def _spare_segments(trial: TrialEvidence) -> int | None:
    """How many more came than full ones would have been, tickets in one of their own among them."""
    came = _ended(trial).data_segments_in
    answers = [answer_turn(trial, exchange) for exchange in trial.exchanges]
    turns = [*handshake_turns(trial), *(turn for turn in answers if turn is not None)]
    if came is None or trial.truncated or not answers or None in answers:
        return None
    return came - sum(ceil(turn.size_bytes / mss_of(trial)) for turn in turns)


def _count_late(lossy: Sequence[TrialEvidence], trials: Sequence[TrialEvidence], trips: float) -> int:
    """In how many connections besides these our process was so late."""
    return sum(trial not in lossy and _is_held(trial, trips) for trial in trials)


def _is_said_again(trial: TrialEvidence) -> bool:
    """Whether something of ours got lost: said again, without word from the server that it had come both times. Where
    our packets queue, we say again what is still on its way, and that word may come too late."""
    return _unanswered(trial) and not _queues(trial)


def _is_unsteady(trials: Sequence[TrialEvidence]) -> bool:
    """Whether a SYN may have stood in a queue until its timer ended: the way took very different times."""
    trips = [trip for trial in trials if (trip := rtt_of(trial)) is not None]
    return bool(trips) and max(trips) - min(trips) > _QUEUED_SYN * SYN_TIMER_US


def _unanswered(trial: TrialEvidence) -> bool:
    return said_again(trial, _ended(trial)) > (_ended(trial).dsack_dups or 0)


def _queues(trial: TrialEvidence) -> bool:
    return (_ended(trial).rttvar_us or 0) > _QUEUED_RTT * (rtt_of(trial) or 0)


def _ended(trial: TrialEvidence) -> TcpState:
    return trial.tcp_ended or trial.tcp_secured or trial.tcp_connected or TcpState()


def _is_held(trial: TrialEvidence, trips: float) -> bool:
    return (trial.scheduling_lag_us or 0) >= trips * max(rtt_of(trial) or 0, MIN_RTT_US)


def _has_hole(trial: TrialEvidence, *, at_once: bool = True) -> bool:
    """Whether, after a silence of a round trip, more came than slow start lets follow: the hole had been filled.

    The kernel hands on with the repair what came behind it, and with it the stamp of the last. A server that had
    nothing to send for so long may send as much then, but it leaves no record cut.
    """
    ruler = ruler_of(trial)
    gaps = (gap for turn in _turns(trial, ruler) for gap in turn.gaps() if ruler.near(gap.duration_us))
    return any(_brings_more(trial, gap, ruler, at_once=at_once) and _may_be_cut(trial, gap) for gap in gaps)


def _brings_more(trial: TrialEvidence, gap: Gap, ruler: Ruler, *, at_once: bool) -> bool:
    """Whether more packets came behind it than twice those before. A server that paces lets as many follow, but one
    after the other and not `at_once`."""
    begun_us, until_us = gap.end_us - gap.period_us, gap.end_us + round(_AT_ONCE_RTT * ruler.rtt_us)
    came = [one for one in packets_of(trial) if one.direction is Direction.RECEIVED]
    before = [one.size_bytes for one in came if begun_us <= one.at_us <= gap.start_us]
    together = sum(one.size_bytes for one in came if gap.end_us <= one.at_us <= until_us)
    behind = together if at_once else gap.next_bytes
    return behind > (2 * _packets_in(trial, before, ruler) + 1) * ruler.mss


def _packets_in(trial: TrialEvidence, sizes: Sequence[int], ruler: Ruler) -> float:
    """How many packets these reads can have been. Small ones that were read together show only by how many more came
    than an answer of full ones needs."""
    seen, least = sum(ceil(size / ruler.mss) for size in sizes), ceil(sum(sizes) / ruler.mss)
    if all(map(ruler.is_whole, sizes)):
        return seen
    spare = _spare_segments(trial)
    return inf if spare is None else max(seen, least + ceil(spare / len(trial.exchanges)))


def _may_be_cut(trial: TrialEvidence, gap: Gap) -> bool:
    """Whether a record had begun before that silence and not ended; without TLS nothing tells."""
    return trial.handshake is None or splits_record(trial, gap)


def _turns(trial: TrialEvidence, ruler: Ruler) -> Iterator[Turn]:
    longest_us = round(_SILENCE_RTT * ruler.rtt_us)
    yield from handshake_turns(trial, longest_us)
    for exchange in trial.exchanges:
        turn = answer_turn(trial, exchange, longest_us)
        if turn is not None:
            yield turn
