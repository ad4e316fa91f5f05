"""Chrome's network log, line by line: which events we know, by name.

Event numbers change with every version of Chrome, so names are resolved from the log's own constants. An event that
we do not know is passed over; a name that we need and the log lacks is reported, so that nobody takes "not seen" for
"none".
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

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
# How a name was resolved: Chrome up to about 140 writes the first, later ones the second.
NEEDED_ANY = (frozenset({"HOST_RESOLVER_MANAGER_REQUEST", "HOST_RESOLVER_MANAGER_JOB_ATTACH"}),)
WANTED = (
    NEEDED
    | frozenset().union(*NEEDED_ANY)
    | {
        "HOST_RESOLVER_MANAGER_JOB",
        "REQUEST_ALIVE",
        "HTTP_STREAM_REQUEST_BOUND_TO_JOB",
        "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND",
        "HTTP_TRANSACTION_READ_BODY",
        "SOCKET_POOL_BOUND_TO_CONNECT_JOB",
        "SOCKET_POOL_BOUND_TO_SOCKET",
        "SOCKET_POOL_CONNECT_JOB_CREATED",
        "TLS_STREAM_ATTEMPT_ALIVE",
        "TCP_BASED_ATTEMPT_BOUND_TO_POOL",
        "TCP_CONNECT",
        "SSL_CERTIFICATES_RECEIVED",
        "SSL_HANDSHAKE_MESSAGE_SENT",
        "SSL_HANDSHAKE_MESSAGE_RECEIVED",
        "SOCKET_BYTES_RECEIVED",
    }
)


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
        return number if isinstance(number, int) else None


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
    known = {str(number).encode(): name for name, number in types.items() if name in WANTED}
    return Names(known, _phases(phases), _errors(constants.get("netError")), _missing(frozenset(types)))


def _errors(numbers: object) -> dict[int, str]:
    return {number: name for name, number in numbers.items()} if isinstance(numbers, dict) else {}


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
        name = names.by_type.get(line[line.rfind(b":") + 1 :].rstrip(b"},\r\n"))
        event = None if name is None else _event(names, name, line)
        if event is not None:
            yield event


def _event(names: Names, name: str, line: bytes) -> NetEvent | None:
    try:
        raw = json.loads(line.rstrip(b",\r\n"))
        phase, source = names.phases[raw["phase"]], int(raw["source"]["id"])
        time_ms, params = int(raw["time"]), raw.get("params", {})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return NetEvent(name, phase, source, time_ms, params) if isinstance(params, dict) else None
