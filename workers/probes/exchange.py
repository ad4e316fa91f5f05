"""One request over a connection and its answer. Each step leaves its mark in the recorder before the next."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.messages import Kind, ProgressStage, RunRequest
from workers.measurement.nouns import noun
from workers.measurement.statuses import REDIRECTS
from workers.measurement.target import Target
from workers.probes.answer import Reader, receive_answer, said_unasked
from workers.probes.body_text import TextFinder
from workers.probes.channels import Channel
from workers.probes.faults import ProbeError, late_fault
from workers.probes.http1 import Head, OnBody, ResponseReader, look_away
from workers.probes.link import Kit, Link
from workers.probes.loop import DeadlineError
from workers.probes.recorder import HopRecorder
from workers.probes.request_fields import BROWSER_ENCODINGS, Fields, request_fields

if TYPE_CHECKING:
    from workers.probes.http2 import Http2Conversation

Tell = Callable[[ProgressStage], None] | None
# What comes over the wire for a body within its limit: chunks of one byte carry five of framing and more.
WIRE_FACTOR = 8
# What of a body we can read ourselves.
_OWN_ENCODINGS = "gzip"
HTTP2 = "h2"


@noun(frozen=True, slots=True, kw_only=True)
class Asking:
    """A GET. `headers` are the monitor's own, and may be secrets: a server that is not trusted gets none of them."""

    target: Target
    user_agent: str
    headers: tuple[Header, ...] = ()
    keeping_connection: bool = False

    def spoken(self, *, trusted: bool) -> bytes:
        """In HTTP/1.1."""
        headers = self.headers if trusted else ()
        return request_bytes(self.target, headers, self.user_agent, keeping_connection=self.keeping_connection)

    def fields(self, *, trusted: bool) -> Fields:
        """In HTTP/2."""
        encodings = BROWSER_ENCODINGS if self.keeping_connection else _OWN_ENCODINGS
        return request_fields(self.target, self.headers if trusted else (), self.user_agent, encodings)


class Exchange:
    """From the wish to the last byte (or the head alone, when that sends us elsewhere).

    A certificate that fails verification ends a pair; a probe goes on, since the time it takes is worth knowing.
    """

    def __init__(
        self,
        kit: Kit,
        request: RunRequest,
        recorder: HopRecorder,
        tell: Tell,
        *,
        talk: "Http2Conversation | None" = None,
    ) -> None:
        """`talk` is what was said before over the same connection, where that was HTTP/2."""
        self.talk = talk
        self.finder: TextFinder | None = None
        self._kit = kit
        self._request = request
        self._recorder = recorder
        self._tell = tell
        # Where no text is looked for, the reader knows nothing of its exchange: what knows itself would wait for the
        # garbage collector when it is over, and a probe's marks with it.
        self._on_body: OnBody = self._take_body if request.body_text else look_away
        self._reader: Reader = ResponseReader(max_body_bytes=kit.settings.max_body_bytes, on_body=self._on_body)

    @property
    def keeps_connection(self) -> bool:
        """Whether the server said that it may be asked again over the same connection.

        What came together with the end of an answer in HTTP/2 may be good-bye, or make no sense.
        """
        if self.talk is not None:
            try:
                self.talk.hear()
            except ProbeError:
                return False
        return self._reader.keeps_connection

    async def run(self, link: Link, asking: Asking, deadline_ns: int) -> Head:
        """Asks over the link, which opens itself if need be; the head of the answer.

        Raises ProbeError; what was seen before is in the recorder.
        """
        try:
            used = link.is_open
            channel = await link.channel(self._recorder, deadline_ns)
            if used and self.talk is None and await said_unasked(channel, deadline_ns) is not None:
                raise ProbeError(FailureKind.CONNECTION_RESET)
            trusted = link.fault is None or self._request.ignore_certificate_errors
            if self._request.kind is Kind.PAIR and not trusted:
                raise link.fault or ProbeError(FailureKind.CERTIFICATE_INVALID)
            return await self._run(channel, self._spoken(asking, trusted=trusted))
        except DeadlineError as error:
            if self.talk is not None and self.talk.not_taken:
                raise self.talk.untaken() from error
            seconds = self._request.timeout_us / 1_000_000
            raise late_fault(self._recorder.stage, seconds, self._recorder.where) from error

    def _spoken(self, asking: Asking, *, trusted: bool) -> bytes:
        """The request in the protocol that was agreed on; from now on the answer is read in the same."""
        if self.talk is None and not speaks_http2(self._recorder):
            return asking.spoken(trusted=trusted)
        fields = asking.fields(trusted=trusted)
        if self.talk is None:
            limit_bytes = self._kit.settings.max_body_bytes
            self.talk = conversation()(fields, max_body_bytes=limit_bytes, on_body=self._on_body)
        else:
            self.talk.ask_again(fields)
        self._reader = self.talk
        return self.talk.outgoing()

    async def _run(self, channel: Channel, sent: bytes) -> Head:
        self._recorder.begin_exchange(time.monotonic_ns())
        self._recorder.stage = Stage.SEND
        if sent:
            await channel.send(sent)
        self._recorder.stage = Stage.WAIT
        if self._tell is not None:
            self._tell(ProgressStage.LOADING)
        limit_bytes = self._kit.settings.max_body_bytes * WIRE_FACTOR
        return await receive_answer(
            channel, self._recorder, self._reader, limit_bytes=limit_bytes, enough=self._sends_elsewhere
        )

    def _sends_elsewhere(self, reader: Reader) -> bool:
        return reader.head is not None and redirects(reader.head, self._request)

    def _take_body(self, data: bytes) -> None:
        if self._request.body_text is None or self._reader.head is None:
            return
        if self.finder is None:
            self.finder = TextFinder(self._request.body_text, self._reader.head)
        self.finder.feed(data)


def speaks_http2(recorder: HopRecorder) -> bool:
    """Whether that was agreed on in the handshake."""
    return recorder.handshake is not None and recorder.handshake.protocol == HTTP2


def conversation() -> "type[Http2Conversation]":
    """Imported when first needed, which takes a while: it is memory that most agents can spare for good."""
    from workers.probes.http2 import Http2Conversation  # noqa: PLC0415

    return Http2Conversation


def redirects(head: Head, request: RunRequest) -> bool:
    """Whether the answer sends us elsewhere.

    A redirect that the monitor expects by its status is the answer itself; so is any redirect of a pair.
    """
    if request.kind is Kind.PAIR or head.status in request.accepted_status:
        return False
    return head.status in REDIRECTS and head.first("location") is not None


def request_bytes(target: Target, headers: tuple[Header, ...], user_agent: str, *, keeping_connection: bool) -> bytes:
    """A GET for the target. Headers of the monitor take the place of ours of the same name.

    One that keeps its connection asks for what a browser asks for; the other takes only what we can read ourselves.
    """
    lines = {
        "host": ("Host", target.authority),
        "user-agent": ("User-Agent", user_agent),
        "accept": ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        "accept-encoding": ("Accept-Encoding", BROWSER_ENCODINGS if keeping_connection else _OWN_ENCODINGS),
    }
    lines |= {header.name.lower(): (header.name, header.value) for header in headers}
    lines["connection"] = ("Connection", "keep-alive" if keeping_connection else "close")
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.values())
    return f"GET {target.path} HTTP/1.1\r\n{text}\r\n".encode()
