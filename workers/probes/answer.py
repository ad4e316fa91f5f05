"""One answer, read from a channel until it is whole. Each step leaves its mark in the recorder before the next."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from workers.measurement.failure import FailureKind
from workers.probes.channels import Channel
from workers.probes.faults import ProbeError
from workers.probes.http1 import Head
from workers.probes.loop import DeadlineError
from workers.probes.recorder import ExchangeMarks, HopRecorder


class Reader(Protocol):
    """What makes an answer of bytes: `http1.ResponseReader` or `http2.Http2Conversation`."""

    interim: tuple[int, ...]

    @property
    def begun(self) -> bool:
        """Whether something of the answer could be read, and not only of what comes before one."""
        ...

    @property
    def head(self) -> Head | None: ...

    @property
    def complete(self) -> bool: ...

    @property
    def body_bytes(self) -> int: ...

    @property
    def keeps_connection(self) -> bool: ...

    def feed(self, data: bytes) -> None: ...

    def close(self) -> None: ...

    def outgoing(self) -> bytes:
        """What must be sent before more can come."""
        ...


async def receive_answer(
    channel: Channel, recorder: HopRecorder, reader: Reader, *, limit_bytes: int, enough: Callable[[Reader], bool]
) -> Head:
    """The head of an answer that is complete, or of which there is `enough`. Raises ProbeError, DeadlineError.

    What was seen is in the recorder's latest exchange, however it ends.
    """
    marks = recorder.exchanges[-1]
    before_bytes = recorder.received_bytes
    try:
        while not reader.complete:
            await _take(channel, recorder, marks, reader)
            if recorder.received_bytes - before_bytes > limit_bytes:
                raise ProbeError(FailureKind.RESPONSE_TOO_LARGE, f"more than {limit_bytes} bytes on the wire")
            if enough(reader):
                break
        marks.last_read = len(recorder.reads) - 1
    finally:
        cut_short = marks.last_read is not None and not reader.complete
        marks.body_bytes = None if cut_short else reader.body_bytes
        marks.head = reader.head
        marks.interim = reader.interim
    assert reader.head is not None
    return reader.head


async def said_unasked(channel: Channel, deadline_ns: int) -> bytes | None:
    """What a server of HTTP/1.1 has said since its answer was whole: it would be taken for the next one, that took no
    time (RFC 9112, 9.3). Empty when it closed the connection, None when it is silent."""
    channel.until(time.monotonic_ns())
    try:
        return await channel.receive()
    except DeadlineError:
        return None
    except ProbeError:
        return b""
    finally:
        channel.until(deadline_ns)


async def _take(channel: Channel, recorder: HopRecorder, marks: ExchangeMarks, reader: Reader) -> None:
    data = await channel.receive()
    if not data:
        reader.close()
        return
    try:
        reader.feed(data)
    finally:
        if marks.first_read is None and reader.begun:
            recorder.note_readable(channel.latest_read)
    marks.note_progress(len(recorder.reads) - 1, reader.head, reader.body_bytes)
    answer = reader.outgoing()
    if answer:
        # A server that has said all may be gone: what is read tells.
        with suppress(ProbeError):
            await channel.send(answer)
