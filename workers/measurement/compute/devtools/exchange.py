"""One request as DevTools tells it; a redirect begins another. Times are microseconds of the monotonic clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workers.measurement.compute.numbers import clock_of, number_of
from workers.measurement.waterfall import ServedFrom

Json = Mapping[str, Any]
# DevTools' word for the kind of a WebSocket's handshake.
SOCKET = "WebSocket"
# … and for who asked, where it was one.
SERVICE_WORKER = "service_worker"
ON_THE_NETWORK = frozenset({ServedFrom.NETWORK})
# … and for that of a stream of events, which is open as long as its page.
STREAM = "EventSource"
# … and for that of what is fetched ahead.
_PREFETCH = "Prefetch"
# Where an answer comes from that a service worker made up, or did not give.
_NO_SOURCE = "fallback-code"
# The header of an answer that Chrome makes up.
_REASON = "non-authoritative-reason"
# Of HTTP/3, its drafts and Google's QUIC before it.
_QUIC = ("h3", "quic", "http/2+quic", "hq")
# What the page carries in itself is no request to the network, though DevTools tells of it as of one.
CARRIED = ("data:", "blob:")


@dataclass(slots=True)
class Exchange:
    """One hop of one request: a redirect is an exchange of its own.

    `net_started_us` is when the network began with it. `document` is on whose behalf it was asked for; `asker` is
    "worker" or "service_worker" where it was one. `heard_us` is when the last piece of its body came. `hinted` says
    that an early answer (103) came; `cancelled` is DevTools' word for a page that gave up, `came_to_nothing` whether it
    had brought no body by then; `from_cache` is the log's word that the cache answered; `untold` is what the network
    log alone shows, `pages_own` whether that says that a document or a worker asked; `is_sent_known` whether its
    headers are those that were sent.
    """

    request_id: str
    url: str
    method: str
    started_us: int
    kind: str = "Other"
    priority: str | None = None
    initiator: Json = field(default_factory=dict)
    render_blocking: str | None = None
    frame: str | None = None
    document: str | None = None
    asker: str | None = None
    preloaded: bool = False
    hinted: bool = False
    cancelled: bool = False
    came_to_nothing: bool = False
    loader: str | None = None
    request_headers: Json = field(default_factory=dict)
    response: Json | None = None
    response_headers: Json = field(default_factory=dict)
    has_extra_request: bool = False
    has_extra_response: bool = False
    net_started_us: int | None = None
    heard_us: int | None = None
    ended_us: int | None = None
    transferred_bytes: int | None = None
    body_bytes: int | None = None
    net_error: str | None = None
    from_memory: bool = False
    from_cache: bool = False
    untold: bool = False
    pages_own: bool = False
    is_sent_known: bool = False
    redirected_to: str | None = None

    @property
    def is_document(self) -> bool:
        """Whether it fetched a frame's document: only then is the request named after its loader."""
        return self.kind == "Document" and self.loader == self.request_id

    @property
    def timing(self) -> Json | None:
        timing = None if self.response is None else self.response.get("timing")
        return timing if isinstance(timing, dict) and not self.from_memory else None

    @property
    def served_from(self) -> ServedFrom:
        if self.url.startswith(CARRIED):
            return ServedFrom.DATA
        if self.from_memory:
            return ServedFrom.MEMORY_CACHE
        response = self.response or {}
        if response.get("fromServiceWorker") is True and not self._was_let_through:
            return ServedFrom.SERVICE_WORKER
        # Of what is fetched ahead DevTools says that it comes from where it goes to.
        ahead = self.kind != _PREFETCH and response.get("fromPrefetchCache") is True
        cached = self.from_cache or response.get("fromDiskCache") is True or ahead
        return ServedFrom.DISK_CACHE if cached else ServedFrom.NETWORK

    @property
    def _was_let_through(self) -> bool:
        """Whether the service worker was asked and did not answer, so that the browser asked as ever: then no instant
        is told at which it had (Service Workers, Handle Fetch)."""
        settled = clock_of((self.timing or {}).get("workerRespondWithSettled"))
        return self.text("serviceWorkerResponseSource") == _NO_SOURCE and settled is not None and settled < 0

    @property
    def is_made_up(self) -> bool:
        """Whether the browser itself led it elsewhere, as for a server that once asked never to be asked in clear
        (HSTS): Chrome makes up an answer then, with a header that says why, and with instants.
        """
        told = (self.response or {}).get("headers")
        named = isinstance(told, dict) and any(str(name).lower() == _REASON for name in told)
        return named and self.text("remoteIPAddress") is None

    @property
    def is_quic(self) -> bool:
        return (self.text("protocol") or "").startswith(_QUIC)

    @property
    def found_connection(self) -> bool | None:
        """Whether DevTools says that the connection had been used before; None where it does not say when it sent."""
        if self.is_made_up:
            return None
        told = (self.response or {}).get("connectionReused")
        sent = clock_of((self.timing or {}).get("sendStart"))
        return told if isinstance(told, bool) and sent is not None and sent >= 0 else None

    def text(self, name: str) -> str | None:
        """A text of the response, such as its protocol; None when absent."""
        value = None if self.response is None else self.response.get(name)
        return value if isinstance(value, str) and value else None

    def number(self, name: str) -> int | None:
        value = None if self.response is None else number_of(self.response.get(name))
        return None if value is None else int(value)


def monotonic_us(seconds: object) -> int | None:
    """DevTools' monotonic seconds in microseconds."""
    value = clock_of(seconds)
    return None if value is None else round(value * 1_000_000)
