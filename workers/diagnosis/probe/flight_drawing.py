"""The ladder of one connection as text for a terminal: the client left, the server right. Pure."""

from workers.diagnosis.probe.flight_diagram import FlightRow, flight_diagram
from workers.diagnosis.units import size
from workers.measurement.canvas import BOLD, DIM, RED, Canvas, columns_of, fit, format_duration, pad
from workers.measurement.evidence import Direction, TrialEvidence

_TIME_COLUMNS = 10
_GAP_COLUMNS = 11
_MIN_LADDER = 12


def draw_flights(trial: TrialEvidence, canvas: Canvas) -> list[str]:
    """Lines; none for a connection that was never made."""
    diagram = flight_diagram(trial)
    if not diagram.rows:
        return []
    columns = canvas.columns - _TIME_COLUMNS - _GAP_COLUMNS - 2
    ladder = max(_MIN_LADDER, columns)
    trip = "" if diagram.rtt_us is None else f"RTT {format_duration(diagram.rtt_us)}"
    head = f"{pad('client', ladder - columns_of('server'))}server"
    lines = [canvas.paint(f"{'':{_TIME_COLUMNS}}{head}  {trip}".rstrip(), BOLD)]
    lines += [_line(row, ladder, canvas) for row in diagram.rows]
    if diagram.dropped:
        lines.append(canvas.paint(f"{'':{_TIME_COLUMNS}}… and {diagram.dropped} more", DIM))
    return lines


def _line(row: FlightRow, ladder: int, canvas: Canvas) -> str:
    gap = _gap(row)
    text = f"{format_duration(row.at_us):>{_TIME_COLUMNS - 1}} {_arrow(row, ladder)}  "
    return text.rstrip() if not gap else text + canvas.paint(gap, RED if row.marked else DIM)


def _arrow(row: FlightRow, ladder: int) -> str:
    told = f"{row.label} · {size(row.size_bytes)}" if row.size_bytes else row.label
    label = fit(f" {told} ", ladder - 4)
    shaft = "─" * (ladder - 2 - columns_of(label))
    return f"├{label}{shaft}▶" if row.direction is Direction.SENT else f"◀{label}{shaft}┤"


def _gap(row: FlightRow) -> str:
    if row.idle:
        return "our pause"
    if row.gap_rtt is None:
        return ""
    return f"+{row.gap_rtt:.2f} RTT" if row.gap_rtt >= 0.01 else ""
