"""The film over the waterfall: what the screen showed at equal steps of the time that is looked at.

`frontend/src/waterfall/film.ts` is the twin, for zooming without a reload; a golden file holds both to the same HTML.
"""

from bisect import bisect_right
from dataclasses import dataclass
from html import escape
from math import ceil

from backend.web.units import duration
from backend.web.waterfall.axis import Axis
from backend.web.waterfall.data import FilmData

# As many pictures as are still readable on a desk and on a phone.
FILM_SLOTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One place of the film: which picture is shown in it, until when it stands for, and whether it is another one."""

    place: int
    frame: int
    until_us: int
    changed: bool


def slots_of(film: FilmData, view: Axis) -> tuple[Slot, ...]:
    """The last change until each slot's end; a slot before the first picture is left out."""
    step_us = view.length_us / FILM_SLOTS
    slots, before = [], -1
    for place in range(FILM_SLOTS):
        until_us = view.start_us + int(step_us * (place + 1))
        frame = bisect_right(film.at_us, until_us) - 1
        if frame >= 0:
            slots.append(Slot(place=place, frame=frame, until_us=until_us, changed=frame != before and place > 0))
        before = frame
    return tuple(slots)


def film_html(film: FilmData, view: Axis) -> str:
    """The pictures, each in its slot; one unlike the one before it is marked."""
    return "".join(_picture(film, slot, view.zero_us) for slot in slots_of(film, view))


def sheet_of(film: FilmData) -> tuple[int, int]:
    """Columns and rows of the one picture that holds them all."""
    columns = min(film.columns, len(film.at_us))
    return columns, ceil(len(film.at_us) / columns)


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


def _picture(film: FilmData, slot: Slot, zero_us: int) -> str:
    percent = _percent(film.complete_ppm[slot.frame])
    text = f"At {duration(slot.until_us - zero_us)}: {percent} % of the last picture"
    x, width = slot.place * (100 / FILM_SLOTS), 100 / FILM_SLOTS
    columns, rows = sheet_of(film)
    left, top = slot.frame % columns * film.width, slot.frame // columns * film.height
    return (
        f'<svg class="wf-picture{" changed" if slot.changed else ""}" x="{x:g}%" width="{width:g}%" height="100%"'
        f' viewBox="0 0 {film.width} {film.height}" preserveAspectRatio="xMidYMid meet"><title>{escape(text)}</title>'
        f'<image href="{escape(film.url)}" x="{-left}" y="{-top}" width="{film.width * columns}"'
        f' height="{film.height * rows}"/>'
        f'<rect class="wf-picture-edge" width="{film.width}" height="{film.height}"/></svg>'
    )


def _percent(ppm: int) -> int:
    return (2 * ppm + 10_000) // 20_000
