"""How long a server thinks about an answer: from the request sent to its own first byte, less a round trip (1f).

Tickets of TLS 1.3 come first and would hide it, so the first record that carries the answer counts.
"""

from collections.abc import Iterator
from math import ceil
from statistics import median

from workers.diagnosis.case import Case, rtt_of
from workers.diagnosis.probe.flights import (
    RECORD_HEADER_BYTES,
    Turn,
    answer_turn,
    packet_time_us,
    packets_of,
    records_before,
    shakes_again,
    tickets_before,
)
from workers.diagnosis.probe.gaps import USUAL_WINDOW, Ruler, ruler_of
from workers.diagnosis.probe.late_begins import lead_us, unsigned_us
from workers.diagnosis.probe.once import once_a_trial
from workers.measurement.evidence import Direction, Exchange, Transfer, Trial, TrialEvidence

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
# What a server writes at once comes closer than this part of a round trip, and what a narrow link takes.
_APART_RTT = 0.1
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

    A server under Nagle's algorithm holds a short answer back until its tickets are acknowledged, or the begin of a
    large one that is no full packet, and one with a window of two any answer behind tickets and settings, which looks
    like a round trip of thinking. On the same connection asked again there are none; None where it was not, and where
    each answer is behind early hints.
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


def first_words_us(case: Case) -> int | None:
    """How late even the quickest first answer of a connection without TLS began; None where none was answered."""
    exchanges = ((trial, trial.exchanges[0]) for trial in case.evidence.of(Trial.PLAIN) if trial.exchanges)
    return min((think for one in exchanges if (think := think_us(*one)) is not None), default=None)


def way_behind_us(case: Case) -> int:
    """What each word of the server takes besides the round trip of its TCP connection, as where a proxy near us accepts
    connections for a server far behind it: how late handshakes begin for which nothing is to be signed, and no more
    than the quickest answer."""
    thinks = [think for trial in case.evidence.of(*THOUGHTFUL) if (think := first_think_us(trial)) is not None]
    return min([unsigned_us(case), *thinks])


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
    near = any(least <= us <= most for us in (think, _apart_us(trial, exchange, think)))
    if exchange.interim:
        return near or ruler.waits_for_ack(think)
    if not tickets_before(trial, exchange):
        return False
    whole = (exchange.head_bytes or 0) + (exchange.body_bytes or 0)
    turn = answer_turn(trial, exchange, round(_APART_RTT * ruler.rtt_us) + packet_time_us(trial))
    together = _together_bytes(turn, exchange.first_application_us or 0)
    small = min(whole, together) < ruler.mss
    # What a narrow link takes for tickets and answer it took for the first packet of the handshake too.
    late_us = think - (lead_us(trial) or 0)
    held = near or ruler.waits_for_ack(think) or ruler.waits_for_ack(late_us)
    return held if small else (near and _may_fill_window(trial, exchange, ruler))


def _apart_us(trial: TrialEvidence, exchange: Exchange, think: int) -> int:
    """How long after the last packet before it the answer began, or after the request had come where there was none: as
    long as our acknowledgement of that packet took, it may have been waited for."""
    begun, sent = begun_us(trial, exchange) or 0, exchange.sent_us or 0
    before = [one.at_us for one in packets_of(trial) if _is_between(one, sent, begun)]
    return begun - max(before) if before else think


def _is_between(packet: Transfer, since_us: int, until_us: int) -> bool:
    return packet.direction is Direction.RECEIVED and since_us <= packet.at_us < until_us


def _together_bytes(turn: Turn | None, begun: int) -> int:
    """What came with the first byte of an answer, up to a pause: a server may write the begin of a page by itself."""
    flights = () if turn is None else turn.flights
    return next((one.size_bytes for one in flights if one.end_us >= begun), 0)


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
    return packets > 1 and _together_bytes(turn, begun) < (USUAL_WINDOW - 1) * ruler.mss


def _thinks(trial: TrialEvidence) -> Iterator[int]:
    for exchange in trial.exchanges:
        think = think_us(trial, exchange)
        if think is not None:
            yield think
