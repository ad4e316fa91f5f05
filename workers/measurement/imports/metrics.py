"""The figures of a page, whoever wrote them and where: WebPageTest, browsertime, DevTools, ourselves."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from workers.measurement.compute.devtools.vitals import MAX_NAME_CHARS, MAX_TOLD
from workers.measurement.compute.texts import plain, short_url
from workers.measurement.imports.fields import Fields, count_or_none, list_of, text_or_none, us_or_none
from workers.measurement.timing import Span
from workers.measurement.vitals import TimingKind, UserTiming, Vitals

_MAX_TASKS, _MAX_TIMINGS = 2000, 1000
# Nobody watches a load for longer: what ends behind that is no timing of it.
_LONGEST_US = 600_000_000
_MAX_ELEMENT_CHARS = 200
_MAX_CLS = 1_000.0
_CHROME = "chromeUserTiming."
_VITALS = "googleWebVitals."
_VISUAL = "visualMetrics."

# The better name first: WebPageTest's own figures are those of the last document only in `chromeUserTiming`.
_NAMES: dict[str, tuple[str, ...]] = {
    "fcp_us": ("firstContentfulPaint", f"{_VITALS}firstContentfulPaint"),
    "lcp_us": (
        "LargestContentfulPaint",
        "largestContentfulPaint",
        f"{_CHROME}LargestContentfulPaint",
        f"{_VITALS}largestContentfulPaint",
    ),
    "dom_content_loaded_us": (f"{_CHROME}domContentLoadedEventStart", "domContentLoadedEventStart"),
    "dom_interactive_us": (f"{_CHROME}domInteractive", "domInteractive", "domInteractiveTime"),
    "load_us": ("loadTime", "docTime"),
    "fully_loaded_us": ("fullyLoaded",),
    "start_render_us": ("render", "startRender", f"{_VISUAL}FirstVisualChange"),
    "speed_index_us": ("SpeedIndex", f"{_VISUAL}SpeedIndex"),
    "visually_complete_us": ("visualComplete", f"{_VISUAL}LastVisualChange"),
}
_TBT = ("TotalBlockingTime", "totalBlockingTime", f"{_VITALS}totalBlockingTime")
_CLS = (
    "CumulativeLayoutShift",
    "cumulativeLayoutShift",
    f"{_CHROME}CumulativeLayoutShift",
    f"{_VITALS}cumulativeLayoutShift",
)
_GROUPS = ("googleWebVitals", "visualMetrics")


def vitals_in(sources: Sequence[Fields], prefix: str, *, shift_us: int = 0) -> Vitals:
    """What any of the sources says under one of its names with this prefix, from the page's start or `shift_us` after.

    A zero is no instant: these tools write it for what they have not seen.
    """
    spread = [_spread(source, prefix) for source in sources]
    instants: dict[str, Any] = {field: _first_us(spread, names, shift_us) for field, names in _NAMES.items()}
    page_timings = {"dom_content_loaded_us": ("onContentLoad",), "load_us": ("onLoad",)}
    for field, names in page_timings.items():
        instants[field] = _first_us(sources, names, shift_us) or instants[field]
    lcp_url = next((url for source in spread if (url := text_or_none(source, "lcpUrl", 4096))), None)
    return Vitals(
        **instants,
        tbt_us=next((us for source in spread for name in _TBT if (us := us_or_none(source, name)) is not None), None),
        cls=_score(spread),
        long_tasks=_tasks(spread, shift_us),
        user_timings=_user_timings(spread, shift_us),
        lcp_element=next(
            (text for one in spread if (text := text_or_none(one, "lcpElement", _MAX_ELEMENT_CHARS))), None
        ),
        lcp_url=None if lcp_url is None else short_url(lcp_url),
    )


def _spread(source: Fields, prefix: str) -> dict[str, Any]:
    """The fields without their prefix, and those of browsertime's groups beside them, named as WebPageTest would."""
    plain = {name.removeprefix(prefix): value for name, value in source.items() if name.startswith(prefix)}
    for group in _GROUPS:
        inner = plain.get(group)
        if isinstance(inner, dict):
            plain |= {f"{group}.{name}": value for name, value in inner.items()}
    return plain


def _first_us(sources: Sequence[Fields], names: Sequence[str], shift_us: int) -> int | None:
    for source in sources:
        for name in names:
            us = us_or_none(source, name)
            if us and us >= shift_us:
                return us - shift_us
    return None


def _score(sources: Sequence[Fields]) -> float | None:
    for source in sources:
        for name in _CLS:
            value = source.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MAX_CLS:
                return round(float(value), 6)
    return None


def _tasks(sources: Sequence[Fields], shift_us: int) -> tuple[Span, ...] | None:
    """None when the file has no such list; an empty one says that there were none."""
    listed = next((source for source in sources if isinstance(source.get("longTasks"), list)), None)
    if listed is None:
        return None
    spans = []
    for task in list_of(listed, "longTasks")[:_MAX_TASKS]:
        pair = dict(zip(("start", "end"), task, strict=False)) if isinstance(task, list) else {}
        start_us, end_us = us_or_none(pair, "start"), us_or_none(pair, "end")
        if start_us is not None and end_us is not None and end_us >= start_us >= shift_us:
            spans.append(Span(start_us=start_us - shift_us, end_us=end_us - shift_us))
    return tuple(spans)


def _user_timings(sources: Sequence[Fields], shift_us: int) -> tuple[UserTiming, ...] | None:
    """WebPageTest's instants by their names, and its list of measures; None where a file has neither."""
    for source in sources:
        times, measures = source.get("userTimes"), list_of(source, "userTimingMeasures")
        if isinstance(times, dict) or measures:
            found = [*_instants(times if isinstance(times, dict) else {}), *_measures(measures)]
            shifted = [replace(one, at_us=one.at_us - shift_us) for one in found if one.at_us >= shift_us]
            told = (one for one in shifted if one.at_us + (one.duration_us or 0) <= _LONGEST_US)
            return tuple(sorted(told, key=lambda one: one.at_us)[:MAX_TOLD])
    return None


def _instants(times: Fields) -> Iterator[UserTiming]:
    for name in islice(times, _MAX_TIMINGS):
        at_us, shown = us_or_none(times, name), plain(name, MAX_NAME_CHARS)
        if at_us is not None and shown:
            yield UserTiming(kind=TimingKind.MARK, name=shown, at_us=at_us)


def _measures(listed: Sequence[Any]) -> Iterator[UserTiming]:
    for one in listed[:_MAX_TIMINGS]:
        measure = one if isinstance(one, dict) else {}
        name, at_us = text_or_none(measure, "name", MAX_NAME_CHARS), us_or_none(measure, "startTime")
        duration_us = us_or_none(measure, "duration")
        if name and at_us is not None and duration_us is not None:
            yield UserTiming(kind=TimingKind.MEASURE, name=name, at_us=at_us, duration_us=duration_us)


def numbered(source: Fields, name: str) -> int | None:
    """Which one of a series this is, from 1."""
    number = count_or_none(source, name)
    return number if number and number < 1000 else None
