"""How much of a page could be seen, and when: from the colours of the frames of its film.

A frame is complete to the degree to which its colours are those of the last one. Distances are between histograms, 256
counts each of red, green and blue, so what only moves is no progress. This is how the field defines the Speed Index:
the area above the curve of completeness.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import sub

from workers.measurement.page_view import FilmFrame

COMPLETE_PPM = 1_000_000
Histogram = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A frame: when it was shown, from the start of the navigation, its colours, and which picture it is."""

    at_us: int
    histogram: Histogram
    picture: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualProgress:
    """All None when nothing on the screen ever changed: then no frame is complete at all. `pictures` are those of the
    frames, in their order.
    """

    start_render_us: int | None = None
    speed_index_us: int | None = None
    visually_complete_us: int | None = None
    frames: tuple[FilmFrame, ...] = ()
    pictures: tuple[int, ...] = ()


def visual_progress(shots: Sequence[Shot], *, max_frames: int) -> VisualProgress:
    """What the frames show, in the order of time; the last before the start is what was there before the page.

    Start render is the first frame unlike the start, visually complete the first like the last. Figures are of all
    frames; of more than `max_frames` those are kept that changed most, and the first and the last.
    """
    film = _begun(sorted(shots, key=lambda shot: shot.at_us))
    if not film:
        return VisualProgress()
    changed = [index for index, shot in enumerate(film) if shot.histogram != film[0].histogram]
    # A page may end with the colours that it began with, and was not complete before it began, if it ever did.
    begin = changed[0] if changed else len(film)
    whole = distance(film[0].histogram, film[-1].histogram)
    completeness = [0] * begin + [_complete_ppm(shot, film[-1], whole) for shot in film[begin:]]
    kept = _most_changing([shot.histogram for shot in film], max_frames)
    frames = tuple(FilmFrame(at_us=film[index].at_us, complete_ppm=completeness[index]) for index in kept)
    pictures = tuple(film[index].picture for index in kept)
    if not changed:
        return VisualProgress(frames=frames, pictures=pictures)
    return VisualProgress(
        start_render_us=film[begin].at_us,
        speed_index_us=_speed_index_us([shot.at_us for shot in film], completeness),
        visually_complete_us=film[completeness.index(COMPLETE_PPM)].at_us,
        frames=frames,
        pictures=pictures,
    )


def distance(one: Histogram, other: Histogram) -> int:
    """How many points differ in brightness, summed over red, green and blue."""
    differences: Iterable[int] = map(sub, one, other)
    return sum(map(abs, differences)) // 2


def _begun(shots: Sequence[Shot]) -> list[Shot]:
    """From the picture on the screen at the start; it counts as shown at 0."""
    later = [shot for shot in shots if shot.at_us > 0]
    before = [shot for shot in shots if shot.at_us <= 0]
    if before:
        later.insert(0, Shot(at_us=0, histogram=before[-1].histogram, picture=before[-1].picture))
    return later


def _complete_ppm(shot: Shot, last: Shot, whole: int) -> int:
    if not whole:
        return COMPLETE_PPM
    missing = min(distance(shot.histogram, last.histogram), whole)
    return COMPLETE_PPM - COMPLETE_PPM * missing // whole


def _speed_index_us(instants: Sequence[int], completeness: Sequence[int]) -> int:
    """The time weighted by what is missing: before the first frame everything is."""
    spans = zip(instants, instants[1:], completeness, strict=False)
    area = instants[0] * COMPLETE_PPM + sum(
        (end_us - begin_us) * (COMPLETE_PPM - complete) for begin_us, end_us, complete in spans
    )
    return round(area / COMPLETE_PPM)


def _most_changing(histograms: Sequence[Histogram], limit: int) -> list[int]:
    """The numbers of the frames to keep, in order."""
    if len(histograms) <= limit:
        return list(range(len(histograms)))
    inner = range(1, len(histograms) - 1)
    changes = {index: distance(histograms[index], histograms[index - 1]) for index in inner}
    chosen = sorted(inner, key=lambda index: (-changes[index], index))[: max(0, limit - 2)]
    return sorted({0, len(histograms) - 1, *chosen})
