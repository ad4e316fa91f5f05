"""A resolver in a loop of its own, and answers for it."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
from dns.message import Message

from workers.measurement.captures_probe import NameCapture
from workers.measurement.compute.probe.hop import RunClock
from workers.measurement.compute.probe.name import name_evidence
from workers.measurement.evidence import NameEvidence
from workers.probes.dns import Resolution, look_deeper, resolve
from workers.probes.loop import Loop
from workers.probes.names import LocalNames
from workers.probes.settings import NameServer, NameSettings
from workers.probes.stamps import read_clocks, stamping_socket
from workers.tests.servers import Answer, DnsServer

Resolve = Callable[..., Resolution]


class Resolver:
    """Resolves in a loop of its own, with the servers that a test gives it."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        self._stack = stack
        self._loop = Loop("dns")
        self._loop.start()
        stack.callback(self._loop.close)
        stack.enter_context(stamping_socket())
        self.settings = NameSettings(hosts=directory / "hosts", patience_s=20.0, rounds=2)

    def hurry(self, *, rounds: int = 2) -> None:
        """For a server that keeps silent: patience of 150 ms, twice as much in each further round."""
        self.settings = replace(self.settings, patience_s=0.15, rounds=rounds)

    def forget(self) -> None:
        """No server is known any more."""
        self.settings = replace(self.settings, servers=())

    def serve(self, answer: Answer, *, truncating: bool = False, slow_s: float = 0) -> DnsServer:
        server = self._stack.enter_context(DnsServer(answer, truncating=truncating, slow_s=slow_s))
        self.add(server.port)
        return server

    def add(self, port: int) -> None:
        servers = (*self.settings.servers, NameServer(address="127.0.0.1", port=port))
        self.settings = replace(self.settings, servers=servers)

    def resolve(self, host: str, *, within_s: float = 60) -> Resolution:
        deadline_ns = monotonic_ns() + int(within_s * 1e9)
        return self._loop.submit(resolve(host, LocalNames(self.settings), self.settings, deadline_ns)).result(120)

    def look_deeper(self, host: str, found: Resolution, port: int = 443) -> NameCapture:
        local, deadline_ns = LocalNames(self.settings), monotonic_ns() + 60_000_000_000
        coroutine = look_deeper(host, port, found, local, self.settings, deadline_ns=deadline_ns)
        return self._loop.submit(coroutine).result(120)

    def learn(self, host: str, port: int = 443) -> NameEvidence:
        """All that a deep probe learns of a name."""
        before = read_clocks()
        capture = self.look_deeper(host, self.resolve(host), port)
        return name_evidence(capture, RunClock.of(before, read_clocks(), ()))


def only(kind: dns.rdatatype.RdataType, answer: Answer) -> Answer:
    """Answers questions of one type and keeps silent on others."""
    return lambda query: answer(query) if query.question[0].rdtype == kind else None


def loose(answer: Answer) -> Answer:
    """Answers with the first alias alone, whatever it leads to."""

    def first_link(query: Message) -> Message | None:
        reply = answer(query)
        aliased = reply is not None and any(one.rdtype == dns.rdatatype.CNAME for one in reply.answer)
        if reply is not None and aliased:
            reply.answer = reply.answer[:1]
            reply.set_rcode(dns.rcode.NOERROR)
        return reply

    return first_link
