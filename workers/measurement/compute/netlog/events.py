"""Chrome's network log, line by line: which events we know, by name.

Event numbers change with every version of Chrome, so names are resolved from the log's own constants. An event that
we do not know is passed over; a name that we need and the log lacks is reported, so that nobody takes "not seen" for
"none".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from pydantic_core import from_json

# Without these there are no phases at all.
NEEDED = frozenset(
    {
        "URL_REQUEST_START_JOB",
        "HTTP_TRANSACTION_SEND_REQUEST",
        "HTTP_TRANSACTION_READ_RESPONSE_HEADERS",
        "SOCKET_ALIVE",
        "TCP_CONNECT_ATTEMPT",
        "SSL_CONNECT",
    }
)
# How a name was resolved: `REQUEST` is what a waiting job writes, `ATTACH` the only trace that Chrome's newer pool
# leaves. Chrome before 2020 said IMPL for MANAGER.
NEEDED_ANY = (
    frozenset({"HOST_RESOLVER_MANAGER_REQUEST", "HOST_RESOLVER_MANAGER_JOB_ATTACH", "HOST_RESOLVER_IMPL_REQUEST"}),
)
_REQUESTS = {
    "CORS_REQUEST",
    "CORS_PREFLIGHT_URL_REQUEST",
    "REQUEST_ALIVE",
    "CANCELLED",
    "URL_REQUEST_REDIRECTED",
    "URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED",
    "HTTP_CACHE_READ_INFO",
    "HTTP_STREAM_JOB_CONTROLLER_BOUND",
    "HTTP_STREAM_REQUEST_BOUND_TO_JOB",
    "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION",
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS",
    "WEBSOCKET_UPGRADE_FAILURE",
    "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS",
    "HTTP_TRANSACTION_READ_BODY",
    "URL_REQUEST_JOB_FILTERED_BYTES_READ",
}
_JOBS = {
    "HTTP_STREAM_JOB",
    "BOUND_TO_QUIC_SESSION_POOL_JOB",
    "HTTP_STREAM_JOB_BOUND_TO_QUIC_STREAM_FACTORY_JOB",
    "SOCKET_POOL_BOUND_TO_CONNECT_JOB",
    "SOCKET_POOL_BOUND_TO_SOCKET",
    "SOCKET_POOL_REUSED_AN_EXISTING_SOCKET",
    "SOCKET_POOL_CONNECT_JOB",
    "SOCKET_POOL_CONNECT_JOB_CREATED",
    "HTTP2_SESSION_INITIALIZED",
    "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION",
    "HTTP2_SESSION_SEND_DATA",
    "HTTP2_SESSION_SEND_HEADERS",
    "HTTP2_STREAM_ADOPTED_PUSH_STREAM",
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND",
    "HTTP_STREAM_POOL_QUIC_ATTEMPT_ALIVE",
    "HTTP_STREAM_POOL_JOB_CONTROLLER_JOB_BOUND",
    "HTTP_STREAM_POOL_JOB_CONTROLLER_FOUND_EXISTING_SPDY_SESSION",
    "HTTP_STREAM_POOL_JOB_CONTROLLER_FOUND_EXISTING_QUIC_SESSION",
    "HTTP_STREAM_POOL_JOB_ALIVE",
    "HTTP_STREAM_POOL_GROUP_HANDLE_CREATED",
    "TLS_STREAM_ATTEMPT_ALIVE",
    "TCP_BASED_ATTEMPT_BOUND_TO_POOL",
}
_LOOKUPS = {
    "HOST_RESOLVER_MANAGER_JOB",
    "HOST_RESOLVER_IMPL_JOB",
    "HOST_RESOLVER_MANAGER_CACHE_HIT",
    "HOST_RESOLVER_MANAGER_HOSTS_HIT",
    "HOST_RESOLVER_IMPL_CACHE_HIT",
    "HOST_RESOLVER_IMPL_HOSTS_HIT",
    "HOST_RESOLVER_IMPL_JOB_ATTACH",
}
_SOCKETS = {
    "TCP_CONNECT",
    "HTTP_TRANSACTION_TUNNEL_SEND_REQUEST",
    "SSL_CERTIFICATES_RECEIVED",
    "SSL_HANDSHAKE_ERROR",
    "SSL_HANDSHAKE_MESSAGE_SENT",
    "SSL_HANDSHAKE_MESSAGE_RECEIVED",
    "SOCKET_BYTES_RECEIVED",
    "SOCKET_BYTES_SENT",
    "SSL_SOCKET_BYTES_RECEIVED",
    "SSL_SOCKET_BYTES_SENT",
    "UDP_CONNECT",
}
_FRAMES = {
    "HTTP2_SESSION_RECV_HEADERS",
    "HTTP2_SESSION_RECV_DATA",
    "HTTP2_SESSION_RECV_RST_STREAM",
    "HTTP2_SESSION_RECV_PUSH_PROMISE",
    "HTTP2_SESSION_RECV_SETTINGS",
    "HTTP2_SESSION_RECV_SETTINGS_ACK",
    "HTTP2_SESSION_RECV_WINDOW_UPDATE",
    "HTTP2_SESSION_RECV_GOAWAY",
    "HTTP2_SESSION_RECV_ACCEPT_CH",
    "HTTP2_SESSION_PING",
    "QUIC_SESSION_STREAM_FRAME_RECEIVED",
}
_QUIC = {
    "QUIC_SESSION",
    "QUIC_SESSION_CREATED",
    "QUIC_SESSION_CLOSED",
    "QUIC_SESSION_CLOSE_ON_ERROR",
    "QUIC_SESSION_CRYPTO_FRAME_RECEIVED",
    "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE",
    "QUIC_SESSION_PACKET_RECEIVED",
    "QUIC_SESSION_PACKET_SENT",
    "QUIC_SESSION_POOL_JOB_CONNECT",
    "QUIC_SESSION_STREAM_FRAME_SENT",
    "QUIC_SESSION_TRANSPORT_PARAMETERS_RESUMED",
    "QUIC_SESSION_TRANSPORT_PARAMETERS_SENT",
    "QUIC_SESSION_VERSION_NEGOTIATED",
    "QUIC_SESSION_ZERO_RTT_STATE",
    "QUIC_STREAM_FACTORY_JOB_CONNECT",
}
WANTED = NEEDED.union(*NEEDED_ANY) | _REQUESTS | _JOBS | _LOOKUPS | _SOCKETS | _FRAMES | _QUIC


class Phase(IntEnum):
    """Whether an event stands alone or opens or closes a stretch of time."""

    NONE = 0
    BEGIN = 1
    END = 2


@dataclass(frozen=True, slots=True)
class NetEvent:
    """One event of one source. `dependency` is the source it points to, such as the connect job of a socket."""

    name: str
    phase: Phase
    source: int
    time_ms: int
    params: Mapping[str, Any]

    @property
    def dependency(self) -> int | None:
        value = self.params.get("source_dependency")
        number = value.get("id") if isinstance(value, dict) else None
        return number if isinstance(number, int) and not isinstance(number, bool) else None

    def text(self, name: str) -> str | None:
        """A parameter that is a text and not empty."""
        value = self.params.get(name)
        return value if isinstance(value, str) and value else None

    def number(self, name: str) -> int | None:
        """A parameter that is a whole number."""
        value = self.params.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if -_MAX_NUMBER <= value <= _MAX_NUMBER else None


@dataclass(frozen=True, slots=True)
class Names:
    """What the numbers of one log mean. `missing` is what we need and this Chrome does not write."""

    by_type: Mapping[bytes, str]
    phases: Mapping[int, Phase]
    errors: Mapping[int, str] = field(default_factory=dict)
    missing: frozenset[str] = field(default=frozenset())


def names_of(constants: Mapping[str, Any]) -> Names:
    """Resolves event and phase numbers. A log whose constants cannot be read lacks everything."""
    types, phases = constants.get("logEventTypes"), constants.get("logEventPhase")
    if not isinstance(types, dict) or not isinstance(phases, dict):
        return Names({}, {}, missing=NEEDED)
    known = {_key(number): name for name, number in types.items() if name in WANTED}
    return Names(known, _phases(phases), _errors(constants.get("netError")), _missing(frozenset(types)))


def _key(number: object) -> bytes:
    """An event's number as it stands in a line; of a stranger's file it may be any text."""
    return str(number).encode(errors="replace")


def _errors(numbers: object) -> dict[int, str]:
    """Chrome writes names with or without "ERR_", by its version."""
    if not isinstance(numbers, dict):
        return {}
    return {
        number: name if name.startswith("ERR_") else f"ERR_{name}"
        for name, number in numbers.items()
        if isinstance(name, str) and isinstance(number, int)
    }


def _phases(numbers: Mapping[str, Any]) -> dict[int, Phase]:
    words = {"PHASE_NONE": Phase.NONE, "PHASE_BEGIN": Phase.BEGIN, "PHASE_END": Phase.END}
    return {number: words[name] for name, number in numbers.items() if name in words and isinstance(number, int)}


def _missing(available: frozenset[str]) -> frozenset[str]:
    absent = [" or ".join(sorted(choice)) for choice in NEEDED_ANY if not choice & available]
    return NEEDED - available | frozenset(absent)


def read_events(names: Names, lines: Iterable[bytes]) -> Iterator[NetEvent]:
    """The events that we know, in the order of the log. Lines that are no event (cut off, damaged) are passed over."""
    for line in lines:
        # Keys are in alphabetical order, so the event's own type is the last: most lines need no parsing.
        name = names.by_type.get(line[line.rfind(b":") + 1 :].rstrip(b"},]\r\n"))
        if name is not None:
            try:
                raw = from_json(line.rstrip(b"], \r\n"))
            except ValueError:
                continue
            event = event_of(names, raw)
            if event is not None:
                yield event


def event_of(names: Names, raw: object) -> NetEvent | None:
    """One event from its parsed object; None for one that we do not know or that lacks what it must have."""
    if not isinstance(raw, dict):
        return None
    name = names.by_type.get(_key(raw.get("type")))
    if name is None:
        return None
    try:
        phase, source = names.phases[raw["phase"]], int(raw["source"]["id"])
        time_ms, params = int(raw["time"]), raw.get("params", {})
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    usable = isinstance(params, dict) and -_MAX_TICK_MS <= time_ms <= _MAX_TICK_MS
    return NetEvent(name, phase, source, time_ms, params) if usable else None


# A thousand years: no clock says more, and what does would only overflow somewhere.
_MAX_TICK_MS = 2**45
# No size or code is larger.
_MAX_NUMBER = 2**53
