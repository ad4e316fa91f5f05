"""For how long a page was kept waiting for a processor that others had: what makes its times nobody's. Pure.

A browser that works on several threads waits for processors also where it has a machine to itself; that belongs to the
machine as its speed does. Of what its threads waited, others are charged with their share of what was used meanwhile.
"""

from collections.abc import Sequence
from itertools import pairwise

from workers.measurement.captures_sight import ProcessorTime, ThreadSample


def contention_us(samples: Sequence[ThreadSample], zero_s: float, until_us: int | None) -> int | None:
    """Microseconds from a run's beginning, at `zero_s` of the monotonic clock, to `until_us` after it, or as long as
    was looked. Of threads that wait at the same time the longest counts, since nobody knows which of them the page
    waits for: too much for one that waits for its server meanwhile, up to a fifth too little for one that computes
    (measured, docs/pages.md). None when the machine does not tell.
    """
    total_us, told = 0.0, False
    for before, after in pairwise(samples):
        if before.processors is None or after.processors is None or not after.processors.waited_s:
            continue
        told = True
        begin_us, end_us = ((sample.monotonic_s - zero_s) * 1e6 for sample in (before, after))
        within_us = (end_us if until_us is None else min(end_us, until_us)) - max(begin_us, 0)
        if within_us > 0:
            total_us += within_us * _kept_waiting(before.processors, after.processors, (end_us - begin_us) / 1e6)
    return round(total_us) if told else None


def _kept_waiting(before: ProcessorTime, after: ProcessorTime, seconds: float) -> float:
    """In which share of the time, from 0 to 1, others had the processor that a thread of ours could have used."""
    ours_s = max(0.0, after.ours_s - before.ours_s)
    machine_s = max(0.0, after.machine_s - before.machine_s)
    stolen_s = max(0.0, after.stolen_s - before.stolen_s)
    waits_s = (now_s - before.waited_s.get(thread, 0.0) for thread, now_s in after.waited_s.items())
    waited_s = max(0.0, *waits_s)
    # Where a whole processor was free, something else kept it from that: a quota of its container, say.
    was_full = after.idle_s - before.idle_s < seconds
    by_others_s = waited_s * _share(machine_s - ours_s, machine_s) if was_full else 0.0
    # A thread does not know that its processor was stolen: it seems to run on. Threads lose it side by side.
    by_host_s = stolen_s * _share(ours_s, machine_s - stolen_s) / max(1.0, ours_s / seconds)
    return min(1.0, (by_others_s + by_host_s) / seconds)


def _share(part_s: float, whole_s: float) -> float:
    """From 0 to 1: times of processors come in ticks, and a part may seem more than its whole."""
    return min(1.0, max(0.0, part_s / whole_s)) if whole_s > 0 else 0.0
