"""What small packets cost: a window counts packets and not bytes, so that a server which sends each small record by
itself fills its first with little. What it writes meanwhile leaves in full ones (RFC 5681, 3.1, as Linux counts)."""

from dataclasses import dataclass
from math import ceil

from workers.diagnosis.case import Case
from workers.diagnosis.probe.flights import RECORD_HEADER_BYTES, Flight, Turn, mss_of, packet_time_us, read_sizes
from workers.diagnosis.probe.gaps import USUAL_WINDOW, Ruler, ruler_of
from workers.diagnosis.probe.slow_start import needed_us, rounds
from workers.diagnosis.probe.tls_visits import over_http2, page_over_http2
from workers.diagnosis.probe.weighing import ASKED, LEAST_SEEN, Sure, jitter_us, visits, weigh
from workers.diagnosis.probe.windows import (
    answer_alone,
    behind_tickets_us,
    first_answer,
    known_window,
    ticket_segments,
    usual_window_after,
)
from workers.measurement.evidence import MAX_RECORDS, Exchange, TlsRecord, Trial, TrialEvidence
from workers.measurement.finding import FindingId
from workers.measurement.thresholds import LEAST_RTT

# Tickets may share a packet, or what HTTP/2 says of the connection.
_SPARE_PACKETS = 1
# A repaired answer, with the overhead of its records, that has no room left for so much may take a flight more.
_SPARE_SEGMENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wasted:
    """A first flight of so many packets with so few bytes, and how much sooner full ones would have ended."""

    saving_us: int
    packets: int
    flight_bytes: int


def wasted_round_trips(case: Case) -> Sure[Wasted] | None:
    """The round trip that first answers lose, over HTTP/2 where browsers get the page so, else as they were asked for;
    None where they do not surely lose one."""
    over = [trial for trial in visits(case, (Trial.HTTP2,), ()) if trial in page_over_http2(case) and over_http2(trial)]
    trials = over if len(over) >= LEAST_SEEN else [*visits(case, ASKED), *over]
    window = round(known_window(case) or USUAL_WINDOW)
    jitter = jitter_us(case)
    sure = weigh(case, FindingId.TLS_RECORD_TINY, trials, lambda trial: _wasted(trial, window, ruler_of(trial, jitter)))
    return sure if isinstance(sure, Sure) else None


def _wasted(trial: TrialEvidence, window: int, ruler: Ruler) -> Wasted | None:
    found = first_answer(trial)
    if found is None:
        return None
    exchange, turn = found[0], answer_alone(trial, *found)
    if turn.cut or len(turn.flights) < 2 or not _is_let_out_whole(trial, turn, ruler):
        return None
    tickets = 0 if behind_tickets_us(trial, exchange, turn) is None else ticket_segments(trial, exchange)
    packets = _packets(trial, exchange, turn.flights[0], tickets)
    room = usual_window_after(trial, window)
    if abs(packets - room) > _SPARE_PACKETS:
        return None
    saving_us = _saving_us(trial, exchange, turn, room, tickets)
    if saving_us < LEAST_RTT * ruler.rtt_us:
        return None
    return Wasted(saving_us=saving_us, packets=packets, flight_bytes=turn.flights[0].size_bytes)


def _saving_us(trial: TrialEvidence, exchange: Exchange, turn: Turn, room: int, tickets: int) -> int:
    """By how much the same answer in full packets ends sooner, where that spares it a flight: later windows are so much
    larger that it is one at most."""
    mss, ruler = mss_of(trial), ruler_of(trial)
    carried = (exchange.head_bytes or 0) + (exchange.body_bytes or 0)
    repaired = rounds(carried + _SPARE_SEGMENTS * mss, mss, room - tickets)
    taken = 1 + rounds(turn.size_bytes - turn.flights[0].size_bytes, mss, 2 * room)
    if taken <= repaired:
        return 0
    packet_us = packet_time_us(trial)
    # On a narrow link headers and seals take their time as well.
    added_us = max(0, turn.size_bytes - carried) * packet_us // mss
    sooner_us = turn.end_us - turn.start_us - needed_us(carried, ruler, room - tickets, packet_us)
    return min(turn.gaps()[0].duration_us + added_us, sooner_us)


def _packets(trial: TrialEvidence, exchange: Exchange, flight: Flight, tickets: int) -> int:
    """Of a first flight: with each record by itself, unless it stops within one, as what leaves in full ones does."""
    mss, since_us = mss_of(trial), exchange.first_application_us or 0
    if _open_record(trial, flight.end_us) is not None:
        return ceil(flight.size_bytes / mss)
    came = (one for one in trial.records if one.application and since_us <= one.at_us <= flight.end_us)
    return tickets + sum(ceil((RECORD_HEADER_BYTES + one.length_bytes) / mss) for one in came)


def _is_let_out_whole(trial: TrialEvidence, turn: Turn, ruler: Ruler) -> bool:
    """Whether what came a round trip later had waited in the kernel: then it begins with full packets, the first of
    which that we read alone end in the middle of small records."""
    gap, second = turn.gaps()[0], turn.flights[1]
    waits = ruler.may_be_exact(gap.duration_us) or ruler.may_be_exact(gap.period_us)
    whole = ruler.is_whole(read_sizes(trial, second)[0])
    return waits and whole and _ends_in_small(trial, second.start_us, ruler)


def _ends_in_small(trial: TrialEvidence, at_us: int, ruler: Ruler) -> bool:
    """Of thousands only the first are kept: those behind are taken for as small."""
    record, last = _open_record(trial, at_us), trial.records[-1] if trial.records else None
    if record is None and last is not None and last.at_us <= at_us and len(trial.records) >= MAX_RECORDS:
        record = last
    return record is not None and RECORD_HEADER_BYTES + record.length_bytes < ruler.mss


def _open_record(trial: TrialEvidence, at_us: int) -> TlsRecord | None:
    """The one that had begun by then, and not ended."""
    return next((one for one in trial.records if one.at_us <= at_us < (one.end_us or one.at_us)), None)
