"""The phases of one exchange as HAR 1.2 has them, and as WebPageTest adds them. Pure.

HAR lays durations end to end from `startedDateTime`, where real phases have gaps between them (har-spec issue 4). So an
entry begins with the earliest of what was done for it, gaps are part of `blocked`, and the true places stand beside
them in WebPageTest's names: milliseconds from the page's start, only those that are known.
"""

from typing import Any

from workers.measurement.timing import PHASES, Span, Timing

UNKNOWN = -1
_PLACED = (("dns", "dns"), ("connect", "connect"), ("ssl", "tls"), ("send", "send"), ("download", "download"))


def earliest_us(timing: Timing) -> int:
    """When the first thing was done for an exchange: a connection may be begun before the page asks."""
    return min([timing.start_us, *(span.start_us for span in _spans(timing).values())])


def timings_of(timing: Timing) -> dict[str, float]:
    """The phases in milliseconds, `ssl` inside `connect`, -1 for what did not happen.

    `send`, `wait` and `receive` are never -1: HAR does not allow it.
    """
    took_us = {phase: span.duration_us for phase, span in _spans(timing).items()}
    connect_us = None if took_us.keys().isdisjoint(("connect", "tls")) else _sum(took_us, "connect", "tls")
    idle_us = timing.last_us - earliest_us(timing) - sum(took_us.values())
    return {
        "blocked": ms(max(0, idle_us)),
        "dns": ms_or_unknown(took_us.get("dns")),
        "connect": ms_or_unknown(connect_us),
        "ssl": ms_or_unknown(took_us.get("tls")),
        "send": ms(took_us.get("send", 0)),
        "wait": ms(took_us.get("wait", 0)),
        "receive": ms(took_us.get("download", 0)),
    }


def places_of(timing: Timing) -> dict[str, float]:
    """Where the phases truly stand. `_load` begins when the request is sent, `_ttfb` ends with the first byte."""
    placed: dict[str, float] = {"_created": ms(timing.start_us), "_all_start": ms(earliest_us(timing))}
    for name, phase in _PLACED:
        span: Span | None = getattr(timing, phase)
        if span is not None:
            placed |= {f"_{name}_start": ms(span.start_us), f"_{name}_end": ms(span.end_us)}
    sent = timing.send or timing.wait
    if sent is not None:
        placed["_load_start"] = ms(sent.start_us)
    if sent is not None and timing.wait is not None:
        placed |= {"_ttfb_start": ms(sent.start_us), "_ttfb_end": ms(timing.wait.end_us)}
        placed["_wait_start"] = ms(timing.wait.start_us)
    if timing.end_us is not None:
        placed |= {"_load_end": ms(timing.end_us), "_all_end": ms(timing.last_us)}
    return placed


def ms(us: int) -> float:
    return round(us / 1000, 3)


def ms_or_unknown(us: int | None) -> float:
    return UNKNOWN if us is None else ms(us)


def ms_or_none(us: int | None) -> float | None:
    return None if us is None else ms(us)


def _spans(timing: Timing) -> dict[str, Span]:
    found: dict[str, Any] = {phase: getattr(timing, phase) for phase in PHASES}
    return {phase: span for phase, span in found.items() if span is not None}


def _sum(took_us: dict[str, int], *phases: str) -> int:
    return sum(took_us.get(phase, 0) for phase in phases)
