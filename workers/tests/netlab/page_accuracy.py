"""How far a page's phases are from the truth: the packets at the browser's end of the network, by the kernel's stamps.

The browser's clock is the monotonic one, the kernel's stamps are wall clock: the difference of the two is asked for
beside each load. A phase's ends are looked for among the packets of their own kind; the server pauses before each
answer, so that nothing else of that kind is near.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.page import compute_page
from workers.measurement.page_options import Protocol
from workers.measurement.timing import Span, Timing
from workers.measurement.waterfall import Request
from workers.shaping.packets import ACK, SYN, TCP, UDP
from workers.tests.netlab.accuracy import nearest_rank
from workers.tests.netlab.capture import Seen
from workers.tests.shapes.browsing import ShapeLab
from workers.tests.shapes.site import Reply, Shape, moved, page, script

# An address, packed, and a port.
End = tuple[bytes, int]
RTT_MS = 40.0
PHASES = ("dns", "connect", "tls", "wait")
_PAUSE_MS = 60
_NAMES, _SECURE = 53, 443
# Packets that leave one after the other are one word of a speaker; the answer is a pause away from all others.
_BREATH_NS = 5_000_000
# A round trip from one packet to the next of its kind: within half of it there is no other.
_NEAR_NS = 18_000_000
# The log counts whole milliseconds, so that a phase may seem to lack one at each end.
GRAIN_US = 2000


def _document(body: str = "") -> Reply:
    return Reply(body=page(f"<p>text{body}"), after_ms=_PAUSE_MS)


def _late(after_ms: int = _PAUSE_MS) -> Reply:
    return script(after_ms=after_ms)


def _one_host(host: str, protocol: Protocol | None = None) -> Shape:
    replies = {f"https://{host}/": _document("<script src=a.js></script>"), f"https://{host}/a.js": _late()}
    return Shape(url=f"https://{host}/", replies=replies, rows="", connections="", protocol=protocol)


def _of(url: str, replies: dict[str, Reply], *, full: bool = False) -> Shape:
    return Shape(url=url, replies=replies, rows="", connections="", full=full)


SITES = {
    "h1": _one_host("one.test"),
    "h2": _one_host("two.test"),
    "h3": _one_host("three.test", Protocol.H3),
    "resumed": _of(
        "https://also.test/",
        {
            "https://also.test/": _document("<script async src=a.js></script><script async src=b.js></script>"),
            "https://also.test/a.js": _late(200),
            "https://also.test/b.js": _late(),
        },
    ),
    "redirect": _of(
        "https://one.test/",
        {"https://one.test/": moved("https://two.test/", after_ms=_PAUSE_MS), "https://two.test/": _document()},
    ),
    "CDN host": _of(
        "https://two.test/",
        {
            "https://two.test/": _document("<script src=https://cdn.test/a.js></script>"),
            "https://cdn.test/a.js": _late(),
        },
    ),
    "preconnect": _of(
        "https://two.test/",
        {
            "https://two.test/": _document(
                "<link rel=preconnect href=https://cdn.test>"
                "<script>setTimeout(() => { const s = document.createElement('script');"
                "s.src = 'https://cdn.test/a.js'; document.body.append(s) }, 400)</script><script src=slow.js></script>"
            ),
            "https://two.test/slow.js": _late(700),
            "https://cdn.test/a.js": _late(),
        },
        full=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """One phase of one row: what we say it took and what the packets took, in us. None where they do not tell."""

    site: str
    row: int
    phase: str
    ours_us: int
    truth_us: int | None

    @property
    def error_us(self) -> int | None:
        return None if self.truth_us is None else abs(self.ours_us - self.truth_us)

    @property
    def met(self) -> bool:
        """Within 2 ms or 2 %."""
        return self.error_us is not None and self.error_us <= max(2000, self.ours_us * 0.02)


def measure(lab: ShapeLab, name: str, loads: int) -> list[Error]:
    """Loads a site several times; every phase of every row that has one."""
    with lab.serving(SITES[name]):
        return [error for _ in range(loads) for error in load(lab, name)]


def load(lab: ShapeLab, name: str) -> list[Error]:
    """Loads a site that is being served; every phase of every row that has one."""
    # A processor that goes elsewhere between the two looks makes the difference smaller.
    offset_ns = max(time.time_ns() - time.monotonic_ns() for _ in range(5))
    with lab.lab.capture() as tap:
        capture = lab.visit(SITES[name])
        packets = tap.packets()
    return _errors(name, capture, Packets(packets, offset_ns))


class Packets:
    """Words on the wire by kind; `offset_ns` is wall clock minus monotonic clock."""

    def __init__(self, packets: Sequence[Seen], offset_ns: int) -> None:
        self._offset_ns = offset_ns
        flows: dict[tuple[int, End, End], list[Seen]] = {}
        for seen in packets:
            ours, theirs = seen.packet.source, seen.packet.destination
            if not seen.sent:
                ours, theirs = theirs, ours
            flows.setdefault((seen.packet.protocol, theirs, ours), []).append(seen)
        names = [flow for (protocol, end, _), flow in flows.items() if protocol == UDP and end[1] == _NAMES]
        quic = [flow for (protocol, end, _), flow in flows.items() if protocol == UDP and end[1] == _SECURE]
        tcp = [flow for (protocol, _, _), flow in flows.items() if protocol == TCP]
        data = [[seen for seen in flow if seen.packet.payload_bytes] for flow in [*tcp, *quic]]
        self._handshakes = [pair for flow in tcp if (pair := _handshake(flow)) is not None]
        self._points = {
            "dns asked": [flow[0].at_ns for flow in names],
            "dns answered": [flow[-1].at_ns for flow in names if not flow[-1].sent],
            "hello": [flow[0].at_ns for flow in data if flow],
            "says": [seen.at_ns for flow in data for seen in flow if seen.sent],
            "said": [word[-1].at_ns for flow in data for word in _words(flow, sent=True)],
            "heard": [word[0].at_ns for flow in data for word in _words(flow, sent=False)],
        }

    def length_us(self, phase: str, span: Span, zero_us: int) -> int | None:
        """What the packets next to both ends of a phase say of its length; None where they do not tell."""
        if phase == "connect":
            return self._connect_us(span, zero_us)
        if phase == "dns":
            return self._dns_us(span, zero_us)
        begin, end = _ENDS[phase]
        first = self._near(self._points[begin], zero_us + span.start_us)
        last = self._near(self._points[end], zero_us + span.end_us)
        return None if first is None or last is None else (last - first) // 1000

    def _dns_us(self, span: Span, zero_us: int) -> int | None:
        """Of a lookup that was under way already, such as one for a preconnect, a request waits for the rest, which no
        packet begins. And to a service record (HTTPS) a browser gives a fifth of the addresses' time more, and goes on:
        an answer behind the end of a lookup ended it only where there is none before."""
        asked, answered = self._points["dns asked"], self._points["dns answered"]
        begun_ns = self._wall_ns(zero_us + span.start_us - GRAIN_US)
        ended_ns = self._wall_ns(zero_us + span.end_us + GRAIN_US // 2)
        first = self._near(asked, zero_us + span.start_us)
        in_time = [stamp for stamp in answered if stamp <= ended_ns]
        last = self._near(in_time, zero_us + span.end_us) or self._near(answered, zero_us + span.end_us)
        return None if first is None or last is None or first < begun_ns else (last - first) // 1000

    def _connect_us(self, span: Span, zero_us: int) -> int | None:
        """Of one connection: a browser opens two at nearly the same time, one of them ahead of need."""
        ends_ns = [self._wall_ns(zero_us + end) for end in (span.start_us, span.end_us)]
        off_ns = {
            pair: max(abs(stamp - end) for stamp, end in zip(pair, ends_ns, strict=True)) for pair in self._handshakes
        }
        nearest = min(off_ns, key=off_ns.__getitem__, default=None)
        if nearest is None or off_ns[nearest] > _NEAR_NS:
            return None
        return (nearest[1] - nearest[0]) // 1000

    def _near(self, stamps: Sequence[int], monotonic_us: int) -> int | None:
        at_ns = self._wall_ns(monotonic_us)
        nearest = min(stamps, key=lambda stamp: abs(stamp - at_ns), default=None)
        return nearest if nearest is not None and abs(nearest - at_ns) <= _NEAR_NS else None

    def _wall_ns(self, monotonic_us: int) -> int:
        return monotonic_us * 1000 + self._offset_ns


_ENDS = {
    # The browser is done with a handshake when it has said its last word of it.
    "tls": ("hello", "says"),
    "wait": ("said", "heard"),
}


def _handshake(flow: Sequence[Seen]) -> tuple[int, int] | None:
    """When a connection's SYN went, and when its answer came."""
    asked, answered = (
        next((seen.at_ns for seen in flow if seen.packet.flags & (SYN | ACK) == flags), None)
        for flags in (SYN, SYN | ACK)
    )
    return None if asked is None or answered is None else (asked, answered)


def _words(flow: Sequence[Seen], *, sent: bool) -> list[list[Seen]]:
    """What one side said, without a pause in between."""
    ours = [seen for seen in flow if seen.sent is sent]
    words = [ours[:1]] if ours else []
    for before, seen in pairwise(ours):
        if seen.at_ns - before.at_ns > _BREATH_NS:
            words.append([])
        words[-1].append(seen)
    return words


def _errors(name: str, capture: PageCapture, packets: Packets) -> list[Error]:
    asked = (event for event in capture.events if event.method == "Network.requestWillBeSent")
    zero_us = round(next(asked).params["timestamp"] * 1e6)
    rows = compute_page(capture).measurement.waterfall.requests
    return [
        Error(
            site=name,
            row=row.number,
            phase=phase,
            ours_us=span.duration_us,
            truth_us=packets.length_us(phase, span, zero_us),
        )
        for row in rows
        for phase, span in _spans(row)
    ]


def _spans(row: Request) -> Iterable[tuple[str, Span]]:
    timing: Timing = row.timing
    named = ((phase, getattr(timing, phase)) for phase in PHASES)
    return [(phase, span) for phase, span in named if span is not None]


def worst_us(errors: Sequence[Error], share: float) -> int:
    """The error that so large a share of those that could be told keep to."""
    known = sorted(error.error_us for error in errors if error.error_us is not None)
    return nearest_rank(known, share)
