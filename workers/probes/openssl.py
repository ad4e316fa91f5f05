"""Connections of OpenSSL over memory, as a client offers them. What is private in cryptography is in `bindings`.

Verification always runs and never stops the handshake: its faults are collected, so that a bad certificate is measured
and shown, and the caller decides whether to go on.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from OpenSSL import SSL, crypto

from workers.measurement.compute.remembered import remembered
from workers.measurement.evidence import CertificateFault
from workers.measurement.nouns import noun
from workers.measurement.tls_records import TLS13
from workers.probes.bindings import (
    Notes,
    Pipe,
    Tap,
    ask_for_servers,
    missing_bindings,
    offer_groups,
    packed_address,
    verify_host,
)
from workers.probes.trust import another_way_may_help, beside_the_way, chain_faults, fault_of_way, ways
from workers.probes.verdicts import Verdicts

HTTP11, HTTP2 = (b"http/1.1",), (b"h2",)
# What a browser offers without the hybrid key share: one share, X25519's.
_CLASSICAL_GROUPS = "X25519:P-256"
# A browser's order, and the cheaper hash first: a server that takes ours is measured with what its visitors get.
SUITES = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
_MAX_CHAIN = 16
_MESSAGE_HEADER_BYTES = 4
# What OpenSSL puts on top of the reason since 3.2.
_SAYS_NOTHING = "record layer failure"


@noun(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a ClientHello offers. The default is all that a browser does, for HTTP/1.1."""

    classical: bool = False
    tls13: bool = True
    tickets: bool = True
    protocols: tuple[bytes, ...] = HTTP11
    session: SSL.Session | None = None


USUAL = Offer()


@noun(frozen=True, slots=True, kw_only=True)
class Party:
    """A client's side over memory, what it notes, and the tap that must be told who is at work."""

    connection: SSL.Connection
    pipe: Pipe
    notes: Notes
    tap: Tap

    def listen(self) -> None:
        """Called before OpenSSL reads anything."""
        self.tap.listener = self.notes

    def keep_verdict(self, chain: tuple[bytes, ...]) -> None:
        """Called when the handshake is done."""
        notes = self.notes
        if notes.verdict is not None and not notes.spared and not notes.faults:
            self.tap.verdicts.keep(notes.verdict, chain)


class Contexts:
    """What all connections of an engine share: authorities and offers. Building it costs milliseconds."""

    def __init__(self, ca_file: Path | None) -> None:
        """Raises RuntimeError when the installed cryptography does not fit, SSL.Error or OSError for `ca_file`."""
        missing = missing_bindings()
        if missing:
            raise RuntimeError(f"this cryptography lacks {', '.join(missing)}: install the version of requirements.txt")
        authorities = _make_context()
        authorities.set_default_verify_paths()
        if ca_file is not None:
            authorities.load_verify_locations(str(ca_file))
        self._store = authorities.get_cert_store() or crypto.X509Store()
        ask_for_servers(self._store)
        self._usual, self._classical = _make_context(), _make_context()
        offer_groups(self._classical, _CLASSICAL_GROUPS)
        self._tap = Tap(authorities, Verdicts())
        self._tap.listen_to(self._usual)
        self._tap.listen_to(self._classical)

    def party(self, host: str, offer: Offer = USUAL) -> Party:
        """A client with SNI that will ask whether the leaf is for `host`."""
        connection = SSL.Connection(self._classical if offer.classical else self._usual, None)
        connection.set_connect_state()
        notes = Notes(host)
        if packed_address(host) is None:
            connection.set_tlsext_host_name(host.encode("ascii"))
        verify_host(connection, host)
        connection.request_ocsp()
        if offer is not USUAL:
            _adjust(connection, offer)
        return Party(connection=connection, pipe=Pipe(connection, self._tap.buffer), notes=notes, tap=self._tap)

    def faults(self, chain: tuple[bytes, ...], host: str) -> tuple[CertificateFault, ...]:
        """What is wrong with a chain that came over no connection of OpenSSL's, as the notes say of one that did."""
        faults = chain_faults(self._store, chain, host)
        return beside_the_way(faults) if another_way_may_help(faults) and self.trusts_another_way(chain) else faults

    def trusts_another_way(self, chain: tuple[bytes, ...]) -> bool:
        """Whether any way from the leaf through the others leads to somebody who is known. The first of an issuer's
        certificates may lead nowhere, or to one that has run out, and another one, cross-signed, to somebody who is."""
        return any(self._trusts(way) for way in ways(chain))

    def _trusts(self, way: tuple[bytes, ...]) -> bool:
        """The host is not looked at. What was fetched may be nothing that OpenSSL can read."""
        with suppress(crypto.Error):
            certificates = [crypto.load_certificate(crypto.FILETYPE_ASN1, der) for der in way]
            return fault_of_way(self._store, certificates) is None
        return False


def _make_context() -> SSL.Context:
    """What a browser offers, and no authority to verify an answer by."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_alpn_protos(list(HTTP11))
    context.set_tls13_ciphersuites(SUITES)
    return context


def _adjust(connection: SSL.Connection, offer: Offer) -> None:
    if not offer.tls13:
        connection.set_options(SSL.OP_NO_TLSv1_3)
    if not offer.tickets:
        connection.set_options(SSL.OP_NO_TICKET)
    if offer.protocols != HTTP11:
        connection.set_alpn_protos(list(offer.protocols))
    if offer.session is not None:
        connection.set_session(offer.session)


def chain_of(party: Party, version: str) -> tuple[bytes, ...]:
    """The certificates as the server sent them, DER, or as it had sent them to the session that was resumed."""
    if party.notes.certificate is not None:
        return certificates_of(party.notes.certificate, version)[:_MAX_CHAIN]
    chain = party.connection.get_peer_cert_chain() or []
    return tuple(crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate) for certificate in chain[:_MAX_CHAIN])


@remembered
def certificates_of(message: bytes, version: str) -> tuple[bytes, ...]:
    """What a Certificate message holds that OpenSSL has taken (RFC 8446, 4.4.2; RFC 5246, 7.4.2).

    Remembered, because the same site is asked every minute: so its certificates are in memory once.
    """
    found: list[bytes] = []
    modern = version == TLS13
    # A context, empty from a server, and the length of the list; only TLS 1.3 has the context, and extensions.
    at = _MESSAGE_HEADER_BYTES + (4 + message[_MESSAGE_HEADER_BYTES] if modern else 3)
    while at < len(message):
        end = at + 3 + int.from_bytes(message[at : at + 3])
        found.append(message[at + 3 : end])
        at = end + 2 + int.from_bytes(message[end : end + 2]) if modern else end
    return tuple(found)


def farewell(party: Party) -> bytes:
    """What tells the server that we end the connection. One who is left without a word forgets the session: to OpenSSL
    that is a fatal error, since it may be somebody who cuts answers short."""
    with suppress(SSL.Error):
        party.connection.shutdown()
    return party.pipe.take()


def session_of(connection: SSL.Connection) -> SSL.Session | None:
    """The newest session of a connection that ends now. OpenSSL takes none up again whose end was not told."""
    connection.set_shutdown(SSL.SENT_SHUTDOWN)
    return connection.get_session()


def reason_of(error: SSL.Error) -> str:
    """OpenSSL's own words for the last thing that went wrong, such as "tlsv1 alert protocol version"."""
    if isinstance(error, SSL.ZeroReturnError):
        return "close notify"
    entries: list[Any] = error.args[0] if error.args and isinstance(error.args[0], list) else []
    reasons = [str(entry[2]) for entry in entries]
    telling = [reason for reason in reasons if reason != _SAYS_NOTHING] or reasons
    return telling[-1] if telling else type(error).__name__
