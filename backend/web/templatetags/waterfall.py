"""Draws a waterfall's parts as HTML strings: geometry in attributes only, as a strict Content-Security-Policy asks.

Strings are built here and not by the template engine because a page has up to 300 rows of several rectangles each.
"""

from collections.abc import Sequence

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from backend.web.waterfall.axis import Mark, Tick
from backend.web.waterfall.rows import Bar, Chart, Row
from backend.web.waterfall.segments import PHASE_NAMES, Phase
from backend.web.waterfall.wanted import Window

register = template.Library()

BAR_HEIGHT = 14
LANE_HEIGHT = 14
# Top and height of each phase: a second way to tell them apart beside colour (ECOSYSTEM 3.5).
SHAPES: dict[Phase, tuple[int, int]] = {
    "queued": (5, 4),
    "idle": (5, 4),
    "dns": (2, 10),
    "connect": (2, 10),
    "tls": (2, 10),
    "wait": (2, 10),
    "download": (0, 14),
}


@register.simple_tag
def waterfall_rows(window: Window, selected: int | None = None, query: str = "") -> SafeString:
    """The table rows. `query` is what the page's URL already holds; each row's link adds its own number to it."""
    prefix = f"?{query}&" if query else "?"
    return _safe(
        "".join(_row(row, prefix, selected=selected, hidden=row.number in window.hidden) for row in window.rows)
    )


@register.simple_tag
def waterfall_rows_of(chart: Chart, run_url: str, limit: int) -> SafeString:
    """The first rows of a waterfall that is not the page's own: its links lead to the run, and it has no anchors."""
    rows = (_row(row, f"{run_url}?", selected=None, hidden=False, anchor=False) for row in chart.rows[:limit])
    return _safe("".join(rows))


@register.simple_tag
def waterfall_marks(chart: Chart) -> SafeString:
    """Ticks and vertical lines over all rows; their labels stand above the first row."""
    ticks = "".join(_tick(tick, LANE_HEIGHT * chart.lanes) for tick in chart.ticks)
    marks = "".join(_mark(mark, LANE_HEIGHT * mark.lane) for mark in chart.marks)
    return _safe(f'<svg class="wf-marks" aria-hidden="true" focusable="false">{ticks}{marks}</svg>')


@register.simple_tag
def big_bar(bars: Sequence[Bar]) -> SafeString:
    """Bars that a style sheet may make as high as it likes; what they say stands beside them in words."""
    rectangles = "".join(_rectangle(bar) for bar in bars)
    box = f'viewBox="0 0 100 {BAR_HEIGHT}" preserveAspectRatio="none"'
    return _safe(f'<svg class="wf-bar big" {box} aria-hidden="true">{rectangles}</svg>')


@register.simple_tag
def waterfall_legend() -> SafeString:
    """Every phase in its colour and height."""
    phases: tuple[Phase, ...] = ("queued", "dns", "connect", "tls", "wait", "download")
    items = "".join(f"<li>{_swatch(phase)}{PHASE_NAMES[phase]}</li>" for phase in phases)
    return _safe(f'<ul class="wf-legend" aria-label="Legend">{items}</ul>')


def _tick(tick: Tick, top: int) -> str:
    x = f"{tick.x:g}%"
    line = f'<line class="wf-tick" x1="{x}" x2="{x}" y1="{top}" y2="100%"/>'
    return line + _label("wf-tick-text", x, top + 14, tick.anchor, tick.text)


def _mark(mark: Mark, top: int) -> str:
    x = f"{mark.x:g}%"
    line = f'<line class="wf-mark m-{mark.key}" x1="{x}" x2="{x}" y1="{top + 2}" y2="100%"/>'
    return line + _label(f"wf-mark-text m-{mark.key}", x, top + 11, mark.anchor, mark.text)


def _label(classes: str, x: str, y: int, anchor: str, text: str) -> str:
    aside = -4 if anchor == "end" else 4
    return f'<text class="{classes}" x="{x}" dx="{aside}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _swatch(phase: Phase) -> str:
    top, height = SHAPES[phase]
    rectangle = f'<rect class="p-{phase}" width="18" y="{top}" height="{height}"/>'
    return f'<svg class="wf-swatch" width="18" height="{BAR_HEIGHT}" aria-hidden="true">{rectangle}</svg>'


def _row(row: Row, prefix: str, *, selected: int | None, hidden: bool, anchor: bool = True) -> str:
    is_selected = row.number == selected
    classes = " ".join(name for name in ("wf-row", row.tint, "selected" if is_selected else "") if name)
    current = ' aria-current="true"' if is_selected else ""
    address = f"{escape(prefix)}request={row.number}#details"
    link = f'<a href="{address}" title="{escape(row.url)}"{current}>{escape(row.name)}</a>'
    place = f' id="r{row.number}"' if anchor else ""
    note = f'<span class="wf-note">{escape(row.note)}</span> ' if row.note else ""
    return (
        f'<tr class="{classes}"{place} data-kind="{escape(row.kind)}"{" hidden" if hidden else ""}>'
        f'<td class="wf-number">{row.number}</td>'
        f'<th scope="row" class="wf-name">{link} {note}<span class="wf-host">{escape(row.host)}</span></th>'
        f'<td class="wf-status">{escape(row.status)}</td>'
        f'<td class="wf-size">{row.size}</td>'
        f'<td class="wf-time">{row.time}</td>'
        f'<td class="wf-cell">{_bar(row)}</td>'
        "</tr>"
    )


def _bar(row: Row) -> SafeString:
    rectangles = "".join(_rectangle(bar) for bar in row.bars)
    return _safe(f'<svg class="wf-bar" role="img" aria-label="{escape(row.spoken)}">{rectangles}</svg>')


def _rectangle(bar: Bar) -> str:
    top, height = SHAPES[bar.phase]
    return f'<rect class="p-{bar.phase}" x="{bar.x:g}%" width="{bar.width:g}%" y="{top}" height="{height}"/>'


def _safe(html: str) -> SafeString:
    """Everything from outside was escaped where it was put in."""
    return mark_safe(html)
