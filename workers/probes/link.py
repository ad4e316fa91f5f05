"""One connection to a target: found, dialled, secured, and then asked as often as it stays open."""

import time
from contextlib import AbstractContextManager, suppress
from dataclasses import field, replace
from socket import socket
from types import TracebackType
from typing import Self

from OpenSSL import SSL

from workers.measurement.captures_probe import HandshakeCapture
from workers.measurement.compute.certificate import certificate_error
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.nouns import noun
from workers.measurement.pair import DialAddress
from workers.measurement.target import Target
from workers.probes.channels import Channel, PlainChannel, TlsChannel
from workers.probes.dns import resolve
from workers.probes.faults import ProbeError
from workers.probes.guard import choose, dial, family_of, open_socket
from workers.probes.names import LocalNames
from workers.probes.openssl import HTTP2, USUAL, Contexts, Offer, Party, farewell, session_of
from workers.probes.passage import Network
from workers.probes.recorder import HopRecorder
from workers.probes.settings import ProbeSettings
from workers.probes.stamps import tcp_info
from workers.probes.trust import another_way_may_help, beside_the_way
from workers.probes.wire import Acks, Wire


@noun(frozen=True, slots=True, kw_only=True)
class Kit:
    """What all probes of an engine share. Used in the engine's thread only."""

    settings: ProbeSettings
    names: LocalNames
    contexts: Contexts
    network: Network = field(default_factory=Network)


@noun(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a connection is made. `instead` is dialled in place of what the target's name says, and judged like any
    answer of a name server. `early` is a request to be sent with the ClientHello. `sparing` leaves half of the time for
    another try when the server says nothing to the ClientHello.
    """

    instead: DialAddress | None = None
    offer: Offer = USUAL
    acks: Acks = Acks.AT_ONCE
    early: bytes = b""
    sparing: bool = False


class Link(AbstractContextManager["Link"]):
    """A connection that is opened when it is first needed and closed with its `with` block.

    `fault` is what is wrong with the certificate once the connection is open; whether that matters the caller decides.
    """

    def __init__(self, kit: Kit, target: Target, manner: Manner) -> None:
        self.target = target
        self.fault: ProbeError | None = None
        self._kit = kit
        self._manner = manner
        self._address: str | None = None
        self._sock: socket | None = None
        self._recorder: HopRecorder | None = None
        self._channel: Channel | None = None
        self._party: Party | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sock is None:
            return
        if self._recorder is not None:
            self._recorder.tcp_ended = tcp_info(self._sock)
            self._recorder.ended_ns = time.monotonic_ns()
        self._sock.close()

    async def channel(self, recorder: HopRecorder, deadline_ns: int) -> Channel:
        """The connection, opened now or before; from now on its marks go to this recorder. Raises ProbeError."""
        recorder.port = self._port
        if self._channel is None:
            wire = await self.wire(recorder, deadline_ns)
            self._channel = await self._secured(wire) if self.target.secure else PlainChannel(wire)
        elif self._recorder is not recorder:
            self._recorder = recorder
            recorder.address = self._address
            self._channel.turn_to(recorder)
        return self._channel

    async def wire(self, recorder: HopRecorder, deadline_ns: int) -> Wire:
        """The connection before a word is said, for one who speaks TLS in another way. Raises ProbeError."""
        recorder.port = self._port
        self._recorder = recorder
        self._address = recorder.address = await self._find(recorder, deadline_ns)
        self._sock = open_socket(self._address, recorder.where)
        await dial(self._sock, self._address, recorder, deadline_ns)
        if family_of(self._address) == 6:
            self._kit.network.ipv6.last_ns = time.monotonic_ns()
        return Wire(self._sock, recorder, deadline_ns, self._manner.acks)

    @property
    def is_open(self) -> bool:
        """Whether something was asked over it already, or could be at once."""
        return self._channel is not None

    def session(self) -> SSL.Session | None:
        """What a later connection may take up again. This one must not be used any more."""
        if self._party is None or self._sock is None:
            return None
        with suppress(OSError):
            self._sock.send(farewell(self._party))
        return session_of(self._party.connection)

    @property
    def _port(self) -> int:
        chosen = None if self._manner.instead is None else self._manner.instead.port
        return self.target.port if chosen is None else chosen

    async def _find(self, recorder: HopRecorder, deadline_ns: int) -> str:
        host, settings = self.target.host, self._kit.settings
        if self._manner.instead is not None:
            return choose(host, (self._manner.instead.address,), settings.allowed)
        told = settings.resolve.get((host, self.target.port))
        if told is not None:
            return choose(host, (told,), settings.allowed)
        resolution = await resolve(host, self._kit.names, settings.names, deadline_ns)
        recorder.lookup, recorder.addresses = resolution.lookup, resolution.addresses
        if not resolution.addresses:
            raise ProbeError(FailureKind.DNS_NOT_FOUND, resolution.without_address(host))
        return choose(host, resolution.addresses, settings.allowed, settings.family)

    async def _secured(self, wire: Wire) -> Channel:
        recorder = wire.recorder
        recorder.stage = Stage.TLS
        self._party = self._kit.contexts.party(self.target.host, self._manner.offer)
        channel = TlsChannel(wire, self._party)
        deadline_ns = wire.deadline_ns
        if self._manner.sparing:
            wire.deadline_ns = (time.monotonic_ns() + deadline_ns) // 2
        await channel.shake_hands(self._manner.early, deadline_ns)
        wire.deadline_ns = deadline_ns
        recorder.tcp_secured = wire.tcp_info()
        if self._manner.offer.protocols == HTTP2 and recorder.handshake is not None and not recorder.handshake.protocol:
            raise ProbeError(FailureKind.HTTP1_NOT_SPOKEN, "nor did it agree on HTTP/2")
        if recorder.handshake is not None and recorder.handshake.faults:
            self._judge(recorder, recorder.handshake)
        return channel

    def _judge(self, recorder: HopRecorder, shaken: HandshakeCapture) -> None:
        if another_way_may_help(shaken.faults) and self._kit.contexts.trusts_another_way(shaken.chain):
            shaken = replace(shaken, in_other_order=True, faults=beside_the_way(shaken.faults))
            recorder.handshake = shaken
        error = certificate_error(shaken.faults)
        self.fault = None if error is None else ProbeError(error.kind, error.text)
