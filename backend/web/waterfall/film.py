"""The film over the waterfall: what the screen showed at equal steps of the time that is looked at.

`frontend/src/waterfall/film.ts` is the twin, for zooming without a reload; a golden file holds both to the same HTML.
"""

from bisect import bisect_right
from html import escape
from math import ceil

from backend.web.units import duration
from backend.web.waterfall.axis import Axis
from backend.web.waterfall.data import FilmData

# As many pictures as are still readable on a desk and on a phone.
FILM_SLOTS = 6


def film_html(film: FilmData, view: Axis) -> str:
    """The pictures, each in its slot: the last change until the slot's end. One unlike the one before it is marked."""
    width = 100 / FILM_SLOTS
    step_us = view.length_us / FILM_SLOTS
    pictures, before = [], -1
    for slot in range(FILM_SLOTS):
        until_us = view.start_us + int(step_us * (slot + 1))
        shown = bisect_right(film.at_us, until_us) - 1
        if shown >= 0:
            changed = shown != before and slot > 0
            text = f"At {duration(until_us - view.zero_us)}: {_percent(film.complete_ppm[shown])} % of the last picture"
            pictures.append(_picture(film, shown, slot * width, text, changed=changed))
        before = shown
    return "".join(pictures)


def film_text(film: FilmData) -> str:
    """`Screen: 5 pictures; first change at 400 ms, complete at 1.01 s`."""
    count = len(film.at_us)
    parts = [f"Screen: {count} picture{'' if count == 1 else 's'}"]
    changes = [at_us for at_us, ppm in zip(film.at_us, film.complete_ppm, strict=True) if ppm > 0]
    complete = [at_us for at_us, ppm in zip(film.at_us, film.complete_ppm, strict=True) if ppm >= 1_000_000]
    if changes:
        parts.append(f"first change at {duration(changes[0])}")
    if complete:
        parts.append(f"complete at {duration(complete[0])}")
    return "; ".join(parts[:1]) + ("; " + ", ".join(parts[1:]) if parts[1:] else "")


def _picture(film: FilmData, frame: int, x: float, text: str, *, changed: bool) -> str:
    columns = min(film.columns, len(film.at_us))
    rows = ceil(len(film.at_us) / columns)
    left, top = frame % columns * film.width, frame // columns * film.height
    return (
        f'<svg class="wf-picture{" changed" if changed else ""}" x="{x:g}%" width="{100 / FILM_SLOTS:g}%" height="100%"'
        f' viewBox="0 0 {film.width} {film.height}" preserveAspectRatio="xMidYMid meet"><title>{escape(text)}</title>'
        f'<image href="{escape(film.url)}" x="{-left}" y="{-top}" width="{film.width * columns}"'
        f' height="{film.height * rows}"/>'
        f'<rect class="wf-picture-edge" width="{film.width}" height="{film.height}"/></svg>'
    )


def _percent(ppm: int) -> int:
    return (2 * ppm + 10_000) // 20_000
