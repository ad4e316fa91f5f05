"""How long a server thinks about an answer: from the request sent to its own first byte, less a round trip (1f).

Tickets of TLS 1.3 come first and would hide it, so the first record that carries the answer counts.
"""

from collections.abc import Iterable, Iterator
from math import ceil
from statistics import median

from workers.diagnosis.case import Case, rtt_of
from workers.diagnosis.flights import (
    RECORD_HEADER_BYTES,
    answer_turn,
    handshake_turns,
    packet_time_us,
    records_before,
    shakes_again,
    tickets_before,
)
from workers.diagnosis.gaps import USUAL_WINDOW, Ruler, ruler_of
from workers.diagnosis.once import once_a_trial
from workers.diagnosis.weighing import jitter_us, lost_in_handshake
from workers.measurement.evidence import Exchange, Trial, TrialEvidence

# All that wait for the same answer. What came as early data, or over another transport, waits for other things too.
THOUGHTFUL = (
    Trial.FULL,
    Trial.CLASSICAL,
    Trial.HTTP2,
    Trial.TLS12,
    Trial.RESUMED,
    Trial.TLS12_TICKET,
    Trial.TLS12_SESSION_ID,
)
# A wait for our acknowledgement on a way that is as unsteady as this.
_UNSTEADY_RTT = (0.85, 1.4)
# What a server needs to find a session again, and what our own clock is late by, is less.
FAR_BEHIND_US = 15_000
# What is to be told from the way stands out of its unsteadiness by so much.
_JITTERS = 1.5
# When a lost first packet comes: after a round trip at least, and what its sender waits for one that was overtaken.
_REPAIRED_RTT = (0.95, 1.2)


def begun_us(trial: TrialEvidence, exchange: Exchange) -> int | None:
    """When the answer began to come. Early hints are none.

    A first packet that got lost comes late and is read first. What was behind it is read with it and has its own stamp.
    """
    if exchange.interim:
        return _head_begun_us(trial, exchange.head_us)
    known = (exchange.first_application_us, exchange.first_readable_us)
    found = [at_us for at_us in known if at_us is not None]
    if found and exchange.sent_us is not None:
        later = (one.asked_us for one in trial.exchanges if one.asked_us > exchange.asked_us)
        earliest_us, latest_us = exchange.sent_us + (rtt_of(trial) or 0) // 2, min(later, default=max(found))
        mine = (one.at_us for one in trial.records if one.application and earliest_us <= one.at_us <= latest_us)
        found.extend(mine)
    return min(found, default=None)


def _head_begun_us(trial: TrialEvidence, head_us: int | None) -> int | None:
    """When the record that ends the head began to come: it may be a long one."""
    if head_us is None:
        return None
    ends = (one.at_us for one in trial.records if one.application and one.at_us <= head_us <= (one.end_us or 0))
    return min(ends, default=head_us)


def think_us(trial: TrialEvidence, exchange: Exchange) -> int | None:
    """None where the request was not answered, or only after another handshake."""
    rtt_us, at_us = rtt_of(trial), begun_us(trial, exchange)
    if rtt_us is None or exchange.sent_us is None or at_us is None or shakes_again(trial, exchange):
        return None
    return max(0, at_us - exchange.sent_us - rtt_us)


@once_a_trial
def first_think_us(trial: TrialEvidence) -> int | None:
    """That of the connection's first request; of the second where the first may have waited for our acknowledgement.

    A server under Nagle's algorithm holds a short answer back until its tickets are acknowledged, and one with a window
    of two any answer behind tickets and settings, which looks like a round trip of thinking. On the same connection
    asked again there are none; None where it was not, and where each answer is behind early hints.
    """
    thinks = [(think, one) for one in trial.exchanges[:2] if (think := think_us(trial, one)) is not None]
    free = [think for think, exchange in thinks if not _may_be_held(trial, exchange, think)]
    if not free:
        return None
    return free[0] if free[0] == thinks[0][0] else min(think for think, _ in thinks)


def plain_think_us(case: Case) -> int | None:
    """What this server takes for an answer that is no trouble: the plain one, or else the quickest of all."""
    plain = [think for trial in case.evidence.of(Trial.PLAIN) for think in _thinks(trial)]
    if plain:
        return round(median(plain))
    return min((think for trial in case.evidence.of(*THOUGHTFUL) for think in _thinks(trial)), default=None)


@once_a_trial
def lead_us(trial: TrialEvidence) -> int | None:
    """How long the server took, beyond a round trip, to begin its handshake."""
    rtt_us, turns = rtt_of(trial), handshake_turns(trial)
    if rtt_us is None or not turns:
        return None
    return max(0, max(turn.start_us - turn.asked_us - rtt_us for turn in turns))


def up_us_per_byte(case: Case) -> float:
    """What a byte of ours takes on a narrow way to the server: by so much later it answers a ClientHello with a hybrid
    key share than one without. 0 where that is no more than the way's unsteadiness."""
    larger, smaller = (_hellos(case, kinds) for kinds in ((Trial.FULL, Trial.HTTP2), (Trial.CLASSICAL,)))
    if not larger or not smaller:
        return 0.0
    later_us = min(us for us, _ in larger) - min(us for us, _ in smaller)
    longer_bytes = min(size for _, size in larger) - max(size for _, size in smaller)
    return later_us / longer_bytes if longer_bytes > 0 and later_us > _JITTERS * jitter_us(case) else 0.0


def _hellos(case: Case, kinds: Iterable[Trial]) -> list[tuple[int, int]]:
    """How long full handshakes took to begin, and the size of the hello before."""
    return [
        (turns[0].start_us - turns[0].asked_us, trial.handshake.hello_bytes)
        for trial in case.evidence.of(*kinds)
        if trial.handshake is not None and not trial.handshake.resumed and not lost_in_handshake(trial)
        if (turns := handshake_turns(trial))
    ]


def always_late_us(trials: Iterable[TrialEvidence]) -> int:
    """By how much even the quickest of their handshakes began late, and not for a narrow link; 0 for hardly any."""
    leads = ((lead_us(trial), packet_time_us(trial)) for trial in trials)
    least_us = min((lead - packet_us for lead, packet_us in leads if lead is not None), default=0)
    return least_us if least_us >= FAR_BEHIND_US else 0


def way_behind_us(case: Case) -> int:
    """What each word of the server takes besides the round trip of its TCP connection, as where a proxy near us accepts
    connections for a server far behind it: how late handshakes begin for which nothing is to be signed, and no more
    than the quickest answer."""
    trials = case.evidence.of(*THOUGHTFUL)
    thinks = [think for trial in trials if (think := first_think_us(trial)) is not None]
    late_us = always_late_us(one for one in trials if one.handshake is not None and one.handshake.resumed)
    return min([late_us, *thinks])


def may_be_repaired(trial: TrialEvidence, think: int, least_us: float) -> bool:
    """Whether a think is longer than that by a lost packet alone: the first one of the answer, which came again a round
    trip later. What came behind it was read with it, and of all that the last has left its stamp."""
    earliest_us, latest_us = (share * (rtt_of(trial) or 0) for share in _REPAIRED_RTT)
    return answer_was_disturbed(trial) and think >= earliest_us and think > least_us >= think - latest_us


def answer_was_disturbed(trial: TrialEvidence) -> bool:
    """Whether packets of the server came out of order after the handshake."""
    secured, ended = trial.tcp_secured, trial.tcp_ended
    before = 0 if secured is None else secured.out_of_order_packets or 0
    return ended is not None and (ended.out_of_order_packets or 0) > before


def _may_be_held(trial: TrialEvidence, exchange: Exchange, think: int) -> bool:
    ruler = ruler_of(trial)
    least, most = (share * ruler.rtt_us for share in _UNSTEADY_RTT)
    near = least <= think <= most
    if exchange.interim:
        return near or ruler.waits_for_ack(think)
    if not tickets_before(trial, exchange):
        return False
    small = (exchange.head_bytes or 0) + (exchange.body_bytes or 0) < ruler.mss
    # What a narrow link takes for tickets and answer it took for the first packet of the handshake too.
    late_us = think - (lead_us(trial) or 0)
    held = near or ruler.waits_for_ack(think) or ruler.waits_for_ack(late_us)
    return held if small else (near and _may_fill_window(trial, exchange, ruler))


def _may_fill_window(trial: TrialEvidence, exchange: Exchange, ruler: Ruler) -> bool:
    """Whether what came before the answer may have been several packets, and no more came with the answer's first byte
    than a small window lets out; or whether it is as much as fills the usual one."""
    turn, begun = answer_turn(trial, exchange), exchange.first_application_us or 0
    if turn is None:
        return False
    if tickets_before(trial, exchange) > (USUAL_WINDOW - 1) * ruler.mss:
        return True
    # Several packets may have been read in one go.
    before = records_before(trial, exchange.sent_us or 0, begun)
    packets = sum(ceil((RECORD_HEADER_BYTES + one.length_bytes) / ruler.mss) for one in before)
    together = next((one.size_bytes for one in turn.flights if one.end_us >= begun), 0)
    return packets > 1 and together < (USUAL_WINDOW - 1) * ruler.mss


def _thinks(trial: TrialEvidence) -> Iterator[int]:
    for exchange in trial.exchanges:
        think = think_us(trial, exchange)
        if think is not None:
            yield think
