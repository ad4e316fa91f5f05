"""A waterfall, or two, as one SVG that stands alone, for documents and tickets: always light, and redacted as a HAR is.

Geometry and colours are attributes, so that it looks the same wherever it is opened. Colours are those of
`frontend/src/styles/tokens.css`, to which a test holds them.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate
from unicodedata import east_asian_width

from backend.web.units import short_duration
from backend.web.waterfall.axis import Mark, Tick, lanes_of, marks_on
from backend.web.waterfall.board import Board, Picture
from backend.web.waterfall.data import FilmData
from backend.web.waterfall.film import FILM_SLOTS, sheet_of, slots_of
from backend.web.waterfall.rows import Row
from backend.web.waterfall.segments import PHASE_NAMES, Phase
from backend.web.waterfall.shapes import (
    BAR_HEIGHT,
    INSTANT,
    LABEL_HEIGHT,
    LEGEND,
    NOTE_SIGNS,
    SHAPES,
    TINY_PERCENT,
    TRAITS,
    number_text,
    place_of,
    svg_height,
)
from backend.web.waterfall.strips import STRIP_HEIGHT
from backend.web.waterfall.text import name_of
from backend.web.waterfall.wanted import ORDERS, sorted_rows
from workers.measurement.redaction import Masks, Redaction

# More would be taller than programs that show pictures can bear.
MAX_ROWS = 1_000
WIDTH = 1_200
PLOT = 520
PAD = 12
_ROW = 22
_FILM = 60
# A name and its host share a place of so many pixels, by the mean width of a letter in either's size.
_NAME_CHARS, _NAME_PX, _HOST_PX, _NAMES_PX = 34, 7.3, 6.7, 264
_LEAST_HOST_CHARS = 6
_MASKS = Masks(Redaction.STANDARD)
_FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"

COLOURS = {
    "surface": "#ffffff",
    "line": "#dadde3",
    "text": "#16202b",
    "muted": "#57606c",
    "bad": "#a50e0e",
    "bad-soft": "#fbe7e6",
    "warn": "#754600",
    "warn-soft": "#fdf0d3",
    "phase-queued": "#a4a7ac",
    "phase-dns": "#1d745e",
    "phase-connect": "#b77d0b",
    "phase-tls": "#873398",
    "phase-wait": "#2695ff",
    "phase-download": "#040c43",
    "phase-open": "#57606c",
    "mark-first-byte": "#57606c",
    "mark-start-render": "#0f6a78",
    "mark-fcp": "#0b6127",
    "mark-lcp": "#a8420c",
    "mark-dcl": "#873398",
    "mark-load": "#0b55d0",
    "mark-shift": "#a50e0e",
    "mark-user-timing": "#69009e",
    "strip-received": "#1d745e",
    "strip-cpu": "#b77d0b",
    "strip-script": "#b77d0b",
    "strip-style": "#873398",
    "strip-layout": "#0b55d0",
    "strip-other": "#858c97",
    "strip-task": "#b5847f",
}
_TINTS = {"error": "bad-soft", "redirect": "warn-soft"}
_STATUS = {"error": "bad", "redirect": "warn"}
# As in `frontend/src/styles/waterfall-axis.css`, to which a test holds them.
DASHES = {"lcp": "5 3", "load": "2 2", "dcl": "8 2 2 2", "shift": "3 5", "user-timing": "1 4"}


def svg_of(board: Board, title: str) -> str:
    """The rows that the board's URL asks for, over the time it asks for, in its order."""
    parts = [_text(PAD, 24, title, size=16, weight=700)]
    chosen = _chosen(board)
    if chosen:
        parts.append(_text(PAD, 44, chosen, colour="muted"))
    y = 70 if chosen else 50
    parts.extend(_legend(y))
    y += 22
    for picture in board.pictures:
        drawn, y = _picture(picture, y)
        parts.extend(drawn)
        y += 24
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    ground = _rect(0, 0, WIDTH, y, "surface")
    return f'{head} font-family="{_FONT}" font-size="12" role="img">{ground}{"".join(parts)}</svg>\n'


def _picture(picture: Picture, top: int) -> tuple[list[str], int]:
    """Its parts, and where it ends."""
    parts = []
    if picture.name:
        parts.append(_text(PAD, top + 14, picture.name, size=13, weight=700))
        top += 24
    if picture.film is not None and picture.film.url.startswith("data:"):
        parts.extend(_film(picture.film, picture, top))
        top += _FILM + 8
    marks = marks_on(picture.view, [one for one in picture.chart.moments if one.key not in picture.wanted.hide])
    head = top + LABEL_HEIGHT * lanes_of(marks) + 18
    wanted = [row for row in sorted_rows(picture.chart.rows, picture.wanted.sort) if picture.wanted.wants(row)]
    rows = wanted[:MAX_ROWS]
    y = head
    below: list[str] = []
    for row in rows:
        height = _ROW + svg_height(row.lanes) - BAR_HEIGHT
        below.extend(_row(row, y, height))
        below.append(_plot([*_bars(row)], picture, y + (height - svg_height(row.lanes)) // 2, svg_height(row.lanes)))
        y += height
    if len(wanted) > len(rows):
        below.append(_text(PAD, y + 16, f"and {len(wanted) - len(rows):,} more rows", colour="muted"))
        y += _ROW
    for strip in picture.strips:
        below.extend(_strip_head(strip.name, strip.top, y))
        paths = [f'<path fill="{_strip_colour(shape.kind)}" d="{shape.path}"/>' for shape in strip.shapes if shape.path]
        below.append(_plot(paths, picture, y + 4, STRIP_HEIGHT))
        y += STRIP_HEIGHT + 8
    parts.extend(_tint(row, at) for row, at in _places(rows, head) if row.tint in _TINTS)
    ticks = picture.view.ticks
    parts.extend(_line(tick.x, head - 16, y, "line", 1) for tick in ticks)
    parts.extend(
        _line(mark.x, top + LABEL_HEIGHT * mark.lane + 2, y, f"mark-{mark.key}", 1.5, DASHES.get(mark.key, ""))
        for mark in marks
    )
    labels = [_label(tick, head - 5, "muted") for tick in ticks]
    labels += [
        _label(mark, top + LABEL_HEIGHT * mark.lane + 11, f"mark-{mark.key}", 700) for mark in marks if mark.text
    ]
    return [*parts, _before_lines(labels), *below], y


def _places(rows: Sequence[Row], y: int) -> Iterator[tuple[Row, int]]:
    for row in rows:
        yield row, y
        y += _ROW + svg_height(row.lanes) - BAR_HEIGHT


def _row(row: Row, y: int, height: int) -> Iterator[str]:
    middle = y + height // 2 + 4
    yield f'<path stroke="{COLOURS["line"]}" d="M0 {y}H{WIDTH}"/>'
    if row.tint == "blocking":
        yield _rect(0, y + 1, 4, height - 1, "warn")
    yield _text(34, middle, str(row.number), colour="muted", anchor="end")
    yield _names(row, middle)
    yield _text(PLOT - 146, middle, _cut(row.status, 9), colour=_STATUS.get(row.tint, "text"), anchor="end")
    yield _text(PLOT - 80, middle, row.size, anchor="end")
    yield _text(PLOT - 12, middle, row.time, anchor="end")


def _names(row: Row, y: int) -> str:
    """The name, what is remarkable and the host, as far as there is room."""
    name = _cut(_masked(row), _NAME_CHARS)
    room = int((_NAMES_PX - _NAME_PX * _width(name)) / _HOST_PX)
    beside = []
    for text in filter(None, (*map(_remark, row.notes), row.host)):
        if room - 1 < _LEAST_HOST_CHARS:
            break
        beside.append(_cut(text, room - 1))
        room -= _width(beside[-1]) + 1
    spans = "".join(f' <tspan fill="{COLOURS["muted"]}" font-size="11">{escape(text)}</tspan>' for text in beside)
    return f'<text x="44" y="{y}" fill="{COLOURS["text"]}">{escape(name)}{spans}</text>'


def _masked(row: Row) -> str:
    """The name as an archive has it; only an address has parameters."""
    return name_of(_MASKS.url(row.url)) if "://" in row.url else row.name


def _remark(note: str) -> str:
    return f"{NOTE_SIGNS[note]} {note}" if note in NOTE_SIGNS else note


def _bars(row: Row) -> Iterator[str]:
    for bar in row.bars:
        is_instant = len(row.bars) == 1 and bar.phase in ("idle", "queued") and bar.width < TINY_PERCENT
        top, height = INSTANT if is_instant else place_of(bar.phase, bar.lane, row.lanes)
        place = f'x="{number_text(bar.x)}" width="{number_text(bar.width)}" y="{top}" height="{height}"'
        colour = _phase_colour(bar.phase)
        is_tiny = bar.width < TINY_PERCENT and bar.phase != "open"
        outline = f' stroke="{colour}" vector-effect="non-scaling-stroke"' if is_tiny else ""
        yield f"<rect {_paint(bar.phase)}{outline} {place}/>"


def _plot(shapes: Sequence[str], picture: Picture, y: int, height: int) -> str:
    """Shapes in percent of the whole axis, of which the view is shown."""
    left, width = picture.box.split(" ")
    frame = f'x="{PLOT}" y="{y}" width="{WIDTH - PLOT - PAD}" height="{height}"'
    box = f'viewBox="{left} 0 {width} {height}" preserveAspectRatio="none"'
    return f"<svg {frame} {box}>{''.join(shapes)}</svg>"


def _film(film: FilmData, picture: Picture, y: int) -> Iterator[str]:
    """What the screen showed, above the time it stands for. The picture of all pictures is in the file once."""
    columns, rows = sheet_of(film)
    sheet = f'width="{columns * film.width}" height="{rows * film.height}"'
    yield _text(PLOT - 12, y + 18, "Screen", weight=700, anchor="end")
    yield _text(PLOT - 12, y + 36, "at the end of each step", colour="muted", anchor="end")
    yield f'<defs><image id="film-{picture.prefix}" href="{escape(film.url)}" {sheet}/></defs>'
    place = (WIDTH - PLOT - PAD) / FILM_SLOTS
    # As large as fits, in its own proportions: beside it the next picture of the sheet would show.
    scale = min(place / film.width, _FILM / film.height)
    width, height = film.width * scale, film.height * scale
    for slot in slots_of(film, picture.view):
        left, top = slot.frame % columns * film.width, slot.frame // columns * film.height
        x, above = PLOT + slot.place * place + (place - width) / 2, y + (_FILM - height) / 2
        frame = f'x="{x:.2f}" y="{above:.2f}" width="{width:.2f}" height="{height:.2f}"'
        colour, edge = ("mark-load", 3) if slot.changed else ("line", 1)
        yield (
            f'<svg {frame} viewBox="0 0 {film.width} {film.height}"><use href="#film-{picture.prefix}" x="{-left}"'
            f' y="{-top}"/><rect width="{film.width}" height="{film.height}" fill="none" stroke="{COLOURS[colour]}"'
            f' stroke-width="{edge}" vector-effect="non-scaling-stroke"/></svg>'
        )


def _strip_head(name: str, top: str, y: int) -> Iterator[str]:
    yield f'<path stroke="{COLOURS["line"]}" d="M0 {y}H{WIDTH}"/>'
    yield _text(PLOT - 12, y + 18, name, weight=700, anchor="end")
    yield _text(PLOT - 12, y + 36, top, colour="muted", anchor="end")


def _tint(row: Row, y: int) -> str:
    return _rect(0, y, WIDTH, _ROW + svg_height(row.lanes) - BAR_HEIGHT, _TINTS[row.tint])


def _line(x: float, top: int, bottom: int, colour: str, width: float, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path stroke="{COLOURS[colour]}" stroke-width="{width:g}"{dashed} d="M{_x(x)} {top}V{bottom}"/>'


def _label(at: Tick | Mark, y: int, colour: str, weight: int = 400) -> str:
    x = _x(at.x) + (-4 if at.anchor == "end" else 4)
    return _text(x, y, at.text, colour=colour, size=11, weight=weight, anchor=at.anchor)


def _before_lines(labels: Sequence[str]) -> str:
    """Each with a rim that keeps off the lines that cross it."""
    return f'<g paint-order="stroke" stroke="{COLOURS["surface"]}" stroke-width="4">{"".join(labels)}</g>'


def _legend(y: int) -> Iterator[str]:
    x = PAD
    for phase in LEGEND:
        top, height = SHAPES[phase]
        yield f'<rect x="{x}" y="{y - 12 + top}" width="18" height="{height}" {_paint(phase)}/>'
        yield _text(x + 24, y, PHASE_NAMES[phase])
        x += 46 + round(6.2 * len(PHASE_NAMES[phase]))


def _chosen(board: Board) -> str:
    """What is drawn, where that is not all of the measurement: `3 of 30 rows, 300 ms to 500 ms: host a.example`."""
    wanted = board.wanted
    filters = {
        "text": wanted.text,
        "host": wanted.host,
        "type": wanted.kind,
        "only": next((name for trait, name in TRAITS.items() if trait == wanted.only), ""),
        "order": ORDERS.get(wanted.sort, wanted.sort),
    }
    told = ", ".join(f"{name} {_cut(value, 60)}" for name, value in filters.items() if value)
    of = " by connection" if board.chart.unit == "connection" else ""
    of += " of the repeat view" if wanted.visit and board.has_repeat else ""
    axis, view = board.chart.axis, board.pictures[0].view
    edges = (view.start_us - view.zero_us, view.end_us - view.zero_us)
    zoom = f", {' to '.join(map(short_duration, edges))}" if view.length_us < axis.length_us else ""
    if not (told or of or zoom):
        return ""
    return f"{board.matching} of {board.total} rows{of}{zoom}{': ' if told else ''}{told}"


def _x(percent: float) -> float:
    return round(PLOT + percent / 100 * (WIDTH - PLOT - PAD), 2)


def _rect(x: int, y: int, width: int, height: int, colour: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{COLOURS[colour]}"/>'


def _text(
    x: float, y: int, text: str, *, colour: str = "text", size: int = 12, weight: int = 400, anchor: str = "start"
) -> str:
    place = f'x="{x:g}" y="{y}" fill="{COLOURS[colour]}" font-size="{size}" font-weight="{weight}"'
    return f'<text {place} text-anchor="{anchor}">{escape(text)}</text>'


def _paint(phase: Phase) -> str:
    """Filled with its colour; what is still open is dashed, and hollow."""
    colour = _phase_colour(phase)
    if phase != "open":
        return f'fill="{colour}"'
    return f'fill="none" stroke="{colour}" stroke-dasharray="4 3" vector-effect="non-scaling-stroke"'


def _phase_colour(phase: Phase) -> str:
    return COLOURS["phase-queued" if phase == "idle" else f"phase-{phase}"]


def _strip_colour(kind: str) -> str:
    return COLOURS["bad"] if kind == "blocked" else COLOURS[f"strip-{kind}"]


def _cut(text: str, chars: int) -> str:
    """As much of it as has the width of so many Latin letters."""
    if _width(text) <= chars:
        return text
    ends = accumulate(map(_width, text))
    return f"{text[: sum(end < chars for end in ends)]}…"


def _width(text: str) -> int:
    """In Latin letters: those of East Asia and emoji are twice as wide."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
