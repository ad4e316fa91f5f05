"""The ladders of a probe's connections: client left, server right, a row a flight. No I/O."""

from collections.abc import Iterator
from dataclasses import dataclass

from backend.web import units
from backend.web.waterfall.text import printable
from workers.diagnosis.probe.flight_diagram import FlightRow, flight_diagram
from workers.measurement.evidence import Direction, ProbeEvidence, Trial, TrialEvidence

# A page shows so many connections; a deep probe of a sick server makes up to thirty.
MAX_LADDERS = 16
# A pause becomes as high as this many quarters of a round trip, at most.
MAX_STEPS = 8
# Shorter pauses are not worth a word.
_TOLD_RTT, _TOLD_US = 0.01, 1_000

_NAMES = {
    Trial.FULL: "New visitor",
    Trial.RESUMED: "Returning visitor, with a session",
    Trial.RESUMED_ELSEWHERE: "Returning visitor, at another address",
    Trial.EARLY_DATA: "Returning visitor, 0-RTT",
    Trial.TLS12: "TLS 1.2",
    Trial.TLS12_TICKET: "TLS 1.2, session ticket",
    Trial.TLS12_SESSION_ID: "TLS 1.2, session id",
    Trial.DELAYED_ACK: "With delayed acknowledgements",
    Trial.CLASSICAL: "Without post-quantum key exchange",
    Trial.HTTP2: "HTTP/2",
    Trial.HTTP3: "HTTP/3",
    Trial.COMPRESSED: "Offering to take compressed certificates",
    Trial.PLAIN: "Plain HTTP on port 80",
    Trial.OTHER_FAMILY: "The other address family",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A flight: `steps` is how high the pause before it is drawn, in quarters of a round trip."""

    at: str
    sent: bool
    label: str
    gap: str
    marked: bool
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """One connection. `note` says what is to be known of it: where it went, how far, why it ended early."""

    title: str
    note: str
    rungs: tuple[Rung, ...]
    dropped: int


def ladders_of(evidence: ProbeEvidence) -> list[Ladder]:
    """All connections that were made, the visitor's first; at most sixteen."""
    return list(_ladders(evidence))[:MAX_LADDERS]


def _ladders(evidence: ProbeEvidence) -> Iterator[Ladder]:
    seen: dict[Trial, int] = {}
    for trial in evidence.trials:
        seen[trial.trial] = seen.get(trial.trial, 0) + 1
        diagram = flight_diagram(trial)
        if not diagram.rows:
            continue
        again = f" ({seen[trial.trial]})" if seen[trial.trial] > 1 else ""
        yield Ladder(
            title=f"{_NAMES[trial.trial]}{again}",
            note=_note(trial, diagram.rtt_us),
            rungs=tuple(_rung(row) for row in diagram.rows),
            dropped=diagram.dropped,
        )


def _note(trial: TrialEvidence, rtt_us: int | None) -> str:
    parts = [
        None if trial.address is None else printable(trial.address, 60),
        None if rtt_us is None else f"round trip {units.duration(rtt_us)}",
        None if trial.handshake is None else trial.handshake.version,
        None if trial.failure is None else printable(trial.failure.detail, 200),
    ]
    return " · ".join(part for part in parts if part)


def _rung(row: FlightRow) -> Rung:
    size = f" · {units.size(row.size_bytes)}" if row.size_bytes else ""
    return Rung(
        at=units.duration(row.at_us),
        sent=row.direction is Direction.SENT,
        label=f"{row.label}{size}",
        gap=_gap(row),
        marked=row.marked,
        steps=0 if row.gap_rtt is None else min(MAX_STEPS, round(row.gap_rtt * 4)),
    )


def _gap(row: FlightRow) -> str:
    if row.idle:
        return "our own pause"
    if row.gap_rtt is None:
        # The round trip is too short to count in: the time itself says more.
        return f"+{units.duration(row.gap_us)}" if row.gap_us >= _TOLD_US else ""
    return f"+{row.gap_rtt:.2f} RTT" if row.gap_rtt >= _TOLD_RTT else ""
