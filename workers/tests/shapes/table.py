"""What must be seen of a shape, written as a table by hand; and what was seen, in the same words.

Columns are two spaces apart: type, URL, answer (status and protocol, or where it came from, or the error), connection,
phases, and whatever else there is (who asked, where it led, flags), with semicolons between. A phase with a number must
take so many milliseconds; one without is there, and how long it takes is chance.
"""

import re
from dataclasses import dataclass

from workers.measurement.connection import Connection
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request, ServedFrom
from workers.tests.shapes.site import Shape

_PHASES = ("dns", "connect", "tls", "send", "wait", "download")
# A link adds a tenth of a millisecond, the browser the work of its processes: recorded on a machine that was busy.
_LESS_MS, _MORE_MS = 1.0, 15.0
_NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row in words; `times` are milliseconds by phase, None where they do not matter."""

    words: str
    times: dict[str, float | None]


def lines_of(table: str) -> list[Line]:
    """A shape's table, read."""
    return [_line(re.split(r"\s{2,}", text.strip())) for text in table.strip().splitlines()]


def _line(columns: list[str]) -> Line:
    kind, url, answer, connection, phases, *rest = columns
    pairs = [word.partition("=") for word in phases.split() if word != _NOTHING]
    times = {name: float(text) if text else None for name, _, text in pairs}
    return Line(words=_words(kind, url, answer, connection, times, rest[0] if rest else ""), times=times)


def _words(kind: str, url: str, answer: str, connection: str, times: dict[str, float | None], more: str) -> str:
    return "  ".join((kind, url, answer, connection, " ".join(times) or _NOTHING, more)).strip()


def seen(request: Request) -> Line:
    """A computed row in the words of a table."""
    times = _times(request.timing)
    words = _words(
        str(request.resource_type), _url(request), _answer(request), _connection(request), times, _more(request)
    )
    return Line(words=words, times=times)


def _times(timing: Timing) -> dict[str, float | None]:
    spans = ((name, getattr(timing, name)) for name in _PHASES)
    return {name: span.duration_us / 1000 for name, span in spans if span is not None}


def _url(request: Request) -> str:
    """The name of a blob is made up anew each time."""
    return request.url[: request.url.rfind("/") + 1] if request.url.startswith("blob:") else request.url


def _answer(request: Request) -> str:
    if request.failure is not None:
        return " ".join(filter(None, (request.failure, str(request.status or ""))))
    if request.served_from is not ServedFrom.NETWORK:
        return f"{request.status} {request.served_from}"
    return " ".join(str(word) for word in (request.status, request.protocol) if word is not None) or _NOTHING


def _connection(request: Request) -> str:
    return _NOTHING if request.connection is None else f"{request.connection} {'reuses' if request.reused else 'opens'}"


def _more(request: Request) -> str:
    told = [
        None if request.method == "GET" else request.method,
        None if request.initiator_url is None else f"by {request.initiator_url}",
        None if request.redirected_to is None else f"to {request.redirected_to}",
        *request.flags,
        None if request.timing.end_us is not None else "open",
    ]
    return "; ".join(filter(None, told))


def keeps(line: Line, expected: Line) -> bool:
    """Whether every phase takes as long as it must."""
    found = ((line.times[name], wanted) for name, wanted in expected.times.items())
    return all(
        wanted is None or (length is not None and wanted - _LESS_MS <= length <= wanted + _MORE_MS)
        for length, wanted in found
    )


def connection_line(connection: Connection) -> str:
    """A connection in the words of a table."""
    flags = [name for name in ("resumed", "preconnected") if getattr(connection, name)]
    if connection.certificate_error is not None:
        flags.append(connection.certificate_error)
    place = f"{connection.host}:{connection.port}"
    return "  ".join(
        filter(
            None,
            (str(connection.number), place, connection.protocol, f"{connection.requests} requests", "; ".join(flags)),
        )
    )


def connection_lines(table: str) -> list[str]:
    return ["  ".join(re.split(r"\s{2,}", text.strip())) for text in table.strip().splitlines()]


def differences(shape: Shape, page: PageMeasurement) -> list[str]:
    """What was seen of a shape other than it must be; empty when all is well."""
    waterfall = page.waterfall
    wanted, found = lines_of(shape.rows), [seen(request) for request in waterfall.requests]
    apart = [
        f"{sign} {words}" for sign, words in _apart([line.words for line in wanted], [line.words for line in found])
    ]
    if not apart:
        late = [(line, one) for line, one in zip(found, wanted, strict=True) if not keeps(line, one)]
        apart = [f"{line.words}: {line.times}, not {one.times}" for line, one in late]
    connections = [connection_line(one) for one in waterfall.connections]
    apart += [f"{sign} {words}" for sign, words in _apart(connection_lines(shape.connections), connections)]
    return [*apart, *page.warnings]


def _apart(wanted: list[str], found: list[str]) -> list[tuple[str, str]]:
    if wanted == found:
        return []
    return [*(("wanted", words) for words in wanted), *(("found ", words) for words in found)]
