"""One connection as a ladder between client and server: what went which way, when, and after how many round trips.

Only the layout, for the terminal and the run page alike. Both ends are seen from the client: something received is
drawn when it came in, something sent when it left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from workers.diagnosis.case import pause_us, rtt_of
from workers.diagnosis.units import size
from workers.measurement.evidence import Direction, Exchange, Handshake, TlsRecord, Transfer, TrialEvidence
from workers.measurement.thresholds import MIN_RTT_US

# A ladder is for looking at: what a server dribbles after these rows is told as one more.
MAX_ROWS = 40
# A pause that deserves a mark beside the ladder.
_MARKED_RTT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightRow:
    """One flight. `gap_us` is the time since the row before it, `gap_rtt` the same in round trips where one is known
    well enough; `marked` rows came after a pause worth seeing. `idle` tells that the pause before it was our own."""

    at_us: int
    until_us: int
    direction: Direction
    label: str
    size_bytes: int
    gap_us: int = 0
    gap_rtt: float | None = None
    marked: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightDiagram:
    """Rows in order of time. `dropped` counts those that are not drawn."""

    rows: tuple[FlightRow, ...]
    rtt_us: int | None = None
    dropped: int = 0


def flight_diagram(trial: TrialEvidence) -> FlightDiagram:
    """The ladder of one connection; without rows when it was never made."""
    rtt_us = rtt_of(trial)
    rows = [*_opening(trial), *_flights(trial, rtt_us)]
    shown = [_spaced(row, before, rtt_us) for row, before in zip(rows, [None, *rows], strict=False)]
    return FlightDiagram(rows=tuple(shown[:MAX_ROWS]), rtt_us=rtt_us, dropped=max(0, len(rows) - MAX_ROWS))


def _opening(trial: TrialEvidence) -> list[FlightRow]:
    if trial.connect_us is None:
        return []
    answered_us = trial.connect_us
    return [
        FlightRow(at_us=0, until_us=0, direction=Direction.SENT, label="SYN", size_bytes=0),
        FlightRow(
            at_us=answered_us, until_us=answered_us, direction=Direction.RECEIVED, label="SYN, ACK", size_bytes=0
        ),
    ]


def _flights(trial: TrialEvidence, rtt_us: int | None) -> list[FlightRow]:
    return [_row(trial, flight) for flight in _parted(trial.transfers, pause_us(rtt_us))]


def _parted(transfers: tuple[Transfer, ...], longest_us: int) -> Iterator[list[Transfer]]:
    for _, same_way in groupby(transfers, key=lambda one: one.direction):
        flight: list[Transfer] = []
        for one in same_way:
            if flight and one.at_us - flight[-1].at_us > longest_us:
                yield flight
                flight = []
            flight.append(one)
        yield flight


def _row(trial: TrialEvidence, flight: list[Transfer]) -> FlightRow:
    at_us, until_us = flight[0].at_us, flight[-1].at_us
    row = FlightRow(
        at_us=at_us,
        until_us=until_us,
        direction=flight[0].direction,
        label="",
        size_bytes=sum(one.size_bytes for one in flight),
    )
    if row.direction is Direction.SENT:
        return replace(row, label=_sent(trial, at_us), idle=_after_idle(trial, at_us))
    return replace(row, label=_received(trial, at_us, until_us, row.size_bytes))


def _sent(trial: TrialEvidence, at_us: int) -> str:
    asking = [one for one in trial.exchanges if one.sent_us is not None and one.asked_us <= at_us <= one.sent_us]
    handshake = trial.handshake
    if handshake is not None and at_us <= handshake.started_us:
        return "ClientHello"
    if handshake is not None and at_us in _ours_in(trial, handshake):
        return "ClientHello again" if handshake.hello_retry else "key exchange, Finished"
    if handshake is not None and _finishes(trial, handshake, at_us):
        return "Finished, request" if asking else "Finished"
    return "request" if asking else "more of ours"


def _ours_in(trial: TrialEvidence, handshake: Handshake) -> list[int]:
    """Our writes between the ClientHello and the server's last handshake byte."""
    ended_us = trial.ended_us if handshake.ended_us is None else handshake.ended_us
    return [at_us for at_us in _writes(trial) if handshake.started_us < at_us <= (ended_us or 0)]


def _finishes(trial: TrialEvidence, handshake: Handshake, at_us: int) -> bool:
    """Whether this write ends our side: the first one after the server's, unless TLS 1.2 let us finish before it."""
    if handshake.ended_us is None or (handshake.version == "TLSv1.2" and _ours_in(trial, handshake)):
        return False
    return at_us == min((one for one in _writes(trial) if one > handshake.ended_us), default=None)


def _writes(trial: TrialEvidence) -> list[int]:
    return [one.at_us for one in trial.transfers if one.direction is Direction.SENT]


def _after_idle(trial: TrialEvidence, at_us: int) -> bool:
    return any(one.idle_us and one.asked_us <= at_us <= (one.sent_us or at_us) for one in trial.exchanges)


def _received(trial: TrialEvidence, at_us: int, until_us: int, size_bytes: int) -> str:
    if not size_bytes:
        return "end of stream"
    handshake = trial.handshake
    if handshake is None:
        return "answer"
    if handshake.ended_us is None or at_us <= handshake.ended_us:
        return _greeting(trial, handshake, at_us)
    return _answer([one for one in trial.records if at_us <= one.at_us <= until_us], trial.exchanges, at_us)


def _greeting(trial: TrialEvidence, handshake: Handshake, at_us: int) -> str:
    before = any(
        one.direction is Direction.RECEIVED and handshake.started_us < one.at_us < at_us for one in trial.transfers
    )
    if not before:
        return "ServerHello, retry" if handshake.hello_retry else "ServerHello"
    return "rest of the handshake"


def _answer(records: list[TlsRecord], exchanges: tuple[Exchange, ...], at_us: int) -> str:
    data = [one for one in records if one.application]
    begins = any(one.first_application_us is not None and one.first_application_us <= at_us for one in exchanges)
    if not records:
        return "rest of a record"
    if not data:
        return "tickets" if not begins else "end of the connection"
    largest = max(one.length_bytes for one in data)
    return (
        f"answer: a record of {size(largest)}"
        if len(data) == 1
        else f"answer: {len(data)} records up to {size(largest)}"
    )


def _spaced(row: FlightRow, before: FlightRow | None, rtt_us: int | None) -> FlightRow:
    if before is None:
        return row
    gap_us = max(0, row.at_us - before.until_us)
    gap_rtt = round(gap_us / rtt_us, 2) if rtt_us and rtt_us >= MIN_RTT_US else None
    same_way = row.direction is before.direction
    marked = same_way and gap_rtt is not None and gap_rtt >= _MARKED_RTT and not row.idle
    return replace(row, gap_us=gap_us, gap_rtt=gap_rtt, marked=marked)
