"""One connection of a misbehaving server, in its own words on the wire: every write is one call to the kernel."""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Protocol

from OpenSSL import SSL

from workers.probes.bindings import resumed
from workers.tests.netlab.conduct import Conduct, Refusal

_READ_BYTES = 65536
_RECORD_HEADER_BYTES = 5
# What a browser of today takes for a page: a server that has heard nothing for so long gives up.
_PATIENCE_S = 30.0


class GoneError(OSError):
    """The other side left, or the lab is closing."""


class NoProtocolError(Exception):
    """None of ours was offered, and there is nothing else that we speak."""


class Wire:
    """A socket whose pauses end with the lab."""

    def __init__(self, sock: socket.socket, closing: threading.Event) -> None:
        sock.settimeout(_PATIENCE_S)
        self._sock = sock
        self._closing = closing

    def read(self) -> bytes:
        data = self._sock.recv(_READ_BYTES)
        if not data:
            raise GoneError
        return data

    def write(self, data: bytes) -> None:
        self._sock.sendall(data)

    def hurry(self, *, nodelay: bool) -> None:
        """Whether small writes leave at once; else Nagle's algorithm holds them back."""
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)

    def pause(self, seconds: float) -> None:
        if seconds and self._closing.wait(seconds):
            raise GoneError

    def write_end(self) -> None:
        """FIN: nothing more will be said."""
        self._sock.shutdown(socket.SHUT_WR)

    def be_silent(self) -> None:
        """Until the other side gives up."""
        while self.read():
            pass

    def give_to(self, act: Callable[[socket.socket, bytes], None], heard: bytes) -> None:
        """Somebody else serves this client, who is told what it has said so far."""
        act(self._sock, heard)
        raise GoneError

    def reset(self) -> None:
        """Closes with RST instead of FIN."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise GoneError


class Instead(Protocol):
    """Another TLS than OpenSSL's."""

    def is_for(self, hello: bytes) -> bool: ...

    def serve(self, sock: socket.socket, heard: bytes) -> None: ...


class PlainSide:
    """Answers without TLS."""

    protocol = ""

    def __init__(self, wire: Wire, conduct: Conduct) -> None:
        self.wire = wire
        wire.hurry(nodelay=conduct.nodelay)

    def read(self) -> bytes:
        return self.wire.read()

    def write(self, *parts: bytes) -> None:
        """All parts in one write."""
        self.wire.write(b"".join(parts))

    def finish(self) -> None:
        """Nothing is to be said at the end."""


class TlsSide:
    """Answers over TLS, each write of `record_bytes` at most a record. Made once the handshake is done.

    `instead` serves the client whose ClientHello it says it is for.
    """

    def __init__(self, wire: Wire, context: SSL.Context, conduct: Conduct, instead: "Instead | None" = None) -> None:
        self.wire = wire
        self._conduct = conduct
        self._instead = instead
        self._connection = SSL.Connection(context, None)
        self._connection.set_accept_state()
        wire.hurry(nodelay=conduct.handshake_nodelay)
        self._shake_hands()
        wire.hurry(nodelay=conduct.nodelay)
        self.protocol = self._connection.get_alpn_proto_negotiated().decode("ascii")

    def read(self) -> bytes:
        while True:
            try:
                return self._connection.recv(_READ_BYTES)
            except SSL.WantReadError:
                self._connection.bio_write(self.wire.read())
            except (SSL.ZeroReturnError, SSL.SysCallError) as error:
                raise GoneError from error

    def write(self, *parts: bytes) -> None:
        """Parts begin records of their own; all leave in one write."""
        for part in parts:
            for at in range(0, len(part), self._conduct.record_bytes):
                self._connection.sendall(part[at : at + self._conduct.record_bytes])
        self.wire.write(self._output())

    def finish(self) -> None:
        self._connection.shutdown()
        self.wire.write(self._output())

    def _shake_hands(self) -> None:
        hello = self._read_hello()
        limit = self._conduct.hello_limit_bytes
        if limit is not None and len(hello) > limit:
            self._refuse()
        if self._instead is not None and self._instead.is_for(hello):
            self.wire.give_to(self._instead.serve, hello)
        self._connection.bio_write(hello)
        done = self._advance()
        if self._conduct.breaks_sessions and resumed(self._connection):
            self._refuse()
        self._write_first_flight(self._output())
        while not done:
            self._connection.bio_write(self.wire.read())
            done = self._advance()
            output = self._output()
            if output:
                self.wire.write(output)

    def _refuse(self) -> None:
        if self._conduct.refusal is Refusal.RESET:
            self.wire.reset()
        self.wire.be_silent()

    def _read_hello(self) -> bytes:
        """The first record whole, so that its length is known before anything is said."""
        data = b""
        while len(data) < _RECORD_HEADER_BYTES or len(data) < _RECORD_HEADER_BYTES + int.from_bytes(data[3:5]):
            data += self.wire.read()
        return data

    def _advance(self) -> bool:
        try:
            self._connection.do_handshake()
        except SSL.WantReadError:
            return False
        except NoProtocolError as error:
            self.wire.write(self._output())
            raise GoneError from error
        return True

    def _write_first_flight(self, flight: bytes) -> None:
        self.wire.pause(self._conduct.handshake_think_s)
        self.wire.pause(0.0 if resumed(self._connection) else self._conduct.signature_s)
        stall = self._conduct.handshake_stall
        parts = [flight]
        if stall is not None:
            parts = [flight[: stall.after_bytes], flight[stall.after_bytes :]]
        elif self._conduct.handshake_write_bytes is not None:
            size = self._conduct.handshake_write_bytes
            parts = [flight[at : at + size] for at in range(0, len(flight), size)]
        for number, part in enumerate(parts):
            self.wire.pause(stall.pause_s if stall is not None and number else 0.0)
            self.wire.write(part)

    def _output(self) -> bytes:
        output = b""
        while True:
            try:
                output += self._connection.bio_read(_READ_BYTES)
            except SSL.WantReadError:
                return output


def make_context(conduct: Conduct, chain_file: str, key_file: str) -> SSL.Context:
    """One node's: its ticket keys and its cache of sessions are its own."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_max_proto_version(SSL.TLS1_2_VERSION if conduct.newest == "TLSv1.2" else SSL.TLS1_3_VERSION)
    context.use_certificate_chain_file(chain_file)
    context.use_privatekey_file(key_file)
    context.set_session_id(b"lab")
    context.set_session_cache_mode(SSL.SESS_CACHE_SERVER if conduct.session_ids else SSL.SESS_CACHE_OFF)
    if not conduct.tickets:
        context.set_options(SSL.OP_NO_TICKET)
    ours = [name.encode() for name in conduct.protocols]
    if ours:
        context.set_alpn_select_callback(lambda _, theirs: _chosen(ours, theirs, strict=conduct.http2_alone))
    return context


def _chosen(ours: list[bytes], theirs: list[bytes], *, strict: bool) -> Any:
    """What raises makes OpenSSL refuse with the alert no_application_protocol (RFC 7301, 3.2)."""
    found = next((one for one in ours if one in theirs), None)
    if found is None and strict:
        raise NoProtocolError
    return SSL.NO_OVERLAPPING_PROTOCOLS if found is None else found
