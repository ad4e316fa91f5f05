"""A server of real OpenSSL, the system's, that does what the protocol allows and hardly anybody does."""

import ctypes
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.listening import Listening

_END_OF_HEAD = b"\r\n\r\n"
_READ_BYTES = 65536
_HANDSHAKE = 22
_PATIENCE_S = 30.0
# Where CPython's objects of `ssl` keep OpenSSL's: behind their own head, and behind the socket.
_CONTEXT_AT, _CONNECTION_AT = 16, 24

_openssl = ctypes.CDLL("libssl.so.3")
_openssl.SSL_CTX_set_block_padding.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_openssl.SSL_key_update.argtypes = [ctypes.c_void_p, ctypes.c_int]
_openssl.SSL_new_session_ticket.argtypes = [ctypes.c_void_p]
_openssl.SSL_do_handshake.argtypes = [ctypes.c_void_p]
_openssl.SSL_renegotiate.argtypes = [ctypes.c_void_p]
_openssl.SSL_renegotiate_pending.argtypes = [ctypes.c_void_p]

Act = Callable[["Talk"], None]
Reframe = Callable[[bytes], bytes]


def pad_records(context: ssl.SSLContext, block_bytes: int) -> None:
    """Each encrypted record of TLS 1.3 is filled up to a multiple of that (RFC 8446, 5.4)."""
    place = ctypes.c_void_p.from_address(id(context) + _CONTEXT_AT)
    assert _openssl.SSL_CTX_set_block_padding(place, block_bytes) == 1


def in_pieces(flight: bytes, size: int = 1) -> bytes:
    """The same with handshake messages cut over records of that size; what is encrypted stays as it is."""
    found = b""
    while flight and flight[0] == _HANDSHAKE:
        length = int.from_bytes(flight[3:5])
        head, message, flight = flight[:3], flight[5 : 5 + length], flight[5 + length :]
        parts = (message[at : at + size] for at in range(0, length, size))
        found += b"".join(head + len(part).to_bytes(2) + part for part in parts)
    return found + flight


class Talk:
    """One connection. What it says leaves with `flush`; `reframe` changes flights of the handshake on their way out."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, closing: threading.Event) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(_PATIENCE_S)
        self.sock = sock
        self._closing = closing
        self._into, self._from = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._into, self._from, server_side=True)

    def shake_hands(self, reframe: Reframe = bytes) -> None:
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush(reframe)
                self._read()
        self.flush()

    def request(self) -> bytes:
        """The head of the next one; nothing when the client takes its leave."""
        data = b""
        while _END_OF_HEAD not in data:
            try:
                part = self._tls.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                self._read()
                continue
            if not part:
                return b""
            data += part
        return data

    def say(self, *parts: bytes) -> None:
        """Each part begins a record."""
        for part in parts:
            self._tls.write(part)

    def update_key(self) -> None:
        assert _openssl.SSL_key_update(self._place, 0) == 1
        _openssl.SSL_do_handshake(self._place)

    def shake_hands_again(self) -> None:
        """TLS 1.2 alone can: as servers do that ask for a client's certificate only where they want one."""
        assert _openssl.SSL_renegotiate(self._place) == 1
        _openssl.SSL_do_handshake(self._place)
        while _openssl.SSL_renegotiate_pending(self._place):
            self.flush()
            self._read()
            with suppress(ssl.SSLWantReadError):
                self._tls.read(1)

    def give_ticket(self) -> None:
        """Only TLS 1.3 has tickets at any time."""
        if self._tls.version() == "TLSv1.3":
            assert _openssl.SSL_new_session_ticket(self._place) == 1
            _openssl.SSL_do_handshake(self._place)

    def pause(self, seconds: float) -> None:
        self._closing.wait(seconds)

    def flush(self, reframe: Reframe = bytes) -> None:
        output = self._from.read()
        if output:
            self.sock.sendall(reframe(output))

    @property
    def _place(self) -> ctypes.c_void_p:
        return ctypes.c_void_p.from_address(id(self._tls._sslobj) + _CONNECTION_AT)  # type: ignore[attr-defined]

    def _read(self) -> None:
        data = self.sock.recv(_READ_BYTES)
        if not data:
            raise EOFError
        self._into.write(data)


class OddServer(Listening):
    """Has each connection served by `act`."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext, act: Act) -> None:
        super().__init__(listener)
        self._context, self._act = context, act

    def serve(self, sock: socket.socket, number: int) -> None:
        # Clients that leave, and handshakes that fail, are what this is about.
        with sock, suppress(OSError, EOFError, ssl.SSLError):
            self._act(Talk(sock, self._context, self.closing))


def server_context(chain: Chain) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain.chain_file, chain.key_file)
    context.set_alpn_protocols(["http/1.1"])
    return context
