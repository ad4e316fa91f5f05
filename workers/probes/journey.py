"""A whole probe: from the URL over its redirects to the answer, then the checks that the monitor asks for."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from OpenSSL import SSL

from workers.measurement.captures_probe import ClockReading, LookupCapture, ProbeCapture, TrialCapture
from workers.measurement.compute.page.challenge import challenge_by_headers
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth, Trial
from workers.measurement.failure import Failure, FailureKind, Stage
from workers.measurement.location import location_url
from workers.measurement.messages import ProgressStage, RunRequest
from workers.measurement.nouns import noun
from workers.measurement.pair import DialAddress
from workers.measurement.request_headers import header_fault
from workers.measurement.statuses import USUALLY_ACCEPTED
from workers.measurement.target import Target, TargetError, parse_target
from workers.probes.exchange import Asking, Exchange, conversation, redirects, speaks_http2
from workers.probes.faults import ProbeError
from workers.probes.guard import family_of
from workers.probes.http1 import Head
from workers.probes.link import Kit, Link, Manner
from workers.probes.loop import quiet
from workers.probes.openssl import HTTP2, USUAL, Offer
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import read_clocks

if TYPE_CHECKING:
    from workers.probes.cookies import Cookies

MAX_REDIRECTS = 10
# What becomes of a ClientHello that some box on the way cannot take (two packets, a key share nobody had before).
_HELLO_DIED = frozenset({FailureKind.CONNECTION_RESET, FailureKind.TLS_TIMEOUT, FailureKind.TLS_ALERT})
_HANDSHAKE_RECORD = 22
# What one gets to hear who speaks HTTP/1.1 to a server that speaks HTTP/2 alone and has not said so in the handshake.
_NOT_UNDERSTOOD = frozenset({FailureKind.CONNECTION_RESET, FailureKind.RESPONSE_INVALID})


Origin = tuple[str, str, int]


@noun(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a journey ended, for those who ask there again: `headers` are those that its server may see, `protocols`
    those in which it answered."""

    target: Target
    address: str
    addresses: tuple[str, ...]
    lookup: LookupCapture | None
    headers: tuple[Header, ...]
    classical: bool
    protocols: tuple[bytes, ...]
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
    """One run under way. `given_up` are connections to the current hop that came to nothing before its own;
    `over_http2` the origins that were found to speak nothing else. `cookies` are what redirects set, None while none
    did, and `asked` the addresses that were asked for, each with the cookies that went there."""

    kit: Kit
    request: RunRequest
    tell: Callable[[ProgressStage], None] | None = None
    recorders: list[HopRecorder] = field(default_factory=list)
    given_up: list[tuple[HopRecorder, Failure]] = field(default_factory=list)
    over_http2: set[Origin] = field(default_factory=set)
    cookies: "Cookies | None" = None
    asked: set[tuple[str, str]] = field(default_factory=set)
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
        # From here on nothing is asked of anybody any more.
        await quiet()
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
            self.asked.add((target.url, self._cookies_for(target)))
            exchange, head = await self._hop(target, deadline_ns)
            if not redirects(head, self.request):
                break
            self._keep_cookies(target, head)
            following = self._following(target, head)
            if not _same_origin(target, following):
                self.headers = ()
            target = following
        self._judge_answer(exchange, head)

    async def _hop(self, target: Target, deadline_ns: int) -> tuple[Exchange, Head]:
        try:
            return await self._greet(target, deadline_ns)
        except ProbeError as error:
            if error.failure.kind is not FailureKind.HTTP1_NOT_SPOKEN:
                raise
            # A server that takes none of what browsers offer is broken for them too.
            raise ProbeError(FailureKind.TLS_ALERT, "it speaks neither HTTP/1.1 nor HTTP/2") from error

    async def _greet(self, target: Target, deadline_ns: int) -> tuple[Exchange, Head]:
        """Asks, once more without the hybrid key share where nothing came of that ClientHello."""
        self.recorders.append(HopRecorder(target))
        self.given_up.clear()
        # What is known of a server that only led here is nothing of this one.
        self.place = None
        offer = Offer(protocols=HTTP2) if _origin(target) in self.over_http2 else USUAL
        try:
            return await self._converse(Manner(sparing=True, offer=offer), deadline_ns)
        except ProbeError as error:
            recorder = self.recorders[-1]
            if not hello_died(recorder, error.failure):
                raise
            self.given_up.append((recorder, error.failure))
        self.recorders[-1] = begun_again(recorder)
        return await self._converse(
            Manner(instead=same_address(recorder), offer=replace(offer, classical=True)), deadline_ns
        )

    async def _converse(self, manner: Manner, deadline_ns: int) -> tuple[Exchange, Head]:
        """Asks; once more in HTTP/2 where the server does not speak HTTP/1.1. A try that came to nothing for that alone
        leaves no trace: it is no part of what a visitor waits for."""
        first = self.recorders[-1]
        try:
            return await self._ask(first, manner, deadline_ns)
        except ProbeError as error:
            if manner.offer.protocols == HTTP2 or not wants_http2(first, error.failure):
                raise
            because = error
        conversation()
        self.recorders[-1] = begun_again(first)
        other = Manner(instead=same_address(first), offer=replace(manner.offer, protocols=HTTP2))
        try:
            answered = await self._ask(self.recorders[-1], other, deadline_ns)
        except ProbeError as error:
            if speaks_http2(self.recorders[-1]) or not _speaks_neither(because.failure, error.failure):
                raise
            self.recorders[-1] = first
            raise because from error
        self.over_http2.add(_origin(first.target))
        return answered

    async def _ask(self, recorder: HopRecorder, manner: Manner, deadline_ns: int) -> tuple[Exchange, Head]:
        target = recorder.target
        exchange = Exchange(self.kit, self.request, recorder, self.tell)
        headers = self._headers_for(target)
        asking = Asking(target=target, user_agent=self.kit.settings.user_agent, headers=headers)
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
                    headers=self._headers_for(target),
                    classical=manner.offer.classical,
                    protocols=manner.offer.protocols,
                    session=link.session(),
                    recorder=recorder,
                )
        return exchange, head

    def _note_fault(self, link: Link) -> None:
        """From a server that is not trusted on, what the monitor keeps secret is told to nobody."""
        if link.fault is not None and not self.request.ignore_certificate_errors:
            self.fault = self.fault or link.fault
            self.headers = ()

    def _keep_cookies(self, target: Target, head: Head) -> None:
        """What a redirect sets. Few do: others are spared what it takes to know cookies."""
        if head.first("set-cookie") is None:
            return
        from workers.probes.cookies import Cookies  # noqa: PLC0415

        self.cookies = self.cookies or Cookies()
        self.cookies.take(target.url, head)

    def _cookies_for(self, target: Target) -> str:
        return "" if self.cookies is None else self.cookies.sent_to(target.url)

    def _headers_for(self, target: Target) -> tuple[Header, ...]:
        """The monitor's, and the cookies that the way here has set: for all that is asked of this server."""
        if self.cookies is None or not self._cookies_for(target):
            return self.headers
        own = [header.value for header in self.headers if header.name.lower() == "cookie"]
        others = [header for header in self.headers if header.name.lower() != "cookie"]
        return (*others, Header(name="Cookie", value=self.cookies.sent_beside(own, target.url)))

    def _parse(self, url: str, *, stage: Stage) -> Target:
        try:
            return parse_target(url, extra_ports=self.kit.settings.extra_ports)
        except TargetError as error:
            raise ProbeError(FailureKind.INVALID_URL, str(error), stage=stage) from error

    def _following(self, target: Target, head: Head) -> Target:
        """Where a redirect leads. A URL asked before with the same cookies would only send us round again."""
        location = head.first("location") or ""
        try:
            url = location_url(target.url, location)
        except ValueError as error:
            evidence = f"{location[:60]!r} is no address"
            raise ProbeError(FailureKind.INVALID_URL, evidence, stage=Stage.REDIRECT) from error
        following = self._parse(url, stage=Stage.REDIRECT)
        if (following.url, self._cookies_for(following)) in self.asked:
            raise ProbeError(FailureKind.TOO_MANY_REDIRECTS, f"back to {following.url}")
        if len(self.recorders) > MAX_REDIRECTS:
            raise ProbeError(FailureKind.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS}")
        return following

    def _judge_answer(self, exchange: Exchange, head: Head) -> None:
        challenge = challenge_by_headers(head.status, head.headers)
        if challenge is not None:
            raise ProbeError(FailureKind.PAGE_CHALLENGE, str(challenge))
        if head.status not in (self.request.accepted_status or USUALLY_ACCEPTED):
            raise ProbeError(FailureKind.STATUS_UNEXPECTED, str(head.status))
        if self.request.body_text and (exchange.finder is None or not exchange.finder.found):
            raise ProbeError(FailureKind.TEXT_MISSING, repr(self.request.body_text[:80]))


def hello_died(recorder: HopRecorder, failure: Failure) -> bool:
    """Whether the server never said a word of the handshake, as when the ClientHello did not get through."""
    return (
        failure.stage is Stage.TLS
        and failure.kind in _HELLO_DIED
        and not any(record.content_type == _HANDSHAKE_RECORD for record in recorder.records)
    )


def wants_http2(recorder: HopRecorder, failure: Failure) -> bool:
    """Whether the server may speak HTTP/2 alone: it said so, or it agreed on no protocol and did not answer in ours."""
    if failure.kind is FailureKind.HTTP1_NOT_SPOKEN:
        return True
    agreed = recorder.handshake is None or recorder.handshake.protocol is not None
    return not agreed and recorder.head is None and failure.kind in _NOT_UNDERSTOOD


def _speaks_neither(first: Failure, second: Failure) -> bool:
    """Whether the try in HTTP/2 found out nothing but that it is not spoken either, or was one in vain."""
    return first.kind is not FailureKind.HTTP1_NOT_SPOKEN or second.kind is FailureKind.HTTP1_NOT_SPOKEN


def same_address(recorder: HopRecorder) -> DialAddress:
    """The address of before: another one may be another server."""
    assert recorder.address is not None
    return DialAddress(address=recorder.address, port=recorder.port)


def begun_again(recorder: HopRecorder) -> HopRecorder:
    """The same hop, found already."""
    again = HopRecorder(recorder.target)
    again.lookup, again.addresses = recorder.lookup, recorder.addresses
    return again


def _same_origin(one: Target, other: Target) -> bool:
    """Secrets in headers are for the host they were given for: another origin gets none of them."""
    return _origin(one) == _origin(other)


def _origin(target: Target) -> Origin:
    return target.scheme, target.host, target.port
