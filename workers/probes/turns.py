"""Requests over one connection of a deep probe, one after another, in the protocol that was agreed on."""

from typing import Protocol

from workers.probes.answer import Reader
from workers.probes.exchange import Asking
from workers.probes.faults import ProbeError
from workers.probes.http1 import ResponseReader, look_away
from workers.probes.http2 import Http2Conversation


class Turns(Protocol):
    """The same request again and again. `reader` is that of the latest one's answer."""

    reader: Reader

    def spoken(self) -> bytes:
        """The next request. Raises ProbeError where the protocol forbids one."""
        ...

    def hear(self, data: bytes) -> bool:
        """What the server says without being asked: whether the connection outlives it. Raises ProbeError."""
        ...

    def keep_connection(self) -> bool:
        """Whether another request may follow, now that the answer is complete."""
        ...

    def is_refused(self) -> bool:
        """Whether the latest request failed by itself: that says nothing of the connection."""
        ...


class Http1Turns:
    """A server that speaks without being asked is about to close."""

    def __init__(self, asking: Asking, limit_bytes: int, *, trusted: bool) -> None:
        self._request = asking.spoken(trusted=trusted)
        self._limit_bytes = limit_bytes
        self.reader: Reader = self._next_reader()

    def spoken(self) -> bytes:
        self.reader = self._next_reader()
        return self._request

    def hear(self, _: bytes) -> bool:
        return False

    def keep_connection(self) -> bool:
        return self.reader.keeps_connection

    def is_refused(self) -> bool:
        return False

    def _next_reader(self) -> ResponseReader:
        return ResponseReader(max_body_bytes=self._limit_bytes, on_body=look_away)


class Http2Turns:
    """Streams of one conversation, each after the end of the one before."""

    def __init__(self, asking: Asking, limit_bytes: int, *, trusted: bool) -> None:
        self._fields = asking.fields(trusted=trusted)
        self._talk = Http2Conversation(self._fields, max_body_bytes=limit_bytes, on_body=look_away)
        self.reader: Reader = self._talk

    def spoken(self) -> bytes:
        if self._talk.complete:
            self._talk.ask_again(self._fields)
        return self._talk.outgoing()

    def hear(self, data: bytes) -> bool:
        if not data:
            return False
        self._talk.hear(data)
        return self._talk.keeps_connection

    def keep_connection(self) -> bool:
        """What came together with the end of the answer may be good-bye, or make no sense."""
        try:
            self._talk.hear()
        except ProbeError:
            return False
        return self._talk.keeps_connection

    def is_refused(self) -> bool:
        return self._talk.refused
