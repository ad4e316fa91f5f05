"""The lab's own name server: what it says, how slowly the first time, and for how long it holds."""

import heapq
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, pairwise
from types import TracebackType
from typing import Self

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
from dns.message import Message

_POLL_S = 0.05
_DATAGRAM_BYTES = 4096
_TYPES = {dns.rdatatype.A: "a", dns.rdatatype.AAAA: "aaaa", dns.rdatatype.HTTPS: "https"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How a name is kept: hops on the way to its addresses, and how long the name server must search for it once, and
    for each hop."""

    aliases: int = 0
    ttl_s: int = 3600
    search_ms: int = 0
    hop_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of a name. An empty `a` or `aaaa` is no address of that family; `a` may be several, with spaces."""

    naming: Naming = Naming()
    a: str = ""
    aaaa: str = ""
    https: str = ""


class NameServer:
    """A recursive resolver: it searches once for each name, and then remembers. Serves a bound UDP socket."""

    def __init__(self, sock: socket.socket, entries: dict[str, Entry]) -> None:
        self._sock = sock
        self._entries = {name.lower(): entry for name, entry in entries.items()}
        self._searched: dict[tuple[str, int], float] = {}
        self._due: list[tuple[float, int, bytes, tuple[str, int]]] = []
        self._order = count()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()
        self._sock.close()

    def _serve(self) -> None:
        while not self._closing.is_set():
            self._sock.settimeout(self._patience_s())
            with suppress(TimeoutError):
                data, asker = self._sock.recvfrom(_DATAGRAM_BYTES)
                query = dns.message.from_wire(data)
                heapq.heappush(self._due, (self._ready_at(query), next(self._order), self._answer(query), asker))
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, reply, asker = heapq.heappop(self._due)
                self._sock.sendto(reply, asker)

    def _patience_s(self) -> float:
        if not self._due:
            return _POLL_S
        return min(_POLL_S, max(0.0001, self._due[0][0] - time.monotonic()))

    def _ready_at(self, query: Message) -> float:
        """A question that comes while the server still searches gets its answer when that is done."""
        name, kind = _asked(query)
        entry = self._entries.get(name)
        search_s = 0 if entry is None else (entry.naming.search_ms + entry.naming.aliases * entry.naming.hop_ms) / 1000
        return self._searched.setdefault((name, kind), time.monotonic() + search_s)

    def _answer(self, query: Message) -> bytes:
        reply = dns.message.make_response(query)
        reply.flags |= dns.flags.RA
        name, kind = _asked(query)
        entry = self._entries.get(name)
        if entry is None:
            reply.set_rcode(dns.rcode.NXDOMAIN)
            return reply.to_wire()
        chain = [name, *(f"hop{number}.{name}" for number in range(1, entry.naming.aliases + 1))]
        for alias, target in pairwise(chain):
            self._add(reply, alias, entry.naming, "CNAME", f"{target}.")
        value = getattr(entry, _TYPES.get(kind, ""), "")
        if value:
            values = value.split() if kind == dns.rdatatype.A else [value]
            self._add(reply, chain[-1], entry.naming, dns.rdatatype.to_text(kind), *values)
        return reply.to_wire()

    @staticmethod
    def _add(reply: Message, name: str, naming: Naming, kind: str, *values: str) -> None:
        reply.answer.append(dns.rrset.from_text(f"{name}.", naming.ttl_s, "IN", kind, *values))


def _asked(query: Message) -> tuple[str, dns.rdatatype.RdataType]:
    question = query.question[0]
    return question.name.to_text(omit_final_dot=True).lower(), question.rdtype
