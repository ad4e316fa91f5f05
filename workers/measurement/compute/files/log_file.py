"""Chrome's network log from a file of any Chrome: what it was written by, and its events, in bounded memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from workers.measurement.compute.files.json_stream import DamagedError, JsonStream
from workers.measurement.compute.files.kinds import kind_of, names_in
from workers.measurement.compute.netlog.events import Names, NetEvent, event_of, names_of
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.reading import gather
from workers.measurement.compute.texts import plain

# How many keys a file may have before the ones that are looked for.
_MAX_KEYS = 100
_MAX_WORD_CHARS = 100
# Threads of Chrome write what happens at once in any order: measured, 3 ms apart.
_DISORDER_MS = 100


@dataclass(slots=True)
class _Order:
    """Whether events come as they happened; `newest_ms` is the last instant so far."""

    newest_ms: int | None = None
    is_kept: bool = True

    def note(self, time_ms: int) -> None:
        newest_ms = time_ms if self.newest_ms is None else max(self.newest_ms, time_ms)
        self.is_kept = self.is_kept and newest_ms - time_ms <= _DISORDER_MS
        self.newest_ms = newest_ms


class NoNetlogError(Exception):
    """The file is no network log of Chrome; says what it is, if that can be told, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """What a file says. `browser` names who wrote it; `zero_at` is the wall clock at `log.zero_ms` (aware UTC)."""

    log: NetworkLog
    browser: str | None = None
    zero_at: datetime | None = None
    warnings: tuple[str, ...] = field(default=())


def read_log_file(chunks: Iterable[bytes]) -> LogFile:
    """Reads the whole file once. Raises NoNetlogError."""
    stream = JsonStream(chunks)
    constants, early = _constants(stream)
    names = names_of(constants)
    if not names.by_type:
        raise NoNetlogError("its constants name no events: it is no network log of Chrome, or its head is damaged")
    is_whole = early is not None and stream.peek() == "}"
    order = _Order()
    log = gather(names, _events(early or () if is_whole else stream.objects(), names, order))
    ended = is_whole or stream.take("]")
    return LogFile(
        log=log,
        browser=_browser(constants),
        zero_at=_wall_clock(constants, log.zero_ms),
        warnings=(
            *_warnings(log, damaged=stream.damaged, ended=ended),
            *(() if order.is_kept else _DISORDER),
            *(_BEHIND if _has_more(stream) else ()),
        ),
    )


def _constants(stream: JsonStream) -> tuple[Mapping[str, Any], list[Any] | None]:
    """Reads up to the first event, where the list of events is open then. Events that stand before the constants come
    with them, as other tools write them; None where the list follows.
    """
    early: list[Any] = []
    if not stream.take("{"):
        raise NoNetlogError(_what_else(stream))
    constants: Mapping[str, Any] | None = None
    key: Any = None
    for _ in range(_MAX_KEYS):
        try:
            key = stream.value()
            if not stream.take(":"):
                break
            if key == "events" and constants is not None:
                stream.take("[")
                return constants, None
            value = stream.value()
        except DamagedError as error:
            if key == "constants":
                raise NoNetlogError(_NO_HEAD) from error
            break
        if key == "constants" and isinstance(value, dict):
            constants = value
        if key == "events" and isinstance(value, list):
            early = value
        if not stream.take(","):
            break
    if constants is not None:
        # Cut off between its head and its first event, or all events were there before.
        return constants, early
    raise NoNetlogError(_what_else(stream))


_DISORDER = ("Its events are not in the order in which they happened, as Chrome writes them: phases may be wrong.",)
_BEHIND = ("Behind the log's end there is more, such as another log: it is not read.",)


def _has_more(stream: JsonStream) -> bool:
    """Whether anything follows the log, behind what Chrome may write after its events."""
    while stream.take(","):
        try:
            stream.value()
            stream.take(":")
            stream.value()
        except DamagedError:
            return False
    return stream.take("}") and stream.peek() != ""


_NO_HEAD = (
    "its head, which names the events, is damaged or breaks off, and nothing can be read without it: save the log again"
)
_RECORD = "record a network log with chrome://net-export or --log-net-log=FILE"


def _what_else(stream: JsonStream) -> str:
    """What the file is, if that can be told, and what to do."""
    kind, begin = kind_of(names_in(stream.head)), stream.head.lstrip()[:1]
    if kind is not None and kind.command != "firstbyte netlog":
        return f"it is {kind.what}: {kind.reader(_RECORD)}"
    if begin == "{":
        return "it has no constants, with which a network log of Chrome begins"
    words = {"": "it is empty", "[": "it is a list, and no network log of Chrome"}
    return words.get(begin, "it is no JSON")


def _events(found: Iterable[Any], names: Names, order: _Order) -> Iterator[NetEvent]:
    for raw in found:
        event = event_of(names, raw)
        if event is not None:
            order.note(event.time_ms)
            yield event


def _browser(constants: Mapping[str, Any]) -> str | None:
    client = constants.get("clientInfo")
    words = [client.get(key) for key in ("name", "version")] if isinstance(client, dict) else []
    return plain(" ".join(word for word in words if isinstance(word, str)), _MAX_WORD_CHARS) or None


def _wall_clock(constants: Mapping[str, Any], tick_ms: int | None) -> datetime | None:
    """The log's ticks are those of a clock that knows no date; an offset leads to milliseconds since 1970."""
    if tick_ms is None:
        return None
    try:
        return datetime.fromtimestamp((int(constants["timeTickOffset"]) + tick_ms) / 1000, UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def _warnings(log: NetworkLog, *, damaged: int, ended: bool) -> Iterator[str]:
    if log.missing:
        yield f"This browser's log lacks {', '.join(sorted(log.missing))}: phases that need it are null."
    if damaged:
        yield f"{damaged} events could not be read and were passed over."
    if not ended:
        yield "The file breaks off before its end: the last requests may lack phases."
    if log.truncated:
        yield "The file holds more than is kept: what came last is left out."
    answered = sum(hop.status is not None and hop.transactions > 0 for hop in log.hops)
    opened = any(socket.connect.whole or socket.tls.whole or socket.older for socket in log.sockets.values())
    if answered and not opened:
        yield f"{answered} requests were answered and not one connection was seen: this log cannot be read rightly."
