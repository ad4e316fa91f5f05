"""Draws a waterfall's parts as HTML strings: geometry in attributes only, as a strict Content-Security-Policy asks.

Strings are built here and not by the template engine because a page has up to 300 rows of several rectangles each.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from backend.web.waterfall.axis import Axis, Mark, Tick, lanes_of, marks_on
from backend.web.waterfall.rows import Bar, Chart, Row
from backend.web.waterfall.segments import PHASE_NAMES, Phase
from backend.web.waterfall.shapes import (
    BAR_HEIGHT,
    LABEL_HEIGHT,
    LEGEND,
    NOTE_SIGNS,
    SHAPES,
    TINY_PERCENT,
    number_text,
    place_of,
    svg_height,
)
from backend.web.waterfall.strips import STRIP_HEIGHT
from backend.web.waterfall.wanted import Wanted, Window

register = template.Library()

# What the columns of each kind of rows are called: the name's two parts, then the status.
_HEADINGS = {
    "request": ("Request", "host", "Status"),
    "hop": ("Request", "host", "Status"),
    "connection": ("Host", "address", "Protocol"),
}


class _Look(NamedTuple):
    """How one row is shown now; `at` is its place in the table, the head's being 1, where not all rows are there."""

    selected: bool = False
    matched: bool = False
    hidden: bool = False
    at: int | None = None


@register.simple_tag
def waterfall_rows(
    window: Window,
    selected: int | None = None,
    query: str = "",
    box: str = "0 100",
    prefix: str = "r",
    matched: int | None = None,
) -> SafeString:
    """The table rows. `query` is what the page's URL already holds; each row's link adds its own number to it."""
    address = f"?{query}&" if query else "?"
    rows = (
        _row(row, address, box, prefix, _look(window, place, selected=selected, matched=matched))
        for place, row in enumerate(window.rows)
    )
    return _safe("".join(rows))


@register.simple_tag
def waterfall_rows_of(chart: Chart, run_url: str, limit: int) -> SafeString:
    """The first rows of a waterfall that is not the page's own: its links lead to the run, and it has no anchors."""
    rows = (_row(row, f"{run_url}?", "0 100", "", _Look()) for row in chart.rows[:limit])
    return _safe("".join(rows))


@register.simple_tag
def waterfall_head(unit: str, wanted: Wanted | None = None, labels: str = "") -> SafeString:
    """The headings; those of columns are links that sort, where there is something to sort. The labels of the axis
    stand in them, so that paper has both on each page.
    """
    name, place, status = _HEADINGS[unit]
    if unit == "hop" or wanted is None:
        cells = (("number", "#"), ("name", name), ("status", status), ("size", "Size"), ("time", "Time"))
        heads = "".join(
            f'<th scope="col" role="columnheader" class="wf-{column}">{text}</th>' for column, text in cells
        )
    else:
        by_host = f' <span class="wf-by">{_sort_link(wanted, "host", place)}</span>'
        heads = (
            _heading(wanted, "number", "#")
            + _heading(wanted, "name", name, by_host, ("name", "host"))
            + _heading(wanted, "status", status)
            + _heading(wanted, "size", "Size")
            + _heading(wanted, "time", "Time")
        )
    axis = "drag here to zoom, double click to see all" if wanted else ""
    phases = '<span class="visually-hidden">Phases</span>'
    cell = f'<th scope="col" role="columnheader" class="wf-cell" title="{axis}">{phases}{labels}</th>'
    return _safe(f'<tr role="row">{heads}{cell}</tr>')


@register.simple_tag
def strip_box(box: str) -> str:
    """The viewBox of a strip for a part of the axis."""
    left, width = box.split(" ")
    return f"{left} 0 {width} {STRIP_HEIGHT}"


@register.simple_tag
def waterfall_marks(chart: Chart, view: Axis | None = None, hide: Sequence[str] = ()) -> SafeString:
    """Ticks and vertical lines over all rows."""
    axis, marks, top = _marked(chart, view, hide)
    parts = [
        *(_line("wf-tick", tick.x, top) for tick in axis.ticks),
        *(_line(f"wf-mark m-{mark.key}", mark.x, LABEL_HEIGHT * mark.lane + 2) for mark in marks),
    ]
    return _layer("wf-marks", parts)


@register.simple_tag
def waterfall_labels(chart: Chart, view: Axis | None = None, hide: Sequence[str] = ()) -> SafeString:
    """What those lines are, above the first row and before all lines."""
    axis, marks, top = _marked(chart, view, hide)
    parts = [
        *(_label("wf-tick-text tight" if tick.is_tight else "wf-tick-text", tick, top + 14) for tick in axis.ticks),
        *(_label(f"wf-mark-text m-{mark.key}", mark, LABEL_HEIGHT * mark.lane + 11) for mark in marks if mark.text),
    ]
    return _layer("wf-labels", parts)


@register.simple_tag
def waterfall_lanes(chart: Chart, view: Axis | None = None, hide: Sequence[str] = ()) -> int:
    """How many lines of labels stand above the ticks."""
    return lanes_of(marks_on(view or chart.axis, [moment for moment in chart.moments if moment.key not in hide]))


@register.simple_tag
def waterfall_choice(wanted: Wanted, **changes: str) -> SafeString:
    """The address of a link to the page with some choices changed, empty ones left out. The script is told the changes
    alone: its reader may have chosen more since.
    """
    told = urlencode(changes | {"request": ""})
    return _safe(f'href="?{escape(wanted.query_with(**changes))}" data-with="{escape(told)}"')


@register.simple_tag
def big_bar(bars: Sequence[Bar]) -> SafeString:
    """Bars that a style sheet may make as high as it likes; what they say stands beside them in words."""
    rectangles = "".join(_rectangle(bar, 1) for bar in bars)
    box = f'viewBox="0 0 100 {BAR_HEIGHT}" preserveAspectRatio="none"'
    return _safe(f'<svg class="wf-bar big" {box} aria-hidden="true">{rectangles}</svg>')


@register.simple_tag
def waterfall_legend() -> SafeString:
    """Every phase in its colour and height."""
    items = "".join(f"<li>{_swatch(phase)}{PHASE_NAMES[phase]}</li>" for phase in LEGEND)
    return _safe(f'<ul class="wf-legend" aria-label="Legend">{items}</ul>')


@register.simple_tag
def waterfall_swatch(phase: Phase) -> SafeString:
    """One phase as it is drawn, for a text about it."""
    return _safe(_swatch(phase))


def _look(window: Window, place: int, *, selected: int | None, matched: int | None) -> _Look:
    number = window.rows[place].number
    return _Look(
        selected=number == selected,
        matched=number == matched,
        hidden=number in window.hidden,
        at=None if window.complete else window.first + place + 1,
    )


def _heading(wanted: Wanted, column: str, text: str, more: str = "", columns: tuple[str, ...] = ()) -> str:
    """`columns` are those that share the heading."""
    order = next(filter(None, (_order(wanted, one, "aria-sort") for one in columns or (column,))), "")
    return (
        f'<th scope="col" role="columnheader" class="wf-{column}"{order}>{_sort_link(wanted, column, text)}{more}</th>'
    )


def _sort_link(wanted: Wanted, column: str, text: str) -> str:
    """The first time to the end that is looked for, the second time to the other, the third time as it was."""
    first = f"-{column}" if column in ("size", "time") else column
    second = column if first.startswith("-") else f"-{column}"
    order = second if wanted.sort == first else "" if wanted.sort == second else first
    said = _order(wanted, column, "data-order")
    return f'<a href="?{escape(wanted.query_with(sort=order))}" data-sort="{column}"{said}>{text}</a>'


def _order(wanted: Wanted, column: str, attribute: str) -> str:
    """An attribute that says in which direction a column is sorted, empty for one that is not."""
    if wanted.sort.removeprefix("-") != column:
        return ""
    return f' {attribute}="{"descending" if wanted.sort.startswith("-") else "ascending"}"'


def _marked(chart: Chart, view: Axis | None, hide: Sequence[str]) -> tuple[Axis, Sequence[Mark], int]:
    """The axis, its lines, and where below their labels the ticks begin."""
    axis = view or chart.axis
    marks = marks_on(axis, [moment for moment in chart.moments if moment.key not in hide])
    return axis, marks, LABEL_HEIGHT * lanes_of(marks)


def _layer(name: str, parts: Iterable[str]) -> SafeString:
    return _safe(f'<svg class="{name}" aria-hidden="true" focusable="false">{"".join(parts)}</svg>')


def _line(classes: str, x: float, top: int) -> str:
    return f'<line class="{classes}" x1="{x:g}%" x2="{x:g}%" y1="{top}" y2="100%"/>'


def _label(classes: str, at: Tick | Mark, y: int) -> str:
    aside = -4 if at.anchor == "end" else 4
    place = f'x="{at.x:g}%" dx="{aside}" y="{y}" text-anchor="{at.anchor}"'
    return f'<text class="{classes}" {place}>{escape(at.text)}</text>'


def _swatch(phase: Phase) -> str:
    top, height = SHAPES[phase]
    rectangle = f'<rect class="p-{phase}" width="18" y="{top}" height="{height}"/>'
    return f'<svg class="wf-swatch" width="18" height="{BAR_HEIGHT}" aria-hidden="true">{rectangle}</svg>'


def _row(row: Row, query: str, box: str, prefix: str, look: _Look) -> str:
    classes = " ".join(
        name
        for name, holds in (
            ("wf-row", True),
            (row.tint, bool(row.tint)),
            ("high", row.lanes > 1),
            ("selected", look.selected),
            ("matched", look.matched),
        )
        if holds
    )
    current = ' aria-current="true"' if look.selected else ""
    chosen = f"{prefix if prefix != 'r' else ''}{row.number}"
    link = (
        f'<a href="{escape(query)}request={chosen}#details" title="{escape(row.url)}"{current}>{escape(row.name)}</a>'
    )
    place = f' id="{prefix}{row.number}"' if prefix else ""
    at = "" if look.at is None else f' aria-rowindex="{look.at}"'
    return (
        f'<tr role="row" class="{classes}"{place} data-kind="{escape(row.kind)}" data-is="{" ".join(row.traits)}"'
        f' data-v="{row.start_us},{_value(row.lasted_us)},{_value(row.size_bytes)}"{_match(row)}'
        f"{at}{' hidden' if look.hidden else ''}>"
        f'<td role="cell" class="wf-number">{row.number}</td>'
        f'<th scope="row" role="rowheader" class="wf-name">{link} {_notes(row)}'
        f'<span class="wf-host">{escape(row.host)}</span></th>'
        f'<td role="cell" class="wf-status">{escape(row.status)}</td>'
        f'<td role="cell" class="wf-size">{row.size}</td>'
        f'<td role="cell" class="wf-time">{escape(row.time)}</td>'
        f'<td role="cell" class="wf-cell">{_bar(row, box)}</td>'
        "</tr>"
    )


def _notes(row: Row) -> str:
    return "".join(f'<span class="wf-note">{_sign(note)}{escape(note)}</span> ' for note in row.notes)


def _sign(note: str) -> str:
    return f'<i aria-hidden="true">{NOTE_SIGNS[note]}</i> ' if note in NOTE_SIGNS else ""


def _match(row: Row) -> str:
    return "" if row.match is None else f' data-match="{row.match}"'


def _value(number: int | None) -> str:
    return "" if number is None else str(number)


def _bar(row: Row, box: str) -> str:
    """`box` is from where and how much of the axis is looked at, in percent."""
    height = svg_height(row.lanes)
    left, width = box.split(" ")
    tall = "" if row.lanes == 1 else f' height="{height}"'
    rectangles = "".join(_rectangle(bar, row.lanes) for bar in row.bars)
    return (
        f'<svg class="wf-bar{" tall" if tall else ""}" viewBox="{left} 0 {width} {height}" preserveAspectRatio="none"'
        f'{tall} role="img" aria-label="{escape(row.spoken)}">{rectangles}</svg>'
    )


def _rectangle(bar: Bar, lanes: int) -> str:
    tiny = " t" if bar.width < TINY_PERCENT else ""
    width = f'x="{number_text(bar.x)}" width="{number_text(bar.width)}"'
    shape = f'class="p-{bar.phase}{tiny}" {width}{_place(bar, lanes) if lanes > 1 else ""}'
    return f"<rect {shape}><title>{escape(bar.title)}</title></rect>" if bar.title else f"<rect {shape}/>"


def _place(bar: Bar, lanes: int) -> str:
    """Where one lane is all there is, `shapes.css` says it for all rows."""
    top, height = place_of(bar.phase, bar.lane, lanes)
    return f' y="{top}" height="{height}"'


def _safe(html: str) -> SafeString:
    """Everything from outside was escaped where it was put in."""
    return mark_safe(html)
