"""What the main thread and the machine did, in steps: for the strips under a waterfall. Pure.

The main thread's counters are wall time between its tasks' beginnings and ends, so on a busy machine they hold the time
in which it had to wait for a processor. Script is without the style and layout that it forced, which count as their own
kinds; parsing, painting, decoding and the rest are "other". What happened between two samples is spread evenly over the
time between them, which is a tenth of a second and longer while the thread could not answer; so a step tells how much,
and not in which order. Processor time of processes comes in ticks of 10 ms. Received bytes stand where the page's
process was told of them: a main thread that is blocked hears late.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from workers.measurement.captures_sight import SightCapture, ThreadSample
from workers.measurement.page_view import Activity
from workers.measurement.vitals import CpuTime

MAX_STEPS = 120
_SHORTEST_STEP_US = 100_000
# A thread that works less than this share of a step rests.
_IDLE_SHARE = 0.05
# Names of `Performance.getMetrics`; what DevTools' own commands cost is not the page's.
TASKS, _OURS = "TaskDuration", "DevToolsCommandDuration"
_KINDS = {"script": "ScriptDuration", "style": "RecalcStyleDuration", "layout": "LayoutDuration"}
COUNTERS = frozenset({TASKS, _OURS, *_KINDS.values()})
# Amounts in microseconds between two instants from the run's beginning.
Stretch = tuple[int, int, dict[str, float]]


def activity_of(capture: SightCapture, zero_s: float, fully_loaded_us: int | None) -> Activity | None:
    """The strips from the run's beginning, at `zero_s` on the monotonic clock. None when nobody looked.

    They end with the load, or with the last work after it.
    """
    stretches = _stretches(capture.samples, zero_s)
    if not stretches:
        return None
    end_us = stretches[-1][1]
    step_us = _step_us(end_us)
    count = max(1, -(-end_us // step_us))
    received = _binned(capture.received, zero_s, step_us, count)
    rows = {name: _spread(stretches, name, step_us, count) for name in (*_KINDS, "other", "cpu")}
    loaded = count if fully_loaded_us is None else min(count, fully_loaded_us // step_us + 1)
    busy = [sum(rows[name][step] for name in (*_KINDS, "other")) > _IDLE_SHARE * step_us for step in range(count)]
    kept = max([loaded, *(step + 1 for step in range(count) if busy[step] or received[step])])
    return Activity(
        step_us=step_us,
        received_bytes=received[:kept],
        script_us=rows["script"][:kept],
        style_us=rows["style"][:kept],
        layout_us=rows["layout"][:kept],
        other_us=rows["other"][:kept],
        cpu_us=rows["cpu"][:kept] if all(sample.processors is not None for sample in capture.samples) else (),
    )


def cpu_time_of(samples: Sequence[ThreadSample], zero_s: float, end_us: int | None) -> CpuTime | None:
    """The main thread's time by kind from the beginning up to an instant, or as long as was looked."""
    stretches = _stretches(samples, zero_s)
    if not stretches:
        return None
    until_us = stretches[-1][1] if end_us is None else end_us
    totals = dict.fromkeys((*_KINDS, "other"), 0.0)
    for begin_us, finish_us, amounts in stretches:
        share = max(0.0, min(1.0, (until_us - begin_us) / (finish_us - begin_us)))
        for name in totals:
            totals[name] += amounts[name] * share
    return CpuTime(**{f"{name}_us": round(total) for name, total in totals.items()})


def _stretches(samples: Sequence[ThreadSample], zero_s: float) -> list[Stretch]:
    """What was done from each sample to the next, as far as it lies after the beginning."""
    found: list[Stretch] = []
    for before, after in pairwise(samples):
        begin_us, end_us = (round((sample.monotonic_s - zero_s) * 1e6) for sample in (before, after))
        if end_us <= max(0, begin_us):
            continue
        # What the browser did before the beginning was for nothing: the empty page it started from.
        found.append((max(0, begin_us), end_us, _amounts(before, after)))
    return found


def _amounts(before: ThreadSample, after: ThreadSample) -> dict[str, float]:
    """A page may get a new process, whose counters begin anew: they are lower than before, and all new."""
    anew = after.counters.get(TASKS, 0.0) < before.counters.get(TASKS, 0.0)
    base = {} if anew else before.counters

    def grown_us(name: str) -> float:
        return max(0.0, after.counters.get(name, 0.0) - base.get(name, 0.0)) * 1e6

    amounts = {kind: grown_us(name) for kind, name in _KINDS.items()}
    amounts["other"] = max(0.0, grown_us(TASKS) - sum(amounts.values()) - grown_us(_OURS))
    if before.processors is not None and after.processors is not None:
        amounts["cpu"] = max(0.0, after.processors.ours_s - before.processors.ours_s) * 1e6
    return amounts


def _step_us(end_us: int) -> int:
    """Whole tenths of a second, as few as fit."""
    return _SHORTEST_STEP_US * max(1, -(-end_us // (_SHORTEST_STEP_US * MAX_STEPS)))


def _spread(stretches: Sequence[Stretch], name: str, step_us: int, count: int) -> tuple[int, ...]:
    """Running totals are rounded, not their parts, so that nothing is lost."""
    steps = [0.0] * count
    for begin_us, end_us, amounts in stretches:
        first, last = int(begin_us // step_us), min(count - 1, int(end_us // step_us))
        for step in range(first, last + 1):
            overlap_us = min(end_us, (step + 1) * step_us) - max(begin_us, step * step_us)
            steps[step] += amounts.get(name, 0.0) * max(0.0, overlap_us) / (end_us - begin_us)
    return tuple(round(value) for value in steps)


def _binned(received: Mapping[int, int], zero_s: float, step_us: int, count: int) -> tuple[int, ...]:
    steps = [0] * count
    for hundredth, size in received.items():
        step = int((hundredth * 10_000 - zero_s * 1e6) // step_us)
        if step < count:
            steps[max(step, 0)] += size
    return tuple(steps)
