"""A whole probe: from the URL over its redirects to the answer, then the checks that the monitor asks for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urljoin

from OpenSSL import SSL

from workers.measurement.captures_probe import ClockReading, LookupCapture, ProbeCapture, TrialCapture
from workers.measurement.compute.challenge import challenge_by_headers
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth, Trial
from workers.measurement.failure import Failure, FailureKind, Stage
from workers.measurement.messages import ProgressStage, RunRequest
from workers.measurement.nouns import noun
from workers.measurement.pair import DialAddress
from workers.measurement.request_headers import header_fault
from workers.measurement.target import Target, TargetError, parse_target
from workers.probes.exchange import Asking, Exchange, redirects
from workers.probes.faults import ProbeError
from workers.probes.guard import family_of
from workers.probes.http1 import Head
from workers.probes.link import Kit, Link, Manner
from workers.probes.openssl import Offer
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import read_clocks

MAX_REDIRECTS = 10
_USUAL_STATUS = range(200, 400)


# What becomes of a ClientHello that some box on the way cannot take (two packets, a key share nobody had before).
_HELLO_DIED = frozenset({FailureKind.CONNECTION_RESET, FailureKind.TLS_TIMEOUT, FailureKind.TLS_ALERT})
_HANDSHAKE_RECORD = 22


@noun(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a journey ended, for those who ask there again: `headers` are those that its server may see."""

    target: Target
    address: str
    addresses: tuple[str, ...]
    lookup: LookupCapture | None
    headers: tuple[Header, ...]
    classical: bool
    session: SSL.Session | None
    recorder: HopRecorder

    @property
    def other_address(self) -> str | None:
        """The first one of the other family."""
        return next((one for one in self.addresses if family_of(one) != family_of(self.address)), None)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Further ones of the same family, in the order of the name server."""
        same = [one for one in self.addresses if family_of(one) == family_of(self.address)]
        return tuple(one for one in dict.fromkeys(same) if one != self.address)


@noun(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was seen, and why it ended early if it did. `place` is None where no answer was got in the end."""

    capture: ProbeCapture
    failure: Failure | None = None
    place: Place | None = None


@dataclass(slots=True)
class Journey:
    """One run under way. `given_up` are connections to the current hop that came to nothing before its own."""

    kit: Kit
    request: RunRequest
    tell: Callable[[ProgressStage], None] | None = None
    recorders: list[HopRecorder] = field(default_factory=list)
    given_up: list[tuple[HopRecorder, Failure]] = field(default_factory=list)
    headers: tuple[Header, ...] = ()
    fault: ProbeError | None = None
    place: Place | None = None

    async def run(self) -> Outcome:
        """Never raises for a bad target. `timeout_us` of the request covers all hops together."""
        before = read_clocks()
        deadline_ns = before.monotonic_ns + self.request.timeout_us * 1000
        failure = None
        try:
            await self._travel(deadline_ns)
        except ProbeError as error:
            failure = error.failure
        capture = self._capture(before, failure)
        if self.fault is not None:
            failure = self.fault.failure
        return Outcome(capture=capture, failure=failure, place=self.place)

    def _capture(self, before: ClockReading, failure: Failure | None) -> ProbeCapture:
        after = read_clocks()
        hops = tuple(recorder.capture() for recorder in self.recorders)
        trials = [
            TrialCapture(trial=Trial.FULL, hop=recorder.capture(), before=before, after=after, failure=why)
            for recorder, why in self.given_up
        ]
        if hops and hops[-1].dialled_ns is not None:
            kind = Trial.CLASSICAL if self.given_up else Trial.FULL
            ended_early = failure if hops[-1].response is None or hops[-1].response.last_read is None else None
            trials.append(TrialCapture(trial=kind, hop=hops[-1], before=before, after=after, failure=ended_early))
        return ProbeCapture(before=before, after=after, hops=hops, trials=tuple(trials))

    async def _travel(self, deadline_ns: int) -> None:
        fault = header_fault(self.request.headers)
        if fault is not None:
            raise ProbeError(FailureKind.INVALID_REQUEST, fault)
        target = self._parse(self.request.url, stage=Stage.TARGET)
        if self.tell is not None:
            self.tell(ProgressStage.CONNECTING)
        self.headers = self.request.headers
        while True:
            exchange, head = await self._hop(target, deadline_ns)
            if not redirects(head, self.request):
                break
            following = self._following(target, head)
            if not _same_origin(target, following):
                self.headers = ()
            target = following
        self._judge_answer(exchange, head)

    async def _hop(self, target: Target, deadline_ns: int) -> tuple[Exchange, Head]:
        recorder = HopRecorder(target)
        self.recorders.append(recorder)
        self.given_up.clear()
        try:
            return await self._ask(recorder, Manner(sparing=True), deadline_ns)
        except ProbeError as error:
            if not _hello_died(recorder, error.failure):
                raise
            self.given_up.append((recorder, error.failure))
        again = _begun_again(recorder)
        self.recorders[-1] = again
        assert recorder.address is not None
        instead = DialAddress(address=recorder.address)
        return await self._ask(again, Manner(instead=instead, offer=Offer(classical=True)), deadline_ns)

    async def _ask(self, recorder: HopRecorder, manner: Manner, deadline_ns: int) -> tuple[Exchange, Head]:
        target = recorder.target
        exchange = Exchange(self.kit, self.request, recorder, self.tell)
        asking = Asking(target=target, user_agent=self.kit.settings.user_agent, headers=self.headers)
        with Link(self.kit, target, manner) as link:
            try:
                head = await exchange.run(link, asking, deadline_ns)
            finally:
                self._note_fault(link)
            if self.request.depth is Depth.DEEP and recorder.address is not None:
                self.place = Place(
                    target=target,
                    address=recorder.address,
                    addresses=recorder.addresses or (recorder.address,),
                    lookup=recorder.lookup,
                    headers=self.headers,
                    classical=manner.offer.classical,
                    session=link.session(),
                    recorder=recorder,
                )
        return exchange, head

    def _note_fault(self, link: Link) -> None:
        """From a server that is not trusted on, what the monitor keeps secret is told to nobody."""
        if link.fault is not None and not self.request.ignore_certificate_errors:
            self.fault = self.fault or link.fault
            self.headers = ()

    def _parse(self, url: str, *, stage: Stage) -> Target:
        try:
            return parse_target(url, extra_ports=self.kit.settings.extra_ports)
        except TargetError as error:
            raise ProbeError(FailureKind.INVALID_URL, str(error), stage=stage) from error

    def _following(self, target: Target, head: Head) -> Target:
        """Where a redirect leads. No cookies are kept: a URL that was asked before would only send us round again."""
        location = head.first("location") or ""
        try:
            url = urljoin(target.url, location)
        except ValueError as error:
            evidence = f"{location[:60]!r} is no address"
            raise ProbeError(FailureKind.INVALID_URL, evidence, stage=Stage.REDIRECT) from error
        following = self._parse(url, stage=Stage.REDIRECT)
        if any(recorder.target.url == following.url for recorder in self.recorders):
            raise ProbeError(FailureKind.TOO_MANY_REDIRECTS, f"back to {following.url}")
        if len(self.recorders) > MAX_REDIRECTS:
            raise ProbeError(FailureKind.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS}")
        return following

    def _judge_answer(self, exchange: Exchange, head: Head) -> None:
        challenge = challenge_by_headers(head.status, head.headers)
        if challenge is not None:
            raise ProbeError(FailureKind.PAGE_CHALLENGE, str(challenge))
        if head.status not in (self.request.accepted_status or _USUAL_STATUS):
            raise ProbeError(FailureKind.STATUS_UNEXPECTED, str(head.status))
        if self.request.body_text and (exchange.finder is None or not exchange.finder.found):
            raise ProbeError(FailureKind.TEXT_MISSING, repr(self.request.body_text[:80]))


def _hello_died(recorder: HopRecorder, failure: Failure) -> bool:
    """Whether the server never said a word of the handshake, as when the ClientHello did not get through."""
    return (
        failure.stage is Stage.TLS
        and failure.kind in _HELLO_DIED
        and not any(record.content_type == _HANDSHAKE_RECORD for record in recorder.records)
    )


def _begun_again(recorder: HopRecorder) -> HopRecorder:
    """The same hop, found already."""
    again = HopRecorder(recorder.target)
    again.lookup, again.addresses = recorder.lookup, recorder.addresses
    return again


def _same_origin(one: Target, other: Target) -> bool:
    """Secrets in headers are for the host they were given for: another origin gets none of them."""
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)
