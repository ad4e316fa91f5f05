"""Local servers that misbehave on purpose: a script per connection, names of our own, certificates made for the test.

Everything is bound to 127.0.0.1 and a port that the kernel chose, where a test asks for no other, and ends with its
`with` block.
"""

import errno
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from dns.message import Message

LOOPBACK = "127.0.0.1"
# What these servers choose of what browsers offer: the hybrid group where their OpenSSL knows it.
BROWSERS_GROUP = "X25519MLKEM768" if ssl.OPENSSL_VERSION_INFO >= (3, 5) else "x25519"
Script = Callable[["Peer"], None]


class Peer:
    """One client, as a script sees it. `gone` is set when the test is over, so that a script that waits can end."""

    def __init__(self, sock: socket.socket, gone: threading.Event) -> None:
        self.sock = sock
        self.gone = gone

    def read_request(self) -> bytes:
        """The head of a request; what there was when the client left."""
        data = b""
        while b"\r\n\r\n" not in data:
            part = self.sock.recv(65536)
            if not part:
                break
            data += part
        return data

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def pause(self, seconds: float) -> None:
        """Waits as a slow server does; ends early when the test is over."""
        self.gone.wait(seconds)

    def reset(self) -> None:
        """Closes with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Server:
    """Accepts TCP, TLS too when `context` is given, and runs the script in a thread of its own for each connection."""

    def __init__(
        self, script: Script, *, context: ssl.SSLContext | None = None, host: str = LOOPBACK, port: int = 0
    ) -> None:
        self.connections = 0
        self._script = script
        self._context = context
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self._gone = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def url(self, path: str = "/", *, host: str = LOOPBACK) -> str:
        return f"{'http' if self._context is None else 'https'}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gone.set()
        _end_accepting(self._listener)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._gone.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                continue
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(120)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A client that hangs up, or refuses a certificate, is what half of the tests are about.
        with sock, suppress(OSError), self._secured(sock) as secured:
            self._script(Peer(secured, self._gone))

    def _secured(self, sock: socket.socket) -> socket.socket:
        return sock if self._context is None else self._context.wrap_socket(sock, server_side=True)


def _end_accepting(listener: socket.socket) -> None:
    """Wakes whoever waits for a connection, with an error."""
    listener.shutdown(socket.SHUT_RDWR)


def answering(response: bytes, *, after_s: float = 0.0) -> Script:
    """Reads the request, waits, sends the response and closes."""

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.pause(after_s)
        peer.send(response)
        finish(peer)

    return script


def keeping(response: bytes, *, after_s: float = 0.0) -> Script:
    """Answers every request of a connection, each after a pause, until the client leaves."""

    def script(peer: Peer) -> None:
        while peer.read_request():
            peer.pause(after_s)
            peer.send(response)

    return script


def finish(peer: Peer) -> None:
    """Closes in good manners:
    TLS says good-bye, and what the client still sends is read rather than answered with RST.
    """
    if isinstance(peer.sock, ssl.SSLSocket):
        peer.sock.unwrap().close()
    else:
        peer.sock.shutdown(socket.SHUT_WR)
        peer.sock.recv(1)


def response(body: bytes = b"hello", *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def redirect(location: str, status: str = "302 Found", *, more: tuple[str, ...] = ()) -> bytes:
    return response(b"", status=status, headers=(f"Location: {location}", *more))


@dataclass(frozen=True, slots=True)
class Authority:
    """A throw-away certificate authority; `ca_file` is its certificate, for those who shall trust it."""

    ca: trustme.CA
    ca_file: Path

    @classmethod
    def make(cls, directory: Path) -> Self:
        ca, path = trustme.CA(), directory / "ca.pem"
        ca.cert_pem.write_to_path(str(path))
        return cls(ca, path)

    def context(
        self, *names: str, starts_in: timedelta | None = None, ends_in: timedelta | None = None
    ) -> ssl.SSLContext:
        """A server's context with a leaf for the names; its days are counted from now."""
        now = datetime.now(UTC)
        leaf = self.ca.issue_cert(
            *(names or (LOOPBACK, "localhost")),
            not_before=None if starts_in is None else now + starts_in,
            not_after=None if ends_in is None else now + ends_in,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.configure_cert(context)
        return context


def self_signed_context(directory: Path, name: str) -> ssl.SSLContext:
    """A server's context whose leaf vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = directory / "self-signed.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


Answer = Callable[[Message], Message | None]


@dataclass
class Zone:
    """What a name server says: addresses by name and type, aliases, and names it fails or keeps silent on.

    A name that is in none of them does not exist. `rotating` names give their next address at each question for A.
    `https` are HTTPS records in their text form; `ttls` are those of names, 60 s where nothing is said. Of names below
    `domains` it says by whose word (SOA) they do not exist.
    """

    a: dict[str, list[str]] = field(default_factory=dict)
    aaaa: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    rotating: dict[str, Iterator[str]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    https: dict[str, list[str]] = field(default_factory=dict)
    ttls: dict[str, int] = field(default_factory=dict)
    domains: set[str] = field(default_factory=set)

    def answer(self, query: Message) -> Message | None:
        reply = dns.message.make_response(query)
        name = query.question[0].name.to_text(omit_final_dot=True).lower()
        while name in self.aliases:
            target = f"{self.aliases[name]}."
            reply.answer.append(dns.rrset.from_text(f"{name}.", self.ttls.get(name, 60), "IN", "CNAME", target))
            name = self.aliases[name]
        if name in self.silent:
            return None
        if name in self.failing:
            reply.set_rcode(dns.rcode.SERVFAIL)
        elif not self._add_records(reply, name, query.question[0].rdtype):
            reply.set_rcode(dns.rcode.NXDOMAIN)
            domain = name.rpartition(".")[2]
            if domain in self.domains:
                soa = f"ns.{domain}. admin.{domain}. 1 1800 900 604800 900"
                reply.authority.append(dns.rrset.from_text(f"{domain}.", 900, "IN", "SOA", soa))
        return reply

    def _add_records(self, reply: Message, name: str, rdtype: dns.rdatatype.RdataType) -> bool:
        """Whether the name exists."""
        known: dict[int, dict[str, list[str]]] = {
            dns.rdatatype.A: self.a,
            dns.rdatatype.AAAA: self.aaaa,
            dns.rdatatype.HTTPS: self.https,
        }
        found = known.get(rdtype, {}).get(name, [])
        if rdtype == dns.rdatatype.A and name in self.rotating:
            found = [next(self.rotating[name])]
        if found:
            reply.answer.append(dns.rrset.from_text(f"{name}.", self.ttls.get(name, 60), "IN", rdtype, *found))
        return name in self.rotating or any(name in one for one in known.values())


class DnsServer:
    """Answers over UDP and TCP on one port. `questions` counts those by UDP; `truncating` sends the asker on to TCP,
    `slow_s` is how long after each question by UDP its answer leaves."""

    def __init__(
        self, answer: Answer, *, truncating: bool = False, slow_s: float = 0, host: str = LOOPBACK, port: int = 0
    ) -> None:
        self.questions = 0
        self._slow_s = slow_s
        self._answer = answer
        self._truncating = truncating
        self._tcp, self._udp = tcp_and_udp(host, port)
        self.port: int = self._tcp.getsockname()[1]
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=serve, daemon=True) for serve in (self._serve_udp, self._serve_tcp)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        # Nothing of nobody: it only wakes who waits.
        self._udp.sendto(b"", self._udp.getsockname())
        _end_accepting(self._tcp)
        for thread in self._threads:
            thread.join()
        self._udp.close()
        self._tcp.close()

    def _serve_udp(self) -> None:
        while True:
            data, address = self._udp.recvfrom(65535)
            if self._ending.is_set():
                break
            try:
                question = dns.message.from_wire(data)
            except dns.exception.DNSException:
                # What somebody sent to whoever had the port before.
                continue
            self.questions += 1
            reply = self._answer(question)
            if reply is not None:
                self._send(self._cut(reply).to_wire(), address)

    def _send(self, reply: bytes, address: tuple[str, int]) -> None:
        if not self._slow_s:
            self._udp.sendto(reply, address)
            return
        later = threading.Timer(self._slow_s, self._udp.sendto, (reply, address))
        later.start()
        self._threads.append(later)

    def _cut(self, reply: Message) -> Message:
        if self._truncating:
            reply.flags |= dns.flags.TC
            reply.answer.clear()
        return reply

    def _serve_tcp(self) -> None:
        while not self._ending.is_set():
            with suppress(OSError):
                sock, _ = self._tcp.accept()
                with sock:
                    sock.settimeout(120)
                    self._answer_by_tcp(sock)

    def _answer_by_tcp(self, sock: socket.socket) -> None:
        with sock.makefile("rwb") as stream:
            size = int.from_bytes(stream.read(2))
            question = stream.read(size)
            # Who asks may have been given no more time.
            if not question or len(question) < size:
                return
            reply = self._answer(dns.message.from_wire(question))
            if reply is not None:
                stream.write(reply.to_wire(prepend_length=True))


def tcp_and_udp(host: str = LOOPBACK, port: int = 0) -> tuple[socket.socket, socket.socket]:
    """A listener and a socket of UDP on one port: what the kernel chooses for the one may be taken for the other."""
    while True:
        tcp, udp = socket.create_server((host, port)), socket.socket(type=socket.SOCK_DGRAM)
        try:
            udp.bind((host, tcp.getsockname()[1]))
            return tcp, udp
        except OSError as error:
            tcp.close()
            udp.close()
            if port or error.errno != errno.EADDRINUSE:
                raise


@contextmanager
def silent_port(host: str = LOOPBACK, port: int = 0) -> Iterator[int]:
    """A port whose backlog is full: a connection is neither taken nor refused. Any free one, unless one is named."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((host, port))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket(family) for _ in range(3)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex((host, port))
            # It can be read once a connection stands in the backlog, which is then full.
            select.select([listener], [], [])
            yield port
        finally:
            for filler in fillers:
                filler.close()
