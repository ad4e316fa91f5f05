"""Whether a view of our own page was as cold as a first visit must be: what its server and its browser say. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from workers.measurement.captures_page import NetlogCapture
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ServedFrom

# Loopback and a page of two files; what takes longer is a machine on which no figure means anything.
_MAX_PHASE_US = 2_000_000
_REMEMBERED = "HOST_RESOLVER_MANAGER_CACHE_HIT"
# Chrome's log counts milliseconds.
_GRAIN_US = 1_000


@dataclass(slots=True)
class CanaryVisit:
    """What the page's server saw of one visit: connections, those with a taken-up TLS session, the paths asked for,
    and how many of the requests asked only whether something had changed.
    """

    connects: int = 0
    resumed: int = 0
    conditional: int = 0
    requests: list[str] = field(default_factory=list)


def remembered_names(log: NetlogCapture | None, host: str) -> int | None:
    """How often Chrome answered a lookup of `host` from memory in a log; None when the log cannot tell.

    On loopback nobody is asked for a name, so this is all that can be seen of lookups. Chrome may look for servers of
    its own meanwhile: who names another host, and not this one, is not counted.
    """
    types = {} if log is None else log.constants.get("logEventTypes")
    number = types.get(_REMEMBERED) if isinstance(types, dict) else None
    if log is None or number is None:
        return None
    # Keys are in alphabetical order, so the event's own type is the last.
    hits = [line for line in log.lines if line.rstrip(b",\r\n").endswith(b'"type":%d}' % number)]
    strangers = _strangers(log, host) if hits else set()
    return sum(_source(line) not in strangers for line in hits)


def _strangers(log: NetlogCapture, host: str) -> set[int]:
    """The sources in a log that name hosts, all of them others."""
    ours: set[int | None] = set()
    named: set[int] = set()
    for line in log.lines:
        if b'"host":' in line or b'"group_id":' in line:
            source = _source(line)
            if host.encode() in line:
                ours.add(source)
            if source is not None:
                named.add(source)
    return named - ours


def _source(line: bytes) -> int | None:
    try:
        number = json.loads(line.rstrip(b", \r\n"))["source"]["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return number if isinstance(number, int) else None


def canary_fault(visit: CanaryVisit, page: PageMeasurement, *, remembered: int | None, held_us: int) -> str | None:
    """A sentence on the first thing that was not as in a first visit, or None.

    `remembered` is what `remembered_names` says of the visit's log. The server held the document back for `held_us`,
    so the wait that the browser tells of is known.
    """
    return next(_faults(visit, page, remembered, held_us), None)


def _faults(visit: CanaryVisit, page: PageMeasurement, remembered: int | None, held_us: int) -> Iterator[str]:
    rows = [row for row in page.waterfall.requests if row.served_from is not ServedFrom.DATA]
    # Chrome may speak to servers of its own meanwhile.
    places = {urlsplit(row.url).netloc for row in rows[:1]}
    rows = [row for row in rows if urlsplit(row.url).netloc in places]
    links = [link for link in page.waterfall.connections if f"{link.host}:{link.port}" in places]
    if visit.requests != ["/", "/asset.js"]:
        yield f"its server was asked for {', '.join(visit.requests) or 'nothing'} instead of the page and its file"
    used = [link for link in links if link.requests]
    # A second one is opened where the first takes long, or ahead: cold as it is, and told of by both sides.
    if not 1 <= len(used) <= visit.connects <= len(links):
        yield f"there were {visit.connects} connections, and the browser tells of {len(links)}, instead of one"
    if visit.resumed or any(link.resumed for link in links):
        yield "a TLS session of an earlier visit was taken up"
    if visit.conditional:
        yield "something was still in the cache"
    if any(row.served_from is not ServedFrom.NETWORK for row in rows):
        yield "something came from the cache"
    if remembered is None:
        yield "the network log does not tell whether names were remembered"
    elif remembered:
        yield "the address of an earlier visit was remembered"
    if any(link.connect is None or link.tls is None or link.resumed is None for link in used):
        yield "its connection has no phases in the network log"
    if rows:
        yield from _implausible(rows[0], held_us)


def _implausible(document: Request, held_us: int) -> Iterator[str]:
    timing = document.timing
    phases = {name: getattr(timing, name) for name in ("connect", "tls", "send", "wait")}
    for name, span in phases.items():
        if span is None:
            yield f"its document has no {name} phase"
        elif span.duration_us > _MAX_PHASE_US:
            yield f"its {name} phase took {span.duration_us / 1000:.0f} ms on loopback"
    # On a busy processor Chrome hears late that it has sent: the server may have begun to hold it back by then.
    waited_us = None if timing.send is None or timing.wait is None else timing.wait.end_us - timing.send.start_us
    if waited_us is not None and waited_us < held_us - _GRAIN_US:
        waited_ms = waited_us // 1000
        yield f"it waited {waited_ms} ms for an answer that was held back for {held_us // 1000} ms"
