"""The same asset from two places, back to back: first over fresh connections, then once more over the same two.

Which leg goes first is decided by coins that the run's id holds, one for each round: what the first request warms up
(a resolver, a server, a path) favours neither leg in the long run, and a run that is repeated is the same run.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from uuid import UUID

from workers.measurement.captures_probe import LegCapture, PairCapture
from workers.measurement.compute.challenge import challenge_by_headers
from workers.measurement.compute.pair import pair_measurement
from workers.measurement.failure import Failure, FailureKind, Stage
from workers.measurement.messages import Failed, Measured, OnProgress, ProgressStage, RunRequest
from workers.measurement.pair import DialAddress, Leg, PairTarget, parse_dial_address
from workers.measurement.request_headers import header_fault
from workers.measurement.target import Target, TargetError, parse_target
from workers.probes.engine import Engine
from workers.probes.exchange import Asking, Exchange
from workers.probes.faults import ProbeError
from workers.probes.link import Kit, Link, Manner
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import read_clocks

_USUAL_STATUS = range(200, 400)


class PairEngine(Engine):
    """The engine of the raw probes, which can also measure pairs. A pair takes one slot."""

    def pair(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """Measures both legs and waits for it. A bad target is a Failed; only our own fault raises (EngineError).

        Both legs get the request's headers; redirects are not followed; `timeout_us` covers the whole run.
        """
        outcome = self.capture(
            lambda kit, tell: PairJourney(kit=kit, request=request, tell=tell).run(), request, on_progress
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
class PairJourney:
    """One run under way. `keeping` are the legs whose server keeps its connection open."""

    kit: Kit
    request: RunRequest
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
                links = {leg: stack.enter_context(link) for leg, link in self._links().items()}
                await self._travel(links, deadline_ns)
            except ProbeError as error:
                failure = error.failure
        legs = tuple(LegCapture(leg=leg, reused=reused, hop=recorder.capture()) for leg, reused, recorder in self.seen)
        capture = PairCapture(before=before, after=read_clocks(), legs=legs, not_kept=tuple(self.not_kept))
        return PairOutcome(capture=capture, failure=failure)

    def _links(self) -> dict[Leg, Link]:
        """Both connections, not opened yet. Raises ProbeError for what must not be dialled or sent."""
        other = self.request.other
        fault = "A pair needs a second address." if other is None else header_fault(self.request.headers)
        if other is None or fault is not None:
            raise ProbeError(FailureKind.INVALID_REQUEST, fault)
        return {Leg.A: self._link(Leg.A, PairTarget(url=self.request.url)), Leg.B: self._link(Leg.B, other)}

    def _link(self, leg: Leg, target: PairTarget) -> Link:
        ports = self.kit.settings.extra_ports
        try:
            parsed: Target = parse_target(target.url, extra_ports=ports)
            instead: DialAddress | None = (
                None if target.address is None else parse_dial_address(target.address, extra_ports=ports)
            )
        except TargetError as error:
            raise ProbeError(FailureKind.INVALID_URL, f"leg {leg}: {error}", stage=Stage.TARGET) from error
        return Link(self.kit, parsed, Manner(instead=instead))

    async def _travel(self, links: dict[Leg, Link], deadline_ns: int) -> None:
        if self.tell is not None:
            self.tell(ProgressStage.CONNECTING)
        for leg in order_of(self.request.run_id, reused=False):
            if not await self._cold(leg, links[leg], deadline_ns):
                self.not_kept.append(leg)
        self._judge_answers()
        for leg in order_of(self.request.run_id, reused=True):
            if not self.not_kept and not await self._reused(leg, links[leg], deadline_ns):
                self.not_kept.append(leg)

    async def _cold(self, leg: Leg, link: Link, deadline_ns: int) -> bool:
        """Whether the server keeps its connection for more."""
        try:
            return await self._ask(leg, link, deadline_ns, reused=False)
        except ProbeError as error:
            raise _told_of(leg, error) from error

    async def _reused(self, leg: Leg, link: Link, deadline_ns: int) -> bool:
        """Whether there was an answer: a server that says it keeps a connection may close it all the same."""
        try:
            await self._ask(leg, link, deadline_ns, reused=True)
        except ProbeError as error:
            if error.failure.kind is not FailureKind.CONNECTION_RESET or self.seen[-1][2].first_read is not None:
                raise _told_of(leg, error) from error
            self.seen.pop()
            return False
        return True

    async def _ask(self, leg: Leg, link: Link, deadline_ns: int, *, reused: bool) -> bool:
        recorder = HopRecorder(link.target)
        self.seen.append((leg, reused, recorder))
        exchange = Exchange(self.kit, self.request, recorder, None if len(self.seen) > 1 else self.tell)
        asking = Asking(
            target=link.target,
            user_agent=self.kit.settings.user_agent,
            headers=self.request.headers,
            keeping_connection=True,
        )
        await exchange.run(link, asking, deadline_ns)
        return exchange.keeps_connection

    def _judge_answers(self) -> None:
        """An error page is quick: that it is faster than the asset says nothing."""
        accepted = self.request.accepted_status or _USUAL_STATUS
        for leg, _, recorder in self.seen:
            if recorder.head is None:
                continue
            challenge = challenge_by_headers(recorder.head.status, recorder.head.headers)
            if challenge is not None:
                raise _told_of(leg, ProbeError(FailureKind.PAGE_CHALLENGE, str(challenge)))
            if recorder.head.status not in accepted:
                raise _told_of(leg, ProbeError(FailureKind.STATUS_UNEXPECTED, str(recorder.head.status)))


def _told_of(leg: Leg, error: ProbeError) -> ProbeError:
    """The same failure, with the leg that it befell."""
    told = ProbeError(error.failure.kind)
    told.failure = replace(error.failure, detail=f"Leg {leg}: {error.failure.detail}")
    return told
