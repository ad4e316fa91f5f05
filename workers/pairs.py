"""The same asset from two places, back to back: first over fresh connections, then once more over the same two.

Which leg goes first is decided by coins that the run's id holds, one for each round: what the first request warms up
(a resolver, a server, a path) favours neither leg in the long run, and a run that is repeated is the same run.

Both are asked in the same protocol: HTTP/2 where both speak it, else HTTP/1.1; each in its own where none is common.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import UUID

from workers.measurement.captures_probe import LegCapture, PairCapture
from workers.measurement.compute.page.challenge import challenge_by_headers
from workers.measurement.compute.probe.pair import pair_measurement
from workers.measurement.failure import Failure, FailureKind, Stage
from workers.measurement.messages import Failed, Measured, OnProgress, ProgressStage, RunRequest
from workers.measurement.pair import DialAddress, Leg, PairTarget, parse_dial_address
from workers.measurement.request_headers import header_fault
from workers.measurement.statuses import USUALLY_ACCEPTED
from workers.measurement.target import Target, TargetError, parse_target
from workers.probes.agreement import Acquaintances, Speech, Spot, find_out, over_http2
from workers.probes.engine import Engine
from workers.probes.exchange import Asking, Exchange, conversation, speaks_http2
from workers.probes.faults import ProbeError
from workers.probes.journey import begun_again, same_address, wants_http2
from workers.probes.link import Kit, Link, Manner
from workers.probes.openssl import HTTP2, Offer
from workers.probes.recorder import HopRecorder
from workers.probes.settings import ProbeSettings
from workers.probes.stamps import read_clocks

if TYPE_CHECKING:
    from workers.probes.http2 import Http2Conversation


class PairEngine(Engine):
    """The engine of the raw probes, which can also measure pairs. A pair takes one slot."""

    def __init__(self, settings: ProbeSettings, *, enter: Callable[[], None] | None = None) -> None:
        super().__init__(settings, enter=enter)
        self._met = Acquaintances()

    def pair(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """Measures both legs and waits for it. A bad target is a Failed; only our own fault raises (EngineError).

        Both legs get the request's headers; redirects are not followed; `timeout_us` covers the whole run.
        """
        outcome = self.capture(
            lambda kit, tell: PairJourney(kit=kit, request=request, met=self._met, tell=tell).run(),
            request,
            on_progress,
        )
        measurement = pair_measurement(outcome.capture)
        if outcome.failure is not None:
            return Failed(failure=outcome.failure, measurement=measurement)
        return Measured(measurement=measurement)


def order_of(run_id: UUID, *, reused: bool) -> tuple[Leg, Leg]:
    """Which leg goes first in a round: by the last bit of the id, or the one before it."""
    coin = run_id.int >> reused & 1
    return (Leg.B, Leg.A) if coin else (Leg.A, Leg.B)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOutcome:
    """What was seen, and why it ended early if it did."""

    capture: PairCapture
    failure: Failure | None = None


@dataclass(slots=True)
class _Side:
    """One leg under way: its server, what that is taken to speak, and its connection once it is wanted."""

    spot: Spot
    speech: Speech = field(default_factory=Speech)
    offered_http2: bool = False
    link: Link | None = None
    talk: "Http2Conversation | None" = None


@dataclass(slots=True)
class PairJourney:
    """One run under way. `not_kept` are the legs whose server did not keep its connection open."""

    kit: Kit
    request: RunRequest
    met: Acquaintances = field(default_factory=Acquaintances)
    tell: Callable[[ProgressStage], None] | None = None
    seen: list[tuple[Leg, bool, HopRecorder]] = field(default_factory=list)
    not_kept: list[Leg] = field(default_factory=list)

    async def run(self) -> PairOutcome:
        """Never raises for a bad target."""
        before = read_clocks()
        deadline_ns = before.monotonic_ns + self.request.timeout_us * 1000
        failure = None
        with ExitStack() as stack:
            try:
                await self._travel(self._sides(), stack, deadline_ns)
            except ProbeError as error:
                failure = error.failure
        legs = tuple(LegCapture(leg=leg, reused=reused, hop=recorder.capture()) for leg, reused, recorder in self.seen)
        capture = PairCapture(before=before, after=read_clocks(), legs=legs, not_kept=tuple(self.not_kept))
        return PairOutcome(capture=capture, failure=failure)

    def _sides(self) -> dict[Leg, _Side]:
        """Nothing is opened yet. Raises ProbeError for what must not be dialled or sent."""
        other = self.request.other
        fault = "A pair needs a second address." if other is None else header_fault(self.request.headers)
        if other is None or fault is not None:
            raise ProbeError(FailureKind.INVALID_REQUEST, fault)
        return {Leg.A: self._side(Leg.A, PairTarget(url=self.request.url)), Leg.B: self._side(Leg.B, other)}

    def _side(self, leg: Leg, target: PairTarget) -> _Side:
        ports = self.kit.settings.extra_ports
        try:
            parsed: Target = parse_target(target.url, extra_ports=ports)
            instead: DialAddress | None = (
                None if target.address is None else parse_dial_address(target.address, extra_ports=ports)
            )
        except TargetError as error:
            raise ProbeError(FailureKind.INVALID_URL, f"leg {leg}: {error}", stage=Stage.TARGET) from error
        return _Side(spot=Spot(target=parsed, instead=instead))

    async def _travel(self, sides: dict[Leg, _Side], stack: ExitStack, deadline_ns: int) -> None:
        if self.tell is not None:
            self.tell(ProgressStage.CONNECTING)
        order = order_of(self.request.run_id, reused=False)
        await self._agree(sides, order, deadline_ns)
        for leg in order:
            a, b = sides[Leg.A], sides[Leg.B]
            a.offered_http2, b.offered_http2 = over_http2(a.speech, b.speech)
            if not await self._cold(leg, sides[leg], stack, deadline_ns):
                self.not_kept.append(leg)
        self._judge_answers()
        for leg in order_of(self.request.run_id, reused=True):
            if not self.not_kept and not await self._reused(leg, sides[leg], deadline_ns):
                self.not_kept.append(leg)

    async def _agree(self, sides: dict[Leg, _Side], order: tuple[Leg, Leg], deadline_ns: int) -> None:
        """Those who were not met yet are met before either is asked, so that none is favoured.

        Where one of the two speaks without TLS, there is nothing to choose.
        """
        unmet = any(self.met.of(side.spot) is None for side in sides.values())
        if unmet and all(side.spot.target.secure for side in sides.values()):
            for leg in order:
                await self._meet(leg, sides[leg].spot, deadline_ns)
        for side in sides.values():
            side.speech = self.met.of(side.spot) or Speech()

    async def _meet(self, leg: Leg, spot: Spot, deadline_ns: int) -> None:
        recorder = HopRecorder(spot.target)
        try:
            self.met.meet(spot, await find_out(self.kit, spot, recorder, deadline_ns))
        except ProbeError as error:
            self.seen.append((leg, False, recorder))
            raise _told_of(leg, error) from error

    async def _cold(self, leg: Leg, side: _Side, stack: ExitStack, deadline_ns: int) -> bool:
        """Whether the server keeps its connection for more."""
        recorder = HopRecorder(side.spot.target)
        self.seen.append((leg, False, recorder))
        offer = side.speech.offer(over_http2=side.offered_http2)
        side.link = stack.enter_context(
            Link(self.kit, side.spot.target, Manner(instead=side.spot.instead, offer=offer))
        )
        try:
            return await self._ask(side, recorder, deadline_ns)
        except ProbeError as error:
            known = self.met.of(side.spot)
            may_be = not side.offered_http2 and (known is None or known.http2)
            if not may_be or not wants_http2(recorder, error.failure):
                raise _told_of(leg, error) from error
            because = error
        try:
            return await self._cold_over_http2(leg, side, stack, deadline_ns)
        except ProbeError as error:
            if error.failure.kind is FailureKind.HTTP1_NOT_SPOKEN:
                self.seen[-1] = (leg, False, recorder)
                error = _neither(because)
            raise _told_of(leg, error) from because

    async def _cold_over_http2(self, leg: Leg, side: _Side, stack: ExitStack, deadline_ns: int) -> bool:
        """For a server that seems to speak nothing else; the try in HTTP/1.1 leaves no trace."""
        first = self.seen[-1][2]
        conversation()
        recorder = begun_again(first)
        self.seen[-1] = (leg, False, recorder)
        side.offered_http2 = True
        offer = Offer(protocols=HTTP2, classical=side.speech.classical)
        manner = Manner(instead=same_address(first), offer=offer)
        side.link = stack.enter_context(Link(self.kit, side.spot.target, manner))
        side.speech = replace(side.speech, http11=False)
        kept = await self._ask(side, recorder, deadline_ns)
        self.met.meet(side.spot, side.speech)
        return kept

    async def _reused(self, leg: Leg, side: _Side, deadline_ns: int) -> bool:
        """Whether there was an answer: a server that says it keeps a connection may close it all the same."""
        recorder = HopRecorder(side.spot.target)
        self.seen.append((leg, True, recorder))
        try:
            await self._ask(side, recorder, deadline_ns)
        except ProbeError as error:
            if error.failure.kind is not FailureKind.CONNECTION_RESET or recorder.first_read is not None:
                raise _told_of(leg, error) from error
            self.seen.pop()
            return False
        return True

    async def _ask(self, side: _Side, recorder: HopRecorder, deadline_ns: int) -> bool:
        assert side.link is not None
        tell = None if len(self.seen) > 1 else self.tell
        exchange = Exchange(self.kit, self.request, recorder, tell, talk=side.talk)
        asking = Asking(
            target=side.spot.target,
            user_agent=self.kit.settings.user_agent,
            headers=self.request.headers,
            keeping_connection=True,
        )
        try:
            await exchange.run(side.link, asking, deadline_ns)
        finally:
            side.talk = exchange.talk
            if recorder.handshake is not None and side.offered_http2:
                side.speech = replace(side.speech, http2=speaks_http2(recorder))
                self.met.correct(side.spot, side.speech)
        return exchange.keeps_connection

    def _judge_answers(self) -> None:
        """An error page is quick: that it is faster than the asset says nothing."""
        accepted = self.request.accepted_status or USUALLY_ACCEPTED
        for leg, _, recorder in self.seen:
            if recorder.head is None:
                continue
            challenge = challenge_by_headers(recorder.head.status, recorder.head.headers)
            if challenge is not None:
                raise _told_of(leg, ProbeError(FailureKind.PAGE_CHALLENGE, str(challenge)))
            if recorder.head.status not in accepted:
                raise _told_of(leg, ProbeError(FailureKind.STATUS_UNEXPECTED, str(recorder.head.status)))


def _neither(error: ProbeError) -> ProbeError:
    """A server that takes none of what browsers offer; any other failure is what it was."""
    if error.failure.kind is not FailureKind.HTTP1_NOT_SPOKEN:
        return error
    return ProbeError(FailureKind.TLS_ALERT, "it speaks neither HTTP/1.1 nor HTTP/2")


def _told_of(leg: Leg, error: ProbeError) -> ProbeError:
    """The same failure, with the leg that it befell."""
    told = ProbeError(error.failure.kind)
    told.failure = replace(error.failure, detail=f"Leg {leg}: {error.failure.detail}")
    return told
