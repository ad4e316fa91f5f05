"""The spans of one row, from the network log where it has them and from DevTools where it has not.

The log counts whole milliseconds, DevTools microseconds. Where both saw the same instant (they agree to the
millisecond) DevTools' fraction is taken; where they differ, the log is right and keeps its resolution. It leaves
fractions out: beside an instant with a fraction, one of the log's is put in the middle of its millisecond, so that a
stretch between the two is neither too long nor too short on average.
"""

from collections.abc import Mapping
from typing import Any

from workers.measurement.compute.devtools.exchange import Exchange, monotonic_us
from workers.measurement.compute.netlog.nouns import TICK_MS, NetHop
from workers.measurement.compute.numbers import clock_of
from workers.measurement.timing import Span

Marks = Mapping[str, int]
_HALF_A_TICK_US = TICK_MS * 1000 // 2
# A head is read at once, but for a very large one.
_ONE_HEAD_US = 10_000

_NAMES = (
    "dnsStart",
    "dnsEnd",
    "connectStart",
    "connectEnd",
    "sslStart",
    "sslEnd",
    "sendStart",
    "sendEnd",
    "receiveHeadersStart",
    "receiveHeadersEnd",
)


def marks_of(timing: Mapping[str, Any] | None) -> dict[str, int]:
    """DevTools' instants in microseconds of the monotonic clock; those that it gives as -1 (unknown) are left out."""
    base_us = None if timing is None else monotonic_us(timing.get("requestTime"))
    if timing is None or base_us is None:
        return {}
    values = {name: clock_of(timing.get(name)) for name in _NAMES}
    return {name: base_us + round(value * 1000) for name, value in values.items() if value is not None and value >= 0}


def refine(log_ms: int, devtools_us: int | None) -> int:
    """An instant of the log in microseconds, with DevTools' fraction when both mean the same instant."""
    told_us = _fraction(log_ms, devtools_us)
    return log_ms * 1000 if told_us is None else told_us


def _fraction(log_ms: int, devtools_us: int | None) -> int | None:
    agree = devtools_us is not None and abs(devtools_us // 1000 - log_ms) <= 1
    return devtools_us if agree else None


def span_between(pair: tuple[int, int] | None, marks: Marks, start: str, end: str) -> Span | None:
    """A stretch of the log, refined by two of DevTools' marks.

    Mixed resolutions must not make it end before it starts.
    """
    if pair is None:
        return None
    told = _fraction(pair[0], marks.get(start)), _fraction(pair[1], marks.get(end))
    rest_us = 0 if told == (None, None) else _HALF_A_TICK_US
    start_us, end_us = (ms * 1000 + rest_us if us is None else us for ms, us in zip(pair, told, strict=True))
    if end_us >= start_us:
        return Span(start_us=start_us, end_us=end_us)
    return Span(start_us=pair[0] * 1000, end_us=pair[1] * 1000)


def shift(span: Span | None, zero_us: int) -> Span | None:
    """The same span counted from `zero_us`."""
    return None if span is None else Span(start_us=span.start_us - zero_us, end_us=span.end_us - zero_us)


def exchange_spans(
    exchange: Exchange, hop: NetHop, first_ms: int | None
) -> tuple[Span | None, Span | None, Span | None]:
    """Send, wait and download of a request that went over the network; by the log its answer began at `first_ms`."""
    marks = marks_of(exchange.timing)
    send = span_between(hop.send.whole, marks, "sendStart", "sendEnd")
    if send is None or first_ms is None:
        return send, None, None
    if hop.hints_ms is not None:
        # An early hint (103) comes before the answer, and is none: DevTools tells when the first of them came.
        marks.pop("receiveHeadersStart", None)
    first_us = _first_byte(first_ms, marks, send.end_us)
    wait = Span(start_us=send.end_us, end_us=first_us)
    return send, wait, _download(exchange, hop, first_us)


def _first_byte(first_ms: int, marks: Marks, sent_us: int) -> int:
    """The log may tell when the head was complete; DevTools when its first byte came, which is the same packet or an
    earlier one. A busy Chrome comes to it later than to its socket.
    """
    seen_us = marks.get("receiveHeadersStart")
    if seen_us is not None and sent_us <= seen_us and seen_us // 1000 <= first_ms + 1:
        return seen_us
    return max(first_ms * 1000, sent_us)


def _download(exchange: Exchange, hop: NetHop, first_us: int) -> Span | None:
    # The log's end is the last read so far: of what is still open nobody knows how long it will be.
    is_open = exchange.ended_us is None and not hop.over
    if exchange.net_error is not None or is_open or hop.is_socket:
        return None
    ended_ms = hop.ended_ms
    # A redirect's body is not read; DevTools ends the hop with the next one's start, which is not the network's doing.
    precise_us = None if exchange.redirected_to is not None else exchange.ended_us
    end_us = refine(ended_ms, precise_us) if ended_ms is not None else precise_us
    return None if end_us is None else Span(start_us=first_us, end_us=max(end_us, first_us))


def devtools_spans(marks: Marks, *, is_quic: bool) -> dict[str, Span]:
    """The phases as DevTools tells them, for a Chrome whose network log we cannot read.

    `connect` there contains `tls`; of QUIC, whose handshake is one, it is the same. Through a proxy no lookup is told,
    and `connect` contains that and all else on the way to the site: then nobody knows how long TCP took. The end of
    sending is noted when Chrome comes to it, at times after the first byte: then nobody knows it, and `wait` lasts
    since it began. The first byte may be that of an early answer (103), of which DevTools tells for few requests: where
    the head's end comes much later nobody knows whose it was, nor how long the wait.
    """
    tls = _marked(marks, "sslStart", "sslEnd")
    # What was begun with TLS ends there, also where only a part of that is told.
    connected = "connectEnd" if marks.keys().isdisjoint(("sslStart", "sslEnd")) else "sslStart"
    # Older Chromes tell only the head's end, which is in the same packet as its beginning, or in one soon after.
    head = "receiveHeadersStart" if "receiveHeadersStart" in marks else "receiveHeadersEnd"
    is_late = marks.get("sendStart", 0) <= marks.get(head, -1) < marks.get("sendEnd", 0)
    is_split = marks.get("receiveHeadersEnd", 0) - marks.get(head, 0) > _ONE_HEAD_US
    named = {
        "dns": _marked(marks, "dnsStart", "dnsEnd"),
        "connect": None if is_quic or "dnsStart" not in marks else _marked(marks, "connectStart", connected),
        "tls": tls,
        "send": None if is_late else _marked(marks, "sendStart", "sendEnd"),
        "wait": None if is_split else _marked(marks, "sendStart" if is_late else "sendEnd", head),
    }
    return {name: span for name, span in named.items() if span is not None}


def _marked(marks: Marks, start: str, end: str) -> Span | None:
    if start not in marks or end not in marks or marks[end] < marks[start]:
        return None
    return Span(start_us=marks[start], end_us=marks[end])
