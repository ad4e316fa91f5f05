"""A whole probe: from the URL over its redirects to the answer, then the checks that the monitor asks for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urljoin

from workers.measurement.captures_probe import ClockReading, ProbeCapture
from workers.measurement.connection import Header
from workers.measurement.failure import Failure, FailureKind, Stage
from workers.measurement.messages import ProgressStage, RunRequest
from workers.measurement.request_headers import header_fault
from workers.measurement.target import Target, TargetError, parse_target
from workers.probes.exchange import Exchange, redirects, request_bytes
from workers.probes.faults import ProbeError
from workers.probes.http1 import Head
from workers.probes.link import Kit, Link
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import read_clocks

MAX_REDIRECTS = 10
_USUAL_STATUS = range(200, 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was seen, and why it ended early if it did."""

    capture: ProbeCapture
    failure: Failure | None = None


@dataclass(slots=True)
class Journey:
    """One run under way."""

    kit: Kit
    request: RunRequest
    tell: Callable[[ProgressStage], None] | None = None
    recorders: list[HopRecorder] = field(default_factory=list)

    async def run(self) -> Outcome:
        """Never raises for a bad target. `timeout_us` of the request covers all hops together."""
        before = read_clocks()
        deadline_ns = before.monotonic_ns + self.request.timeout_us * 1000
        try:
            await self._travel(deadline_ns)
        except ProbeError as error:
            return Outcome(capture=self._capture(before), failure=error.failure)
        return Outcome(capture=self._capture(before))

    def _capture(self, before: ClockReading) -> ProbeCapture:
        hops = tuple(recorder.capture() for recorder in self.recorders)
        return ProbeCapture(before=before, after=read_clocks(), hops=hops)

    async def _travel(self, deadline_ns: int) -> None:
        fault = header_fault(self.request.headers)
        if fault is not None:
            raise ProbeError(FailureKind.INVALID_REQUEST, fault)
        target = self._parse(self.request.url, stage=Stage.TARGET)
        if self.tell is not None:
            self.tell(ProgressStage.CONNECTING)
        headers = self.request.headers
        while True:
            exchange, head = await self._hop(target, headers, deadline_ns)
            if not redirects(head, self.request):
                break
            following = self._following(target, head)
            if not _same_origin(target, following):
                headers = ()
            target = following
        self._judge_answer(exchange, head)

    async def _hop(self, target: Target, headers: tuple[Header, ...], deadline_ns: int) -> tuple[Exchange, Head]:
        recorder = HopRecorder(target)
        self.recorders.append(recorder)
        exchange = Exchange(self.kit, self.request, recorder, self.tell)
        sent = request_bytes(target, headers, self.kit.settings.user_agent)
        with Link(self.kit, target, ignore_certificate_errors=self.request.ignore_certificate_errors) as link:
            return exchange, await exchange.run(link, sent, deadline_ns)

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
        if head.status not in (self.request.accepted_status or _USUAL_STATUS):
            raise ProbeError(FailureKind.STATUS_UNEXPECTED, str(head.status))
        if self.request.body_text and (exchange.finder is None or not exchange.finder.found):
            raise ProbeError(FailureKind.TEXT_MISSING, repr(self.request.body_text[:80]))


def _same_origin(one: Target, other: Target) -> bool:
    """Secrets in headers are for the host they were given for: another origin gets none of them."""
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)
