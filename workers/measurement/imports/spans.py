"""The phases of one request as a file tells them: at their true places, or as durations laid end to end."""

from dataclasses import dataclass, replace

from workers.measurement.imports.fields import Fields, UnreadableError, duration, milliseconds
from workers.measurement.timing import Span, Timing

# Tools round the parts of a sum one by one.
_ROUNDING_MS = 1.0
# Nothing waits for so much longer than the page took to ask for it.
_MOST_QUEUED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What decides how times are understood. `begin_us` is the entry's own start on the page's clock.

    `ssl_apart` says that the file counts TLS beside `connect` instead of inside it, as HAR asks; `sends_queue` that it
    has the queue in `blocked` and in `send` where there is nothing between them.
    """

    begin_us: int
    protocol: str | None = None
    is_secure: bool = True
    ssl_apart: bool = False
    sends_queue: bool = False


def placed(fields: Fields, prefix: str, exchange: Exchange) -> Timing | None:
    """From WebPageTest's absolute milliseconds; None where there are none. Raises UnreadableError."""
    created, load, everything = (milliseconds(fields, prefix + name) for name in ("created", "load_start", "all_start"))
    if load is None and everything is None:
        return None
    dns, tls, send = (_span(fields, f"{prefix}{name}") for name in ("dns", "ssl", "send"))
    connect = _before(_span(fields, f"{prefix}connect"), tls)
    # Older files do not say when it was asked for: then it begins with its first phase.
    begins = [span.start_us for span in (dns, connect, tls) if span is not None]
    begins += [_us(ms) for ms in (load, everything) if ms is not None]
    start_us, end_us = min(begins), _end_us(fields, prefix)
    if created is not None and not _is_in_seconds(created, start_us):
        start_us = _us(created)
    if end_us is not None and end_us < start_us:
        raise UnreadableError(f"{prefix}load_end lies before {prefix}created")
    timing = Timing(
        start_us=start_us,
        end_us=end_us,
        dns=dns,
        connect=connect,
        tls=tls,
        send=send,
        wait=_wait(fields, prefix, send),
        download=_span(fields, f"{prefix}download", zero=True),
    )
    return _of_quic(timing, exchange)


def _is_in_seconds(created: float, begun_us: int) -> bool:
    """WebPageTest tells so when Firefox created a request, beside milliseconds of all that follows."""
    return not created.is_integer() and _us(created) * _MOST_QUEUED < begun_us


def laid(timings: Fields, exchange: Exchange) -> Timing:
    """From HAR's durations, one after the other from the entry's start. Raises UnreadableError."""
    took = {name: duration(timings, name, "timings.") for name in _NAMES}
    if exchange.sends_queue and took["send"] == took["blocked"]:
        took["send"] = None
    queued = duration(timings, "_queued", "timings.") or 0
    cursor_us = exchange.begin_us + _us(took["blocked"] or 0)
    spans: dict[str, Span] = {}
    for phase, ms in _opening(took, exchange).items():
        spans[phase] = Span(start_us=cursor_us, end_us=cursor_us + _us(ms))
        cursor_us = spans[phase].end_us
    if any(took[name] for name in ("send", "wait", "receive")):
        for phase, name in (("send", "send"), ("wait", "wait"), ("download", "receive")):
            length = took[name]
            # Nobody sends in no time: where it says 0 it was not measured. Nor does anybody know when an answer began
            # to come where the wait for it is not known, as Playwright's of workers.
            if length is None or (phase == "send" and length == 0) or (phase == "download" and took["wait"] is None):
                continue
            spans[phase] = Span(start_us=cursor_us, end_us=cursor_us + _us(length))
            cursor_us = spans[phase].end_us
    finished = took["receive"] is not None and took["wait"] is not None
    # What stood in chrome-har's queue did so before the entry's start.
    start_us = exchange.begin_us - _us(queued)
    return _of_quic(Timing(start_us=start_us, end_us=cursor_us if finished else None, **spans), exchange)


_NAMES = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


def _opening(took: dict[str, float | None], exchange: Exchange) -> dict[str, float]:
    """What it took to have a connection. Of these, 0 is some tools' word for what did not happen."""
    connect, ssl = took["connect"] or 0, (took["ssl"] or 0) if exchange.is_secure else 0
    if connect and ssl and not exchange.ssl_apart and ssl <= connect + _ROUNDING_MS:
        connect = max(0.0, connect - ssl)
    parts = {"dns": took["dns"] or 0, "connect": connect, "tls": ssl}
    return {phase: ms for phase, ms in parts.items() if ms > 0}


def _of_quic(timing: Timing, exchange: Exchange) -> Timing:
    """QUIC has one handshake, which is TLS'."""
    if exchange.protocol != "h3" or timing.connect is None:
        return timing
    end_us = max(timing.connect.end_us, timing.tls.end_us if timing.tls else 0)
    return replace(timing, connect=None, tls=Span(start_us=timing.connect.start_us, end_us=end_us))


def _before(connect: Span | None, tls: Span | None) -> Span | None:
    """What of it came before TLS. Who waited only for that has no more of it."""
    if connect is None or tls is None or connect.end_us <= tls.start_us or tls.end_us <= connect.start_us:
        return connect
    return replace(connect, end_us=tls.start_us) if connect.start_us < tls.start_us else None


def _span(fields: Fields, name: str, *, zero: bool = False) -> Span | None:
    """Between `_start` and `_end`. Both 0 is WebPageTest's other word for "none", but not of a download."""
    start, end = milliseconds(fields, f"{name}_start"), milliseconds(fields, f"{name}_end")
    if start is None or end is None or end < start or (start == end == 0 and not zero):
        return None
    return Span(start_us=_us(start), end_us=_us(end))


def _wait(fields: Fields, prefix: str, send: Span | None) -> Span | None:
    """Up to the first byte; older files say how long it took."""
    begin = milliseconds(fields, f"{prefix}wait_start")
    if begin is None:
        begin = milliseconds(fields, f"{prefix}ttfb_start")
    if begin is None:
        begin = milliseconds(fields, f"{prefix}load_start")
    end, took = milliseconds(fields, f"{prefix}ttfb_end"), duration(fields, f"{prefix}ttfb_ms")
    if end is None and begin is not None and took is not None:
        end = begin + took
    if begin is None or end is None or end < begin:
        return None
    start_us = _us(begin) if send is None else min(max(_us(begin), send.end_us), _us(end))
    return Span(start_us=start_us, end_us=_us(end))


def _end_us(fields: Fields, prefix: str) -> int | None:
    end, took = milliseconds(fields, f"{prefix}load_end"), duration(fields, f"{prefix}load_ms")
    begin = milliseconds(fields, f"{prefix}load_start")
    if end is None and begin is not None and took is not None:
        end = begin + took
    if end is None:
        end = milliseconds(fields, f"{prefix}all_end")
    return None if end is None else _us(end)


def _us(ms: float) -> int:
    return round(ms * 1000)
