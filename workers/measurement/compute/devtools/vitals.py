"""What a visitor saw, from our scripts' reports and the browser's own milestones.

A page may replace itself (a redirect by script, a `meta refresh`): the last document counts, and its times are
counted from the first navigation, because that is what a visitor waited for.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workers.measurement.compute.numbers import number_of
from workers.measurement.compute.texts import plain_or_none, short_url
from workers.measurement.timing import Span
from workers.measurement.vitals import LayoutShift, TimingKind, UserTiming, Vitals

T = TypeVar("T")
_MAX_ELEMENT_CHARS, MAX_NAME_CHARS = 200, 100
# A session window of layout shifts ends after a second of rest and lasts five at most (web.dev/articles/evolve-cls).
_GAP_MS, _WINDOW_MS = 1000.0, 5000.0
# What one task may take before it is felt (web.dev/articles/tbt).
_TASK_US = 50_000
# Of more the longest tasks and the largest shifts are told, in the order of time; figures are of all.
MAX_TOLD = 50


@dataclass(frozen=True, slots=True)
class Report:
    """One message of a script: the document it ran in (by its time origin, epoch milliseconds) and what it saw."""

    name: str
    origin_ms: float
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestones:
    """The browser's own instants from the run's start; `zero_wall_s` is the wall clock then. The page was listened to
    until `until_us`; `responsive` tells whether its main thread was free then to tell of its tasks.
    """

    zero_wall_s: float | None = None
    dom_content_loaded_us: int | None = None
    load_us: int | None = None
    fully_loaded_us: int | None = None
    until_us: int | None = None
    responsive: bool = True


def parse_reports(texts: Iterable[str]) -> tuple[Report, ...]:
    """The reports that can be read. A page cannot reach our scripts' world, but what they tell is the page's."""
    return tuple(report for report in map(_parse, texts) if report is not None)


def _parse(text: str) -> Report | None:
    try:
        name, origin_ms, value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    fits = isinstance(name, str) and _number(origin_ms) is not None and isinstance(value, dict)
    return Report(name, origin_ms, value) if fits else None


def vitals_of(reports: Sequence[Report], milestones: Milestones) -> Vitals:
    """Vitals of the last document that reported anything."""
    origin_ms = max((report.origin_ms for report in reports), default=0.0)
    last = [report for report in reports if report.origin_ms == origin_ms]
    offset_ms = 0.0 if milestones.zero_wall_s is None else max(0.0, origin_ms - milestones.zero_wall_s * 1000)
    lcp = next((report.value for report in reversed(last) if report.name == "lcp"), {})
    fcp = next((report.value for report in last if report.name == "fcp"), {})
    dom = next((report.value for report in last if report.name == "dom"), {})
    fcp_us = _instant_us(fcp.get("at"), offset_ms)
    tasks = _tasks([report.value for report in last if report.name == "task"], offset_ms, milestones)
    rested = milestones.responsive and milestones.fully_loaded_us is not None
    return Vitals(
        fcp_us=fcp_us,
        lcp_us=_instant_us(lcp.get("at"), offset_ms),
        lcp_element=plain_or_none(lcp.get("element"), _MAX_ELEMENT_CHARS),
        lcp_url=short_url(lcp["url"]) if plain_or_none(lcp.get("url"), 1) else None,
        cls=layout_shift_score([report.value for report in last if report.name == "cls"]),
        dom_content_loaded_us=milestones.dom_content_loaded_us,
        load_us=milestones.load_us,
        fully_loaded_us=milestones.fully_loaded_us,
        dom_interactive_us=_instant_us(dom.get("interactive"), offset_ms),
        tbt_us=blocking_time_us(tasks, fcp_us) if rested else None,
        long_tasks=None if tasks is None else _told(tasks, lambda task: task.end_us - task.start_us),
        shifts=_shifts([report.value for report in last if report.name == "cls"], offset_ms),
        user_timings=_user_timings([report.value for report in last if report.name == "timing"], offset_ms, milestones),
    )


def blocking_time_us(tasks: Sequence[Span] | None, fcp_us: int | None) -> int | None:
    """What long tasks hold beyond 50 ms each from the first contentful paint on (web.dev/articles/tbt); of a task that
    was under way then, its part behind it. None when nobody looked, or when nothing was painted.

    Of a page that came to rest it is what others count up to the time to interactive: no long task lies behind that.
    """
    if tasks is None or fcp_us is None:
        return None
    behind = (task.end_us - max(task.start_us, fcp_us) for task in tasks)
    return sum(max(0, length_us - _TASK_US) for length_us in behind)


def _tasks(reports: Sequence[Mapping[str, Any]], offset_ms: float, milestones: Milestones) -> list[Span] | None:
    """Those that began while the page was listened to.

    An observer that started reports an empty task first, so that "no long task" is not "not observed". It reports a
    task at its end: of a thread that was at one to the end nobody knows that there was none.
    """
    if not reports:
        return None
    until_us = math.inf if milestones.until_us is None else milestones.until_us
    found = []
    for report in reports:
        start_us, length_ms = _instant_us(report.get("at"), offset_ms), _number(report.get("length"))
        if start_us is not None and start_us < until_us and length_ms is not None and length_ms > 0:
            found.append(Span(start_us=start_us, end_us=start_us + round(length_ms * 1000)))
    return sorted(found, key=lambda task: task.start_us) if found or milestones.responsive else None


def _shifts(reports: Sequence[Mapping[str, Any]], offset_ms: float) -> tuple[LayoutShift, ...]:
    seen = [(_instant_us(report.get("at"), offset_ms), _shift(report)[1]) for report in reports]
    shifts = [LayoutShift(at_us=at_us, score=round(score, 6)) for at_us, score in seen if at_us is not None and score]
    return _told(sorted(shifts, key=lambda shift: shift.at_us), lambda shift: shift.score)


def _user_timings(
    reports: Sequence[Mapping[str, Any]], offset_ms: float, milestones: Milestones
) -> tuple[UserTiming, ...] | None:
    """The earliest of them, without what ends at an instant that has not come: a page may name any.

    An observer that started reports an empty one first, so that "none" is not "not seen".
    """
    if not reports:
        return None
    until_us = math.inf if milestones.until_us is None else milestones.until_us
    found: dict[tuple[TimingKind, str], UserTiming] = {}
    for timing in filter(None, (_user_timing(report, offset_ms) for report in reports)):
        if timing.at_us + (timing.duration_us or 0) <= until_us:
            found.setdefault((timing.kind, timing.name), timing)
    return tuple(sorted(found.values(), key=lambda timing: timing.at_us)[:MAX_TOLD])


def _user_timing(report: Mapping[str, Any], offset_ms: float) -> UserTiming | None:
    name, at_us = plain_or_none(report.get("name"), MAX_NAME_CHARS), _instant_us(report.get("at"), offset_ms)
    kind = next((kind for kind in TimingKind if kind == report.get("kind")), None)
    if not name or at_us is None or kind is None:
        return None
    if kind is not TimingKind.MEASURE:
        return UserTiming(kind=kind, name=name, at_us=at_us)
    length_ms = _number(report.get("length"))
    if length_ms is None or length_ms < 0:
        return None
    return UserTiming(kind=kind, name=name, at_us=at_us, duration_us=round(length_ms * 1000))


def _told(found: Sequence[T], weight: Callable[[T], float]) -> tuple[T, ...]:
    """The weightiest of them, in their own order."""
    chosen = sorted(range(len(found)), key=lambda index: -weight(found[index]))[:MAX_TOLD]
    return tuple(found[index] for index in sorted(chosen))


def layout_shift_score(shifts: Sequence[Mapping[str, Any]]) -> float | None:
    """The worst session window of layout shifts (Cumulative Layout Shift), without unit. None when nothing was
    observed.

    An observer that started reports an empty shift first, so that "no shift" (0.0) is not "not observed". No window
    begins with that.
    """
    if not shifts:
        return None
    worst = window = 0.0
    began_ms = previous_ms = -math.inf
    for at_ms, value in sorted(shift for shift in map(_shift, shifts) if shift[1]):
        if at_ms - previous_ms >= _GAP_MS or at_ms - began_ms >= _WINDOW_MS:
            began_ms, window = at_ms, 0.0
        previous_ms, window = at_ms, window + value
        worst = max(worst, window)
    return round(worst, 6)


def _shift(shift: Mapping[str, Any]) -> tuple[float, float]:
    return _number(shift.get("at")) or 0.0, max(0.0, _number(shift.get("score")) or 0.0)


def _instant_us(value: object, offset_ms: float) -> int | None:
    instant_ms = _number(value)
    return None if instant_ms is None or instant_ms < 0 else round((instant_ms + offset_ms) * 1000)


def _number(value: object) -> float | None:
    number = number_of(value)
    return None if number is None else float(number)
