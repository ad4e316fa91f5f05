"""A probe's hops as text for a terminal: phases as bars on one axis, in as many rows as there are. Pure."""

from collections.abc import Iterator, Sequence

from workers.measurement.bars import bar_of, shared_bar
from workers.measurement.canvas import (
    BOLD,
    COLOURS,
    LABELS,
    SHADES,
    Canvas,
    columns_of,
    counted,
    fit,
    format_duration,
    legend,
)
from workers.measurement.connection import Connection
from workers.measurement.evidence import Trial
from workers.measurement.messages import Hop, ProbeMeasurement
from workers.measurement.timing import PHASES, answer_phases

_NAME_COLUMNS, _VALUE_COLUMNS = 9, 9


def draw_probe(probe: ProbeMeasurement, canvas: Canvas) -> list[str]:
    """Each phase of each hop has a bar; where that are more rows than the canvas has, redirects become one bar each,
    then one for all of them, then the last hop becomes one too. Never less than that, and always what it sums up to.
    """
    if not probe.hops:
        return []
    connections = {connection.number: connection for connection in probe.connections}
    told = _summary(probe, connections.get(probe.hops[-1].connection))
    facts = [_joined(told, canvas)] if told else []
    ways = list(_ways(probe, connections, canvas))
    room = None if canvas.rows is None else canvas.rows - len(facts)
    return [*next((lines for lines in ways if room is None or len(lines) <= room), min(ways, key=len)), *facts]


def _ways(probe: ProbeMeasurement, connections: dict[int, Connection], canvas: Canvas) -> Iterator[list[str]]:
    """All ways to draw the hops, the longest first. Where several phases share a bar they are told
    apart by their shade, which the bars of the last hop's phases then have too.
    """
    *redirects, last = probe.hops
    scale_us = max(hop.timing.last_us for hop in probe.hops)

    def whole(hop: Hop, shaded: bool) -> list[str]:
        connection = connections.get(hop.connection)
        also_spoken = _also_spoken(probe, connection.protocol) if hop is last and connection is not None else ()
        facts = _connection_facts(connection, also_spoken)
        return _hop(hop, facts, scale_us, canvas, shaded=shaded)

    yield [line for hop in probe.hops for line in whole(hop, shaded=False)]
    if redirects:
        yield [*(line for hop in redirects for line in _folded([hop], scale_us, canvas)), *whole(last, shaded=True)]
    if len(redirects) > 1:
        yield [*_folded(redirects, scale_us, canvas), *whole(last, shaded=True)]
    before = _folded(redirects, scale_us, canvas) if redirects else []
    yield [*before, *_folded([last], scale_us, canvas), legend(canvas, "  ")]


def _hop(hop: Hop, facts: Sequence[str], scale_us: int, canvas: Canvas, *, shaded: bool) -> list[str]:
    told = "  ".join([str(hop.status or "no answer"), *facts])
    lines = [canvas.paint(fit(canvas.named(hop.url), canvas.columns), BOLD), fit(f"  {told}", canvas.columns)]
    for phase in PHASES:
        span = getattr(hop.timing, phase)
        if span is not None:
            label = _label(LABELS[phase], span.duration_us)
            columns = canvas.columns - len(label)
            bar = bar_of(span, scale_us, columns, SHADES[phase] if shaded else None)
            lines.append((label + canvas.paint(bar, COLOURS[phase])).rstrip())
    return lines


def _folded(hops: Sequence[Hop], scale_us: int, canvas: Canvas) -> list[str]:
    """Several hops one after the other as one bar, under the address of the first."""
    first, more = hops[0], len(hops) - 1
    behind = f" and {counted(more, 'more redirect')}" if more else ""
    head = canvas.paint(fit(canvas.named(first.url), canvas.columns - len(behind)), BOLD) + behind
    name = "redirects" if more else str(first.status or "no answer")
    label = _label(name, max(hop.timing.last_us for hop in hops) - first.timing.start_us)
    bar = shared_bar([hop.timing for hop in hops], scale_us, canvas.columns - len(label), canvas)
    return [head, (label + bar).rstrip()]


def _label(name: str, duration_us: int) -> str:
    return f"  {name:<{_NAME_COLUMNS}}{format_duration(duration_us):>{_VALUE_COLUMNS}}  "


def _also_spoken(probe: ProbeMeasurement, protocol: str | None) -> list[str]:
    """What other connections that browsers take were answered in: the first one only offers HTTP/1.1, whose answers
    show more plainly how a server sends."""
    trials = () if probe.evidence is None else probe.evidence.of(Trial.HTTP2, Trial.HTTP3)
    answered = [trial.handshake for trial in trials if trial.failure is None and trial.exchanges]
    taken = [handshake for handshake in answered if handshake is not None and not handshake.faults]
    return sorted({handshake.protocol for handshake in taken if handshake.protocol is not None} - {protocol})


def _connection_facts(connection: Connection | None, also_spoken: Sequence[str]) -> list[str]:
    if connection is None:
        return []
    address = f"[{connection.address}]" if ":" in (connection.address or "") else connection.address
    where = f"{address}:{connection.port}" if address else None
    too = f" ({', '.join(also_spoken)} too)" if also_spoken else ""
    protocol = f"{connection.protocol}{too}" if connection.protocol else None
    return [fact for fact in (protocol, connection.tls_version, where) if fact]


def _summary(probe: ProbeMeasurement, connection: Connection | None) -> list[str]:
    phases = answer_phases([hop.timing for hop in probe.hops])
    marks = (("first byte", phases.ttfb_us), ("total", phases.total_us))
    parts = [f"{name} {format_duration(us)}" for name, us in marks if us is not None]
    if connection is not None and connection.rtt_us is not None:
        parts.append(f"round trip {format_duration(connection.rtt_us)}")
    if connection is not None and connection.tls_round_trips is not None:
        parts.append(f"TLS in {counted(connection.tls_round_trips, 'round trip')}")
    if len(probe.hops) > 1:
        parts.append(f"after {counted(len(probe.hops) - 1, 'redirect')}")
    return parts


def _joined(facts: Sequence[str], canvas: Canvas) -> str:
    """As many facts as fit, the first ones first."""
    while len(facts) > 1 and columns_of(" · ".join(facts)) > canvas.columns:
        facts = facts[:-1]
    return fit(" · ".join(facts), canvas.columns)
