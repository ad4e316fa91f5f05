"""One hop: a name, a connection, a request, an answer. Each step leaves its mark in the recorder before the next."""

from collections.abc import Callable
from dataclasses import dataclass
from socket import socket

from OpenSSL import SSL

from workers.measurement.compute.certificate import certificate_error
from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.messages import ProgressStage, RunRequest
from workers.measurement.target import Target
from workers.probes.body_text import TextFinder
from workers.probes.channels import Channel, PlainChannel, TlsChannel, Wire
from workers.probes.dns import resolve
from workers.probes.faults import TIMEOUTS, ProbeError
from workers.probes.guard import choose, dial, open_socket
from workers.probes.http1 import Head, ResponseReader
from workers.probes.loop import DeadlineError
from workers.probes.names import LocalNames
from workers.probes.openssl import make_connection
from workers.probes.recorder import HopRecorder
from workers.probes.settings import ProbeSettings

Tell = Callable[[ProgressStage], None] | None
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# What comes over the wire for a body within its limit: chunks of one byte carry five of framing and more.
_WIRE_FACTOR = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What all probes of an engine share. Used in the engine's thread only."""

    settings: ProbeSettings
    names: LocalNames
    context: SSL.Context


class Exchange:
    """One hop of one run, from the name to the last byte (or the head alone, when that sends us elsewhere)."""

    def __init__(self, kit: Kit, request: RunRequest, recorder: HopRecorder, tell: Tell) -> None:
        self.finder: TextFinder | None = None
        self._kit = kit
        self._request = request
        self._recorder = recorder
        self._tell = tell
        self._reader = ResponseReader(max_body_bytes=kit.settings.max_body_bytes, on_body=self._take_body)

    async def run(self, headers: tuple[Header, ...], deadline_ns: int) -> Head:
        """The head of the answer. Raises ProbeError; what was seen before is in the recorder."""
        try:
            return await self._run(headers, deadline_ns)
        except DeadlineError as error:
            seconds = self._request.timeout_us / 1_000_000
            raise ProbeError(TIMEOUTS[self._recorder.stage], f"within {seconds:g} s") from error
        finally:
            cut_short = self._recorder.complete and not self._reader.complete
            self._recorder.body_bytes = None if cut_short else self._reader.body_bytes
            self._recorder.head = self._reader.head

    async def _run(self, headers: tuple[Header, ...], deadline_ns: int) -> Head:
        address = await self._find(deadline_ns)
        with open_socket(address) as sock:
            self._recorder.stage = Stage.CONNECT
            self._recorder.connect = await dial(sock, address, self._recorder.target.port, deadline_ns)
            channel = await self._secure(sock, deadline_ns)
            self._recorder.stage = Stage.SEND
            await channel.send(request_bytes(self._recorder.target, headers, self._kit.settings.user_agent))
            self._recorder.stage = Stage.WAIT
            if self._tell is not None:
                self._tell(ProgressStage.LOADING)
            return await self._receive(channel)

    async def _find(self, deadline_ns: int) -> str:
        host, settings = self._recorder.target.host, self._kit.settings
        resolution = await resolve(host, self._kit.names, settings.names, deadline_ns)
        self._recorder.lookup = resolution.lookup
        if not resolution.addresses:
            raise ProbeError(FailureKind.DNS_NOT_FOUND, f"{host} has no address" if resolution.exists else host)
        address = choose(host, resolution.addresses, settings.allowed)
        self._recorder.address = address
        return address

    async def _secure(self, sock: socket, deadline_ns: int) -> Channel:
        wire = Wire(sock, self._recorder, deadline_ns)
        if not self._recorder.target.secure:
            return PlainChannel(wire)
        self._recorder.stage = Stage.TLS
        channel = TlsChannel(wire, make_connection(self._kit.context, self._recorder.target.host))
        await channel.shake_hands()
        self._judge_certificate()
        return channel

    def _judge_certificate(self) -> None:
        handshake = self._recorder.handshake
        if handshake is None or self._request.ignore_certificate_errors:
            return
        error = certificate_error(handshake.faults)
        if error is not None:
            raise ProbeError(error.kind, error.text)

    async def _receive(self, channel: Channel) -> Head:
        limit_bytes = self._kit.settings.max_body_bytes * _WIRE_FACTOR
        while not self._reader.complete:
            data = await channel.receive()
            if data:
                self._reader.feed(data)
            else:
                self._reader.close()
            if self._recorder.received_bytes > limit_bytes:
                raise ProbeError(FailureKind.RESPONSE_TOO_LARGE, f"more than {limit_bytes} bytes on the wire")
            if self._reader.head and redirects(self._reader.head, self._request):
                break
        self._recorder.complete = True
        assert self._reader.head is not None
        return self._reader.head

    def _take_body(self, data: bytes) -> None:
        if self._request.body_text is None or self._reader.head is None:
            return
        if self.finder is None:
            self.finder = TextFinder(self._request.body_text, self._reader.head)
        self.finder.feed(data)


def redirects(head: Head, request: RunRequest) -> bool:
    """Whether the answer sends us elsewhere. A redirect that the monitor expects by its status is the answer itself."""
    return (
        head.status in _REDIRECTS and head.status not in request.accepted_status and head.first("location") is not None
    )


def request_bytes(target: Target, headers: tuple[Header, ...], user_agent: str) -> bytes:
    """A GET for the target. Headers of the monitor take the place of ours of the same name."""
    lines = {
        "host": ("Host", target.authority),
        "user-agent": ("User-Agent", user_agent),
        "accept": ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        "accept-encoding": ("Accept-Encoding", "gzip"),
    }
    lines |= {header.name.lower(): (header.name, header.value) for header in headers}
    lines["connection"] = ("Connection", "close")
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.values())
    return f"GET {target.path} HTTP/1.1\r\n{text}\r\n".encode()
