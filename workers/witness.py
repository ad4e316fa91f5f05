"""Whether this agent's own network leads anywhere, asked of its name servers where a site is silent.

A site that does not answer and an agent that is cut off look alike from inside. But an agent that is cut off hears of
nobody's names either. The name that is asked for is new each time, so that no cache answers, and below a domain that is
nobody's site. Who measures private addresses may do so on a network that leads nowhere else, and has no witness.

A network that wants a login first leads all names to one address: what failed there says nothing of its site. Some
providers lead to a page of theirs only what does not exist; a site whose name went away is met there by its own fault.
So a name that there is has to lead to the same address as one that is nobody's.

That names are answered here is kept as a file, since an agent may start before its network does. Where they are not
although sites are reached, names tell nothing, and nothing is concluded from them.
"""

import contextlib
import errno
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import dns.exception
import dns.message
import dns.rcode
from dns.rdatatype import RdataType

from workers.measurement.addresses import may_measure
from workers.measurement.failure import SILENT, Blame, Failure, FailureKind, Stage
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.probes.names import LocalNames
from workers.probes.settings import NameServer, NameSettings

# Its zone is signed with opt-out, so that a resolver that knows two neighbours may not conclude that there is nothing
# in between (RFC 5155, 12.2; RFC 8198, 5.4): it has to ask beyond the own network.
_DOMAIN = "com."
# A name that there is everywhere: that of a server of the same domain.
_SOMEBODYS = "a.gtld-servers.net."
_MAX_MESSAGE_BYTES = 4096
# A resolver asks the domain's servers for it, a few of which may be slow: 99 % are answered within a second.
_PATIENCE_S, _ROUNDS = 2.0, 2
# Runs that fail together share an answer.
_HOLDS_S = 5.0
_CHECKED_EVERY_S = 3_600.0
# Behind a silence of some seconds TCP waits for as long again before it tries once more.
_LINGERS_S = 30.0
# What stands still when the network goes away in the middle of a run.
_UNFINISHED = SILENT | {
    FailureKind.TLS_TIMEOUT,
    FailureKind.RESPONSE_TIMEOUT,
    FailureKind.DOWNLOAD_TIMEOUT,
    FailureKind.PAGE_TIMEOUT,
    FailureKind.STEP_FAILED,
}


class Witness:
    """One for each process that measures, for all of its threads. `mark` is the file that says that names are answered
    here; `servers` are the name servers of the moment."""

    def __init__(
        self, mark: Path, servers: Callable[[], Sequence[NameServer]], monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._mark, self._servers, self._monotonic_s = mark, servers, monotonic_s
        self._lock = threading.Lock()
        self._reached_s: float | None = None
        self._checked_s: float | None = None
        self._doubted_s: float | None = None
        self._cut_off_s: float | None = None
        self._answered: tuple[float, frozenset[str] | None] | None = None

    def heard(self, outcome: Measured | Failed, begun_s: float) -> Measured | Failed:
        """The outcome of a run that began then (monotonic clock), without blame for the site if the agent was cut off.

        May wait for four seconds, and as long again where a name that is nobody's has an address.
        """
        if isinstance(outcome, Measured):
            self._reached(begun_s)
            return outcome
        if outcome.failure.blame is Blame.MONITOR:
            return outcome
        if _is_unfinished(outcome.failure) and self._was_cut_off(begun_s):
            return _of_ours(outcome, "The agent's name servers answer for no other name either.")
        if self._is_led_astray(outcome):
            return _of_ours(outcome, "The agent's name servers lead all other names there as well.")
        return outcome

    def _was_cut_off(self, begun_s: float) -> bool:
        """Now, or lately when another run failed."""
        now_s = self._monotonic_s()
        if self._cut_off_s is not None and self._cut_off_s >= max(begun_s, now_s - _LINGERS_S):
            return True
        if self._reached_s is not None and self._reached_s >= max(begun_s, now_s - _HOLDS_S):
            return False
        # Who cannot ask concludes nothing.
        with contextlib.suppress(OSError):
            if self._mark.exists() and self._heard() is None:
                self._cut_off_s = now_s
                return True
        return False

    def _is_led_astray(self, outcome: Failed) -> bool:
        """Whether all names lead there. Of an address that may not be measured nothing is told but that: then it is one
        of those."""
        address, blocked = _dialled(outcome), outcome.failure.kind is FailureKind.BLOCKED_DESTINATION
        if address is None and not blocked:
            return False
        with contextlib.suppress(OSError):
            heard = (self._heard() or frozenset()) if self._mark.exists() else frozenset()
            return not all(map(may_measure, heard)) if blocked else address in heard
        return False

    def _reached(self, begun_s: float) -> None:
        """Somebody answered a run that began then. Now and then it is looked whether names are answered as well."""
        now_s = self._reached_s = self._monotonic_s()
        if self._checked_s is not None and now_s - self._checked_s < _CHECKED_EVERY_S:
            return
        self._checked_s = now_s
        # What cannot be kept is found out again.
        with contextlib.suppress(OSError):
            if self._heard() is not None:
                self._mark.touch(mode=0o600)
                self._doubted_s = None
            elif self._doubted_s is not None and begun_s >= self._doubted_s:
                self._mark.unlink(missing_ok=True)
            else:
                # The network may have gone right behind that answer: whoever is reached next decides.
                self._doubted_s, self._checked_s = self._monotonic_s(), None

    def _heard(self) -> frozenset[str] | None:
        """The addresses to which all names lead, mostly none. None where no name is answered."""
        with self._lock:
            if self._answered is None or self._monotonic_s() - self._answered[0] >= _HOLDS_S:
                heard = ask(self._servers())
                if heard:
                    heard &= ask(self._servers(), _SOMEBODYS) or frozenset()
                self._answered = (self._monotonic_s(), heard)
            return self._answered[1]


def _of_ours(outcome: Failed, why: str) -> Failed:
    told = f"{outcome.failure.detail.removesuffix('.')}. {why}"
    return replace(outcome, failure=replace(outcome.failure, blame=Blame.MONITOR, detail=told))


def _dialled(outcome: Failed) -> str | None:
    """The address at which a run failed: of a page that for which its first connection was opened."""
    seen = outcome.measurement
    if seen is None:
        return None
    connections = seen.waterfall.connections[:1] if isinstance(seen, PageMeasurement) else seen.connections[-1:]
    return connections[0].address if connections else None


def _is_unfinished(failure: Failure) -> bool:
    """Also where nobody answered in the only protocol that was asked for; who answers in another one is there."""
    unheard = failure.kind is FailureKind.PROTOCOL_NOT_SPOKEN and failure.stage is Stage.CONNECT
    return unheard or failure.kind in _UNFINISHED


def witness_in(spool_dir: Path) -> Witness:
    """The witness of an agent, by the name servers of its machine."""
    return Witness(spool_dir / "names-are-answered", LocalNames(NameSettings()).servers)


def ask(servers: Sequence[NameServer], name: str | None = None) -> frozenset[str] | None:
    """The addresses that the first of these name servers to answer gives for a name, or for a new one: mostly none.
    None where no server says what only the domain's own can know."""
    query = dns.message.make_query(name or f"{secrets.token_hex(12)}.{_DOMAIN}", "A")
    with ExitStack() as stack:
        looks = stack.enter_context(selectors.DefaultSelector())
        lines = [stack.enter_context(line) for line in map(_line, servers) if line is not None]
        for line in lines:
            looks.register(line, selectors.EVENT_READ)
        for _ in range(_ROUNDS):
            for line in lines:
                with contextlib.suppress(OSError):
                    line.send(query.to_wire())
            heard = _hears(looks, query, time.monotonic() + _PATIENCE_S)
            if heard is not None:
                return heard
    return None


def _line(server: NameServer) -> socket.socket | None:
    """None where no way leads there. Raises OSError where there can be no socket at all."""
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    try:
        line = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    except OSError as error:
        if error.errno == errno.EAFNOSUPPORT:
            return None
        raise
    try:
        line.connect((server.address, server.port))
    except OSError:
        line.close()
        return None
    return line


def _hears(looks: selectors.BaseSelector, query: dns.message.Message, until_s: float) -> frozenset[str] | None:
    while (left_s := until_s - time.monotonic()) > 0:
        for key, _ in looks.select(left_s):
            assert isinstance(key.fileobj, socket.socket)
            with contextlib.suppress(OSError):
                known = _knowledge(key.fileobj.recv(_MAX_MESSAGE_BYTES), query)
                if known is not None:
                    return known
    return None


def _knowledge(data: bytes, query: dns.message.Message) -> frozenset[str] | None:
    """Addresses, or none by the domain's word that there is none: routers that are cut off say that of everything,
    without. None for what is no knowledge."""
    try:
        reply = dns.message.from_wire(data)
    except (dns.exception.DNSException, ValueError):
        return None
    honest = reply.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
    if not (query.is_response(reply) and honest and (reply.answer or reply.authority)):
        return None
    return frozenset(
        record.to_text() for records in reply.answer if records.rdtype == RdataType.A for record in records
    )
