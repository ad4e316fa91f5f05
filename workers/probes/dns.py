"""Names to addresses by our own questions to the system's resolvers, so that the lookup can be timed by the kernel.

A and AAAA are asked for at once over one socket. The span of a lookup runs from the first packet sent to the last
answer that was used. A name that this machine knows by itself (`LocalNames`) has no span: nobody was asked.
"""

import errno
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from dns.rdatatype import RdataType
from dns.rdtypes.IN.HTTPS import HTTPS
from dns.rdtypes.svcbbase import ALPNParam, ParamKey

from workers.measurement.captures_probe import LookupCapture, NameCapture
from workers.measurement.evidence import Alias, HttpsRecord
from workers.measurement.failure import FailureKind, Stage
from workers.probes.dns_wire import MAX_ALIASES, Reply
from workers.probes.faults import ProbeError, is_ours
from workers.probes.loop import DeadlineError
from workers.probes.name_server import Inquiry, Line
from workers.probes.names import LocalNames
from workers.probes.settings import NameServer, NameSettings

_ADDRESS_TYPES = (RdataType.A, RdataType.AAAA)
_HTTPS_TYPE = (RdataType.HTTPS,)
# What hardly anybody asks for, so that the resolver has to search as it did at first.
_SELDOM_TYPES = (RdataType.CAA, RdataType.TXT)
_MAX_ADDRESSES = 32
# Both families of the longest chain, and as many again that got lost.
_MAX_QUESTIONS = 4 * (MAX_ALIASES + 1)
# The same question again: the faster of two, since one may meet another server behind the resolver's address.
_REPEATS = 2
# How often servers are asked that answer with an error: as often as glibc asks (its RES_DFLRETRY).
_ROUNDS_OF_ERRORS = 2
# Some resolvers keep silent about types of record that they do not know.
_ROUNDS_OF_EXTRAS = 2
_MAX_PROTOCOLS = 16
_USUAL_PORTS = (80, 443)
# The keys of RFC 9460 that say nothing we do not know; a record that demands others is to be ignored (its section 8).
_KNOWN_KEYS = frozenset(range(7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Every address of a name, maybe none; `lookup` is None when no name server was asked."""

    addresses: tuple[str, ...]
    exists: bool = True
    lookup: LookupCapture | None = None

    def without_address(self, host: str) -> str:
        """Why there is none, for people: of an alias it is what it leads to that lacks it."""
        fate = "has no address" if self.exists else "does not exist"
        aliases = () if self.lookup is None else self.lookup.aliases
        return f"{host} is an alias of {aliases[-1].target}, which {fate}" if aliases else f"{host} {fate}"


@dataclass(slots=True)
class _Search:
    """Questions about one name after another, to one server after another, all of them kept."""

    servers: tuple[NameServer, ...]
    settings: NameSettings
    deadline_ns: int
    inquiries: list[Inquiry]

    async def follow(self, name: str, types: tuple[RdataType, ...]) -> list[Inquiry]:
        """The answered inquiries from the name to the end of its aliases. Raises ProbeError or DeadlineError."""
        answered: list[Inquiry] = []
        passed: list[Alias] = []
        while True:
            answered.append(await self.ask_in_turn(name, types))
            aliases = _longest(answered[-1].replies.values())
            passed += aliases
            _check_chain(passed)
            if not aliases or answered[-1].is_missing or _records(answered):
                return answered
            name = aliases[-1].target

    async def ask_in_turn(self, name: str, types: tuple[RdataType, ...]) -> Inquiry:
        """Each server in turn, then all again with twice the patience: once more after errors, more after silence.
        The last thing that went wrong is told. A server that cannot be asked is this machine's affair, and told only
        where no other is left: it says nothing of the name."""
        fault: ProbeError | None = None
        out_of_reach = ProbeError(FailureKind.DNS_TIMEOUT, name)
        with ExitStack() as lines:
            open_lines = {server: lines.enter_context(Line(server)) for server in self.servers}
            for turn in range(self.settings.rounds):
                for server in self.servers:
                    try:
                        return await self._ask(open_lines[server], Inquiry.of(name, types, server), turn)
                    except DeadlineError:
                        fault = ProbeError(FailureKind.DNS_TIMEOUT, name)
                        if time.monotonic_ns() >= self.deadline_ns:
                            raise
                    except OSError as error:
                        out_of_reach = _out_of_reach(server, error)
                        # Without an address of one family, the servers of the other can be asked.
                        if is_ours(error) and error.errno != errno.EADDRNOTAVAIL:
                            raise out_of_reach from error
                    except ProbeError as caught:
                        fault = caught
                told = fault or out_of_reach
                if told.failure.kind is not FailureKind.DNS_TIMEOUT and turn + 1 >= _ROUNDS_OF_ERRORS:
                    break
        raise fault or out_of_reach

    async def _ask(self, line: Line, inquiry: Inquiry, turn: int) -> Inquiry:
        """What was asked after the inquiry that is answered did not get lost: nobody waits for it any more."""
        patience_ns = int(self.settings.patience_s * 1e9) << turn
        self.inquiries.append(inquiry)
        answered = await line.ask(inquiry, min(self.deadline_ns, time.monotonic_ns() + patience_ns))
        del self.inquiries[self.inquiries.index(answered) + 1 :]
        return answered


def _out_of_reach(server: NameServer, error: OSError) -> ProbeError:
    evidence = f"the name server {server.address} cannot be asked: {error.strerror}"
    return ProbeError(FailureKind.INTERNAL_ERROR, evidence, stage=Stage.DNS)


def _check_chain(passed: list[Alias]) -> None:
    """Raises ProbeError for a chain that has no end."""
    fault = None
    if passed and passed[-1].target.lower() in {alias.name.lower() for alias in passed}:
        fault = "aliases in a circle"
    elif len(passed) > MAX_ALIASES:
        fault = f"more than {MAX_ALIASES} aliases"
    if fault is not None:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, f"{passed[0].name}: {fault}")


def _records(answered: list[Inquiry]) -> list[Reply]:
    """The last answers that hold what was asked for."""
    return [reply for reply in answered[-1].replies.values() if reply.addresses or reply.services]


def _longest(replies: Iterable[Reply]) -> tuple[Alias, ...]:
    return max((reply.aliases for reply in replies), key=len, default=())


async def resolve(host: str, local: LocalNames, settings: NameSettings, deadline_ns: int) -> Resolution:
    """Every address of the host. Raises ProbeError when no server gives an honest answer, or DeadlineError."""
    known = local.addresses(host)
    if known:
        return Resolution(addresses=known)
    return await _look_up(local.in_full(host), _Search(local.servers(), settings, deadline_ns, []))


async def _look_up(names: tuple[str, ...], search: _Search) -> Resolution:
    """The addresses of the first of the names that has any."""
    asked_ns = time.monotonic_ns()
    for name in names:
        answered = await search.follow(name, _ADDRESS_TYPES)
        found = _records(answered)
        if found:
            break
    aliases = tuple(alias for inquiry in answered for alias in _longest(inquiry.replies.values()))
    addresses = tuple(address for reply in found for address in reply.addresses)[:_MAX_ADDRESSES]
    kept_s = [reply.ttl_s for reply in found or answered[-1].replies.values()]
    lookup = LookupCapture(
        asked_ns=asked_ns,
        answered=answered[-1].answered,
        aliases=aliases,
        min_ttl_s=min([*kept_s, *(alias.ttl_s for alias in aliases)]),
        resolver=answered[-1].server.address,
        addresses=addresses,
        questions=tuple(one for inquiry in search.inquiries for one in inquiry.questions())[:_MAX_QUESTIONS],
        left_loose=len(answered) - 1,
    )
    return Resolution(addresses=addresses, exists=not answered[-1].is_missing, lookup=lookup)


async def look_deeper(
    host: str, port: int, found: Resolution, local: LocalNames, settings: NameSettings, *, deadline_ns: int
) -> NameCapture:
    """What a deep probe asks about a name that was resolved: the same again at once, then its HTTPS record and others.

    Never raises for what a name server does: what could not be learned is absent. A name that this machine knows by
    itself is asked for nowhere.
    """
    if found.lookup is None:
        return NameCapture(host=host, addresses=found.addresses)
    servers = tuple(server for server in local.servers() if server.address == found.lookup.resolver)
    settings = replace(settings, rounds=min(settings.rounds, _ROUNDS_OF_EXTRAS))
    again: list[LookupCapture] = []
    for _ in range(_REPEATS):
        with suppress(ProbeError, DeadlineError):
            resolution = await _look_up(local.in_full(host), _Search(servers, settings, deadline_ns, []))
            again += [] if resolution.lookup is None else [resolution.lookup]
    search = _Search(servers, settings, deadline_ns, [])
    https = None
    with suppress(ProbeError, DeadlineError):
        https = _https_record(host, port, await search.follow(_https_name(host, port), _HTTPS_TYPE))
        for kind in _SELDOM_TYPES:
            await search.ask_in_turn(host, (kind,))
    questions = tuple(one for inquiry in search.inquiries for one in inquiry.questions())[:_MAX_QUESTIONS]
    addresses = tuple(dict.fromkeys((*found.addresses, *(one for lookup in again for one in lookup.addresses))))
    return NameCapture(
        host=host,
        addresses=addresses[:_MAX_ADDRESSES],
        lookup=found.lookup,
        again=tuple(again),
        https=https,
        questions=questions,
    )


def _https_name(host: str, port: int) -> str:
    """RFC 9460, 9.1: another port has a name of its own."""
    return host if port in _USUAL_PORTS else f"_{port}._https.{host}"


def _https_record(host: str, port: int, answered: list[Inquiry]) -> HttpsRecord | None:
    """The record that a client would try first; None when there is none that it may use, or that speaks of the server
    that is measured. Chrome passes over such as lead elsewhere too."""
    replies = [reply for inquiry in answered for reply in inquiry.replies.values()]
    names = {".", host.lower(), *(alias.target.lower() for reply in replies for alias in reply.aliases)}
    usable = [
        (service.priority, reply.ttl_s, service)
        for reply in _records(answered)
        for service in reply.services
        if _is_usable(service) and _leads_to(names, port, service)
    ]
    if not usable:
        return None
    _, ttl_s, record = min(usable, key=lambda one: one[0])
    offered = record.params.get(ParamKey.ALPN)
    ids = offered.ids if isinstance(offered, ALPNParam) else ()
    return HttpsRecord(
        protocols=tuple(one.decode("ascii", "replace") for one in ids[:_MAX_PROTOCOLS]),
        ech=ParamKey.ECH in record.params,
        ttl_s=ttl_s,
    )


def _leads_to(names: set[str], port: int, record: HTTPS) -> bool:
    """Whether the record's server is found at one of the names, and at that port."""
    other = record.params.get(ParamKey.PORT)
    return record.target.to_text(omit_final_dot=True).lower() in names and getattr(other, "port", port) == port


def _is_usable(record: HTTPS) -> bool:
    """Priority 0 only points to another name, and is followed by those who resolve for us, if at all."""
    demanded = record.params.get(ParamKey.MANDATORY)
    keys = frozenset(getattr(demanded, "keys", ()))
    return record.priority > 0 and keys <= _KNOWN_KEYS
