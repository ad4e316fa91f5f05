"""One connection to a target: found, dialled, secured, and then asked as often as it stays open."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from socket import socket
from types import TracebackType
from typing import Self

from OpenSSL import SSL

from workers.measurement.compute.certificate import certificate_error
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.pair import DialAddress
from workers.measurement.target import Target
from workers.probes.channels import Channel, PlainChannel, TlsChannel, Wire
from workers.probes.dns import resolve
from workers.probes.faults import ProbeError
from workers.probes.guard import choose, dial, open_socket
from workers.probes.names import LocalNames
from workers.probes.openssl import make_connection
from workers.probes.recorder import HopRecorder
from workers.probes.settings import ProbeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What all probes of an engine share. Used in the engine's thread only."""

    settings: ProbeSettings
    names: LocalNames
    context: SSL.Context


class Link(AbstractContextManager["Link"]):
    """A connection that is opened when it is first needed and closed with its `with` block.

    `instead` is dialled in place of what the target's name says. It is judged like any answer of a name server.
    """

    def __init__(
        self, kit: Kit, target: Target, *, ignore_certificate_errors: bool, instead: DialAddress | None = None
    ) -> None:
        self.target = target
        self._kit = kit
        self._ignore_certificate_errors = ignore_certificate_errors
        self._instead = instead
        self._address: str | None = None
        self._sock: socket | None = None
        self._channel: Channel | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sock is not None:
            self._sock.close()

    async def channel(self, recorder: HopRecorder, deadline_ns: int) -> Channel:
        """The connection, opened now or before; from now on its marks go to this recorder. Raises ProbeError."""
        recorder.port = self._port
        if self._channel is None:
            self._channel = await self._open(recorder, deadline_ns)
        else:
            recorder.address = self._address
            self._channel.turn_to(recorder)
        return self._channel

    @property
    def _port(self) -> int:
        chosen = None if self._instead is None else self._instead.port
        return self.target.port if chosen is None else chosen

    async def _open(self, recorder: HopRecorder, deadline_ns: int) -> Channel:
        self._address = recorder.address = await self._find(recorder, deadline_ns)
        self._sock = open_socket(self._address)
        recorder.stage = Stage.CONNECT
        recorder.connect = await dial(self._sock, self._address, self._port, deadline_ns)
        wire = Wire(self._sock, recorder, deadline_ns)
        return await self._secured(wire, recorder) if self.target.secure else PlainChannel(wire)

    async def _find(self, recorder: HopRecorder, deadline_ns: int) -> str:
        host, settings = self.target.host, self._kit.settings
        if self._instead is not None:
            return choose(host, (self._instead.address,), settings.allowed)
        told = settings.resolve.get((host, self.target.port))
        if told is not None:
            return choose(host, (told,), settings.allowed)
        resolution = await resolve(host, self._kit.names, settings.names, deadline_ns)
        recorder.lookup = resolution.lookup
        if not resolution.addresses:
            raise ProbeError(FailureKind.DNS_NOT_FOUND, f"{host} has no address" if resolution.exists else host)
        return choose(host, resolution.addresses, settings.allowed)

    async def _secured(self, wire: Wire, recorder: HopRecorder) -> Channel:
        recorder.stage = Stage.TLS
        channel = TlsChannel(wire, make_connection(self._kit.context, self.target.host))
        await channel.shake_hands()
        handshake = recorder.handshake
        if handshake is not None and not self._ignore_certificate_errors:
            error = certificate_error(handshake.faults)
            if error is not None:
                raise ProbeError(error.kind, error.text)
        return channel
