"""One connection of a deep probe, to the address that the journey ended at. Whatever comes of it is evidence."""

import time
from dataclasses import dataclass, replace

from OpenSSL import SSL

from workers.measurement.captures_probe import TrialCapture
from workers.measurement.compute.probe.handshake_messages import early_data_answer
from workers.measurement.compute.probe.trial_plan import Step
from workers.measurement.evidence import EarlyData, Trial
from workers.measurement.failure import Failure, FailureKind, Stage
from workers.measurement.pair import DialAddress
from workers.measurement.target import DEFAULT_PORTS, Target
from workers.probes.answer import Reader, receive_answer, said_unasked
from workers.probes.channels import Channel, TlsChannel
from workers.probes.compressed import hear_certificates
from workers.probes.exchange import WIRE_FACTOR, Asking, speaks_http2
from workers.probes.faults import ProbeError, late_fault
from workers.probes.http3 import Http3Asking, http3_trial
from workers.probes.journey import Place
from workers.probes.link import Kit, Link, Manner
from workers.probes.loop import DeadlineError
from workers.probes.openssl import HTTP2, HTTP11, Offer
from workers.probes.recorder import HopRecorder
from workers.probes.sessions import OLD, Sessions
from workers.probes.stamps import read_clocks
from workers.probes.turns import Http1Turns, Http2Turns, Turns
from workers.probes.wire import Acks

PAUSE_NS = 2_000_000_000
# Enough of a body to see how it is sent; the journey has seen all of it.
_ENOUGH_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A step at a place. The monitor's own headers are said only to a server whose certificate is in order."""

    kit: Kit
    place: Place
    step: Step
    sessions: Sessions
    ignore_certificate_errors: bool
    deadline_ns: int
    http3_port: int | None = None

    async def run(self) -> TrialCapture:
        """Never raises for a bad target."""
        if self.step.trial is Trial.HTTP3:
            return await http3_trial(self._over_quic(), self.kit.contexts.faults, self.deadline_ns)
        before = read_clocks()
        recorder = HopRecorder(self._target)
        failure: Failure | None = None
        taken = self.sessions.take(self.step.trial)
        manner = self._manner(None if taken is None else taken[0])
        self.sessions.turn += self._target.secure and self.step.address is None
        with Link(self.kit, recorder.target, manner) as link:
            try:
                await self._visit(link, recorder)
            except ProbeError as error:
                failure = error.failure
            except DeadlineError:
                seconds = (self.deadline_ns - before.monotonic_ns) / 1e9
                failure = late_fault(recorder.stage, seconds, recorder.where).failure
            # OpenSSL takes up sessions only in the context that they were made in.
            if manner.offer.classical == self.place.classical and self.step.address is None:
                turn = None if taken is None else taken[1]
                self.sessions.keep(self._session_kind, recorder, link.session(), turn)
        return TrialCapture(
            trial=self.step.trial, hop=recorder.capture(), before=before, after=read_clocks(), failure=failure
        )

    def _over_quic(self) -> Http3Asking:
        target, connect = self.place.target, self.place.recorder.connect
        return Http3Asking(
            target=target,
            address=self.place.address,
            port=self.http3_port or target.port,
            headers=self.place.headers,
            user_agent=self.kit.settings.user_agent,
            rtt_us=None if connect is None else connect.rtt_us,
            ignore_certificate_errors=self.ignore_certificate_errors,
        )

    @property
    def _session_kind(self) -> Trial:
        """A connection of TLS 1.2 without tickets makes sessions by their id."""
        return self.step.trial if self.step.tickets else Trial.TLS12_SESSION_ID

    @property
    def _target(self) -> Target:
        """What an address asks for may be a secret, as after a redirect to a page of one's own."""
        target = self.place.target
        if self.step.trial is not Trial.PLAIN:
            return target
        port = DEFAULT_PORTS["http"]
        plain = replace(target, scheme="http", port=port, path=target.path.partition("?")[0])
        return replace(plain, url=f"http://{plain.authority}{plain.path}")

    @property
    def _asking(self) -> Asking:
        """Nothing secret is said without TLS."""
        headers = () if self.step.trial is Trial.PLAIN else self.place.headers
        agent = self.kit.settings.user_agent
        return Asking(target=self._target, user_agent=agent, headers=headers, keeping_connection=True)

    def _manner(self, session: SSL.Session | None) -> Manner:
        kind = self.step.trial
        offer = Offer(
            classical=kind is Trial.CLASSICAL or (self.place.classical and kind is not Trial.FULL),
            tls13=kind not in OLD,
            tickets=self.step.tickets and kind is not Trial.TLS12_SESSION_ID,
            protocols=(*HTTP2, *HTTP11) if kind is Trial.HTTP2 else self.place.protocols,
            session=session,
        )
        return Manner(
            instead=DialAddress(address=self._address),
            offer=offer,
            acks=Acks.DELAYED if kind is Trial.DELAYED_ACK else Acks.AT_ONCE,
            early=self._early.spoken() if kind is Trial.EARLY_DATA and session is not None else b"",
        )

    @property
    def _address(self) -> str:
        if self.step.address is not None:
            return self.step.address
        if self.step.trial is Trial.OTHER_FAMILY:
            return self.place.other_address or self.place.address
        target = self._target
        return self.kit.settings.resolve.get((target.host, target.port), self.place.address)

    async def _visit(self, link: Link, recorder: HopRecorder) -> None:
        if self.step.trial is Trial.COMPRESSED:
            wire = await link.wire(recorder, self.deadline_ns)
            await hear_certificates(wire, self._target.host, self.place.protocols)
            return
        channel = await link.channel(recorder, self.deadline_ns)
        trusted = link.fault is None or self.ignore_certificate_errors
        if recorder.exchanges and isinstance(channel, TlsChannel):
            await self._read_early(channel, recorder)
        elif self.step.asks:
            http2 = speaks_http2(recorder)
            # Whether HTTP/1.1 keeps its connections others have asked.
            asks = self.step.asks if http2 or self.step.trial is not Trial.HTTP2 else 1
            await self._ask_often(channel, recorder, self._turns(http2=http2, trusted=trusted), asks)
        elif isinstance(channel, TlsChannel):
            await channel.finish_handshake()

    def _turns(self, *, http2: bool, trusted: bool) -> Turns:
        limit_bytes = self.kit.settings.max_body_bytes
        return (Http2Turns if http2 else Http1Turns)(self._asking, limit_bytes, trusted=trusted)

    @property
    def _early(self) -> Turns:
        """What is said along with the ClientHello: in the protocol of the session that is taken up."""
        return self._turns(http2=self.place.protocols == HTTP2, trusted=True)

    async def _read_early(self, channel: TlsChannel, recorder: HopRecorder) -> None:
        """The answer to what was sent early, or to the same request sent again when that was rejected."""
        recorder.stage = Stage.WAIT
        messages = () if recorder.notes is None else tuple(recorder.notes.messages)
        turns = self._early
        request = turns.spoken()
        if early_data_answer(messages) is EarlyData.ACCEPTED:
            await channel.finish_handshake()
        else:
            recorder.exchanges[-1].send = None
            await channel.send(request)
        await self._receive(channel, recorder, turns.reader)

    async def _ask_often(self, channel: Channel, recorder: HopRecorder, turns: Turns, asks: int) -> None:
        """So often, and after a pause where the step says so, as long as the server keeps the connection."""
        for number in range(asks + self.step.after_pause):
            rested_ns = None
            if number == asks:
                rested_ns = await self._rest(channel, turns)
                if rested_ns is None:
                    recorder.exchanges[-1].kept = False
                    return
            elif number and await self._has_gone_on(channel, recorder, turns):
                return
            if not await self._ask_once(channel, recorder, turns, rested_ns):
                return

    async def _has_gone_on(self, channel: Channel, recorder: HopRecorder, turns: Turns) -> bool:
        """Whether the server has closed the connection, or said more than its answer: nobody would ask again then."""
        if isinstance(turns, Http2Turns):
            return False
        said = await said_unasked(channel, self.deadline_ns)
        if said == b"":
            recorder.exchanges[-1].kept = False
        return said is not None

    async def _ask_once(self, channel: Channel, recorder: HopRecorder, turns: Turns, rested_ns: int | None) -> bool:
        """Whether the server lets us ask again. One that closed meanwhile is found out only by asking."""
        request = turns.spoken()
        reader = turns.reader
        try:
            await self._ask(channel, recorder, reader, request, rested_ns)
        except ProbeError as error:
            gone = error.failure.kind is FailureKind.CONNECTION_RESET and not reader.begun
            if len(recorder.exchanges) < 2 or not gone:
                raise
            recorder.exchanges.pop()
            recorder.exchanges[-1].kept = None if turns.is_refused() else False
            return False
        if len(recorder.exchanges) > 1:
            recorder.exchanges[-2].kept = True
        kept = reader.complete and turns.keep_connection()
        if reader.complete and not kept:
            recorder.exchanges[-1].kept = False
        return kept

    async def _ask(
        self, channel: Channel, recorder: HopRecorder, reader: Reader, request: bytes, rested_ns: int | None = None
    ) -> None:
        recorder.begin_exchange(time.monotonic_ns()).idle_ns = rested_ns
        recorder.stage = Stage.SEND
        await channel.send(request)
        recorder.stage = Stage.WAIT
        await self._receive(channel, recorder, reader)

    async def _receive(self, channel: Channel, recorder: HopRecorder, reader: Reader) -> None:
        await receive_answer(
            channel,
            recorder,
            reader,
            limit_bytes=self._limit_bytes * WIRE_FACTOR,
            enough=lambda reader: reader.body_bytes > _ENOUGH_BYTES,
        )
        if not reader.complete:
            recorder.exchanges[-1].last_read = None

    async def _rest(self, channel: Channel, turns: Turns) -> int | None:
        """How long the connection lay idle: since the server said its last word; None when that was good-bye."""
        begun_ns = time.monotonic_ns()
        channel.until(min(self.deadline_ns, begun_ns + PAUSE_NS))
        try:
            while turns.hear(await channel.receive()):
                begun_ns = time.monotonic_ns()
        except DeadlineError:
            channel.until(self.deadline_ns)
            return time.monotonic_ns() - begun_ns
        except ProbeError:
            return None
        return None

    @property
    def _limit_bytes(self) -> int:
        return self.kit.settings.max_body_bytes
