"""The strips under a waterfall: what the network brought and the machine did, on the rows' own time axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.web.units import duration, size
from backend.web.waterfall.axis import Axis
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import Activity
from workers.measurement.timing import Span

STRIP_HEIGHT = 40
# A long task holds the main thread for longer than this (W3C Long Tasks), and what exceeds it blocks the visitor.
LONG_TASK_US = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One area of a strip as an SVG path in percent of the axis by STRIP_HEIGHT; `kind` chooses its colour."""

    kind: str
    path: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """`top` says how far its highest point goes; `spoken` says in words what it shows."""

    name: str
    top: str
    spoken: str
    shapes: tuple[Shape, ...]


# The main thread was watched from outside, and what counts its tasks within never came to tell.
_UNTOLD_TASKS = Strip(
    name="Long tasks", top="not known", spoken="Long tasks: not known, the page never told of any or none", shapes=()
)


def strips_of(page: PageMeasurement, axis: Axis) -> tuple[Strip, ...]:
    """What was recorded of bandwidth, processor, main thread and long tasks; a strip that was not is left out."""
    activity = page.activity
    recorded = () if activity is None or activity.step_us < 1 else _of_activity(activity, axis)
    tasks = page.vitals.long_tasks
    if tasks is not None:
        return (*recorded, _long_tasks(tasks, axis))
    return (*recorded, _UNTOLD_TASKS) if recorded else ()


def _of_activity(activity: Activity, axis: Axis) -> tuple[Strip, ...]:
    found = []
    if activity.received_bytes:
        found.append(_bandwidth(activity, axis))
    if activity.cpu_us:
        found.append(_processor(activity, axis))
    if any((activity.script_us, activity.style_us, activity.layout_us, activity.other_us)):
        found.append(_main_thread(activity, axis))
    return tuple(found)


def _bandwidth(activity: Activity, axis: Axis) -> Strip:
    peak = max(activity.received_bytes)
    rate = f"{_rate(peak, activity.step_us)} at most"
    return Strip(
        name="Bandwidth in",
        top=rate,
        spoken=f"Bandwidth in: {size(sum(activity.received_bytes))} in all, {rate}",
        shapes=(Shape(kind="received", path=_steps(activity.received_bytes, peak, activity.step_us, axis)),),
    )


def _processor(activity: Activity, axis: Axis) -> Strip:
    peak = max(activity.cpu_us)
    # One core that is always busy, or more than that where more than that was seen.
    full = max(peak, activity.step_us)
    most = f"{round(100 * peak / activity.step_us)} % of a core at most"
    return Strip(
        name="Processor",
        top=most,
        spoken=f"Processor: all processes of the browser together {duration(sum(activity.cpu_us))}, {most}",
        shapes=(Shape(kind="cpu", path=_steps(activity.cpu_us, full, activity.step_us, axis)),),
    )


def _main_thread(activity: Activity, axis: Axis) -> Strip:
    kinds = (
        ("script", "script", activity.script_us),
        ("style", "style", activity.style_us),
        ("layout", "layout and paint", activity.layout_us),
        ("other", "other", activity.other_us),
    )
    length = max(len(values) for _, _, values in kinds)
    below, shapes = [0] * length, []
    for kind, name, values in kinds:
        if sum(values):
            tops = [low + high for low, high in zip(below, _padded(values, length), strict=True)]
            path = _steps(tops, activity.step_us, activity.step_us, axis, floor=below)
            shapes.append(Shape(kind=kind, path=path, name=f"{name} {duration(sum(values))}"))
            below = tops
    named = ", ".join(shape.name for shape in shapes)
    most = f"{round(100 * max(below) / activity.step_us)} % busy at most"
    return Strip(name="Main thread", top=most, spoken=f"Main thread: {named or 'idle'}, {most}", shapes=tuple(shapes))


def _long_tasks(tasks: Sequence[Span], axis: Axis) -> Strip:
    """Free and blocked: the first 50 ms of a long task are drawn lower than what is beyond them."""
    path = "".join(_box(axis, task.start_us, min(task.start_us + LONG_TASK_US, task.end_us), 0.5) for task in tasks)
    beyond = "".join(_box(axis, task.start_us + LONG_TASK_US, task.end_us, 1.0) for task in tasks)
    longest = max((task.duration_us for task in tasks), default=0)
    count = f"{len(tasks)} long task{'' if len(tasks) == 1 else 's'}"
    told = f"{count}, the longest {duration(longest)}" if tasks else "none longer than 50 ms"
    shapes = (Shape(kind="task", path=path, name="first 50 ms"), Shape(kind="blocked", path=beyond, name="beyond"))
    return Strip(name="Long tasks", top=told, spoken=f"Long tasks: {told}", shapes=shapes if tasks else ())


def _steps(values: Sequence[int], full: int, step_us: int, axis: Axis, *, floor: Sequence[int] | None = None) -> str:
    """Stairs from left to right over the values, and back along the floor."""
    if not values or full < 1:
        return ""
    lows = [0] * len(values) if floor is None else floor
    there, back = [], []
    for index, (value, low) in enumerate(zip(values, lows, strict=True)):
        left, right = axis.x(index * step_us), axis.x((index + 1) * step_us)
        if right > left:
            there.append(f"{left:g},{_y(value, full)} {right:g},{_y(value, full)}")
            back.append(f"{right:g},{_y(low, full)} {left:g},{_y(low, full)}")
    return f"M{' '.join(there)} {' '.join(reversed(back))}Z" if there else ""


def _box(axis: Axis, start_us: int, end_us: int, share: float) -> str:
    if end_us <= start_us:
        return ""
    left, right, top = axis.x(start_us), axis.x(end_us), STRIP_HEIGHT * (1 - share)
    return f"M{left:g},{STRIP_HEIGHT} {left:g},{top:g} {right:g},{top:g} {right:g},{STRIP_HEIGHT}Z"


def _y(value: int, full: int) -> str:
    return f"{STRIP_HEIGHT * (1 - min(value / full, 1)):.4g}"


def _padded(values: Sequence[int], length: int) -> list[int]:
    return [*values, *([0] * (length - len(values)))]


def _rate(count_bytes: int, step_us: int) -> str:
    megabits = 8 * count_bytes / step_us
    return f"{megabits:.1f} Mbit/s" if megabits >= 1 else f"{1000 * megabits:.0f} kbit/s"
