"""Every call that the service itself makes to an address somebody gave it: webhooks and Slack.

A name is resolved once, every answer judged by the one list (`workers.measurement.addresses`), a judged address dialled
and the peer compared with it, so that a name which answers differently the second time gains nothing. Redirects are
answers like any other and never followed. Proxies of the environment are not used: they would resolve the name again.
"""

import http.client
import socket
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import Any

from django.conf import settings

from backend.deadlines import Timed, left_s
from workers.measurement.addresses import Network, may_measure
from workers.measurement.target import Target, TargetError, parse_target

TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 16 * 1024
USER_AGENT = "Firstbyte/1 (+alerts)"
_MAX_ADDRESSES = 4

Resolve = Callable[[str, int], tuple[str, ...]]

# The C library cannot be told to hurry, so a lookup is waited for only as long as the call has time.
_LOOKUPS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="lookup")


class Reason(StrEnum):
    """Why there is no answer."""

    INVALID = "invalid"
    BLOCKED = "blocked_destination"
    NOT_FOUND = "not_found"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    BROKEN = "broken"


_SENTENCES = {
    Reason.BLOCKED: "The host leads to an address that may not be called from here; an admin must allow it: "
    "the setting is FIRSTBYTE_PRIVATE_TARGETS.",
    Reason.NOT_FOUND: "The host name has no address.",
    Reason.UNREACHABLE: "The host did not take the connection.",
    Reason.TIMEOUT: "The host did not answer in time.",
    Reason.TLS: "A secure connection could not be made.",
    Reason.BROKEN: "The host's answer was not HTTP, or broke off.",
}


class OutboundError(Exception):
    """There is no answer. The text is a sentence for people; it never says which address was refused."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{_SENTENCES.get(reason, '')} {detail}".strip())
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the other side said. Names of headers are lower case; `body` is cut at the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound:
    """A client for addresses of others. Thread-safe; every call has a connection of its own.

    `allowed` are ranges beside the public Internet that the operator opened, `timeout_s` is for all of a call, and
    `answer_bytes` is how much of an answer is read.
    """

    allowed: tuple[Network, ...] = ()
    extra_ports: frozenset[int] = frozenset()
    ca_file: Path | None = None
    timeout_s: float = TIMEOUT_S
    answer_bytes: int = MAX_ANSWER_BYTES
    resolve: Resolve = field(default_factory=lambda: system_addresses)

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """The answer to a POST, whatever its status. Raises OutboundError."""
        deadline = monotonic() + self.timeout_s
        target = self._target(url)
        try:
            with self._dial(target, self._addresses(target, deadline), deadline) as sock:
                secured = self._secure(sock, target, deadline)
                with secured:
                    return self._exchange(Timed(secured, deadline), target, body, headers)
        except OutboundError:
            raise
        except TimeoutError:
            raise OutboundError(Reason.TIMEOUT) from None
        except (OSError, http.client.HTTPException, ValueError):
            raise OutboundError(Reason.BROKEN) from None

    def _target(self, url: str) -> Target:
        try:
            return parse_target(url, extra_ports=self.extra_ports)
        except TargetError as error:
            raise OutboundError(Reason.INVALID, str(error)) from error

    def _addresses(self, target: Target, deadline: float) -> list[str]:
        """Where a host is, IPv4 first. One bad answer refuses the name: a mixed answer is what rebinding looks like."""
        addresses = _LOOKUPS.submit(self.resolve, target.host, target.port).result(left_s(deadline))
        if not addresses:
            raise OutboundError(Reason.NOT_FOUND)
        if not all(may_measure(address, allowed=self.allowed) for address in addresses):
            raise OutboundError(Reason.BLOCKED)
        return sorted(addresses, key=lambda address: ":" in address)[:_MAX_ADDRESSES]

    def _dial(self, target: Target, addresses: list[str], deadline: float) -> socket.socket:
        """A connection to the first judged address that takes one; each has a fair share of the time."""
        reason = Reason.UNREACHABLE
        for tried, address in enumerate(addresses):
            share = left_s(deadline) / (len(addresses) - tried)
            try:
                sock = socket.create_connection((address, target.port), timeout=share)
            except OSError as error:
                reason = Reason.TIMEOUT if isinstance(error, TimeoutError) else Reason.UNREACHABLE
                continue
            if not _is_peer(sock, address):
                sock.close()
                raise OutboundError(Reason.BLOCKED)
            return sock
        raise OutboundError(reason)

    def _secure(self, sock: socket.socket, target: Target, deadline: float) -> socket.socket:
        if not target.secure:
            return sock
        sock.settimeout(left_s(deadline))
        try:
            context = _context(self.ca_file)
        except OSError as error:
            why = f"The service cannot read the authority that FIRSTBYTE_CA_FILE names: {error.strerror}."
            raise OutboundError(Reason.TLS, why) from error
        try:
            return context.wrap_socket(sock, server_hostname=target.host)
        except ssl.SSLCertVerificationError as error:
            raise OutboundError(Reason.TLS, f"The certificate: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise OutboundError(Reason.TLS, error.reason or "") from None

    def _exchange(self, sock: Timed, target: Target, body: bytes, headers: Mapping[str, str]) -> Answer:
        connection: Any = http.client.HTTPConnection(target.host, target.port)
        connection.sock = sock
        connection.putrequest("POST", target.path, skip_host=True, skip_accept_encoding=True)
        own = {
            "Host": target.authority,
            "User-Agent": USER_AGENT,
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        for name, value in (own | dict(headers)).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(status=response.status, headers=names, body=_body(response, self.answer_bytes))


def client() -> Outbound:
    """The client that the operator's settings ask for."""
    return Outbound(allowed=settings.PRIVATE_TARGETS, extra_ports=settings.EXTRA_PORTS, ca_file=settings.CA_FILE)


def system_addresses(host: str, port: int) -> tuple[str, ...]:
    """Every address of a host by the system's resolver; none when it has none."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


@lru_cache(maxsize=4)
def _context(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _is_peer(sock: socket.socket, address: str) -> bool:
    return ip_address(sock.getpeername()[0]) == ip_address(address)


def _body(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    """As much of the body as there is: the status has decided, whatever becomes of the rest."""
    try:
        return response.read(most_bytes)
    except (OSError, http.client.HTTPException, ValueError):
        return b""
