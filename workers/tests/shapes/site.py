"""What a page shape is made of: replies by URL, and what the browser is told besides. Plain data, so that a server
process can be given it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.measurement.page_options import PageState, Protocol
from workers.tests.browser.sites import picture

RTT_MS = 30.0


class Trick(StrEnum):
    """What a reply does that is no plain answer.

    `hang_up` closes without a word, `close` after the answer; `login` asks for a name first; `ranges` gives the parts
    that are asked for; `socket` becomes a WebSocket and says one word; `stay_open` never ends what it says. Over HTTP/2
    `refuse` takes a stream for not begun (REFUSED_STREAM), `go_away` that and all later ones of its connection.
    """

    HANG_UP = "hang_up"
    CLOSE = "close"
    LOGIN = "login"
    RANGES = "ranges"
    SOCKET = "socket"
    STAY_OPEN = "stay_open"
    REFUSE = "refuse"
    GO_AWAY = "go_away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one URL. `after_ms` goes by before its head; `pieces` are said one by one, each after its pause.

    `hints` are Link headers of a 103 that is sent at once. An `etag` makes the reply answer 304 to who has it. Who asks
    for the first time gets `first`, where there is one.
    """

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    after_ms: int = 0
    pieces: tuple[tuple[int, bytes], ...] = ()
    hints: tuple[str, ...] = ()
    etag: str | None = None
    trick: Trick | None = None
    first: "Reply | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A small site. `url` is loaded; `switches` are added to the browser's own.

    Every host of a reply is known to the name server; `elsewhere` are names that are known although nothing is served,
    `failing` those to which it answers with an error, `silent` those to which it does not, `records` HTTPS records. `full` asks for the whole Chromium, since the headless shell obeys no hints to connect. Where
    there is a `repeat`, that second visit is looked at. `rows` and `connections` are what must be seen of it, as
    `table.py` reads it.
    """

    url: str
    replies: dict[str, Reply]
    rows: str
    connections: str
    elsewhere: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    records: tuple[tuple[str, str], ...] = ()
    switches: tuple[str, ...] = ()
    protocol: Protocol | None = None
    full: bool = False
    repeat: PageState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """How a name is served over TLS. Names with the same `certificate` share one; `trusted` is False for a stranger's."""

    name: str
    protocols: tuple[str, ...]
    certificate: str
    trusted: bool = True
    quic: bool = False


HOSTS = (
    Host(name="one.test", protocols=("http/1.1",), certificate="one"),
    Host(name="also.test", protocols=("http/1.1",), certificate="also"),
    Host(name="two.test", protocols=("h2", "http/1.1"), certificate="two"),
    Host(name="img.two.test", protocols=("h2", "http/1.1"), certificate="two"),
    Host(name="far.two.test", protocols=("h2", "http/1.1"), certificate="far"),
    Host(name="cdn.test", protocols=("h2", "http/1.1"), certificate="cdn"),
    Host(name="three.test", protocols=("h2", "http/1.1"), certificate="three", quic=True),
    Host(name="bad.test", protocols=("h2", "http/1.1"), certificate="bad", trusted=False),
)


def page(body: str, head: str = "") -> bytes:
    """A document without an icon of its own, which a browser would ask for."""
    return f'<!doctype html><title>Shape</title><link rel="icon" href="data:,">{head}{body}'.encode()


def style(text: str = "p { margin: 0 }", after_ms: int = 0, **options: Any) -> Reply:
    return Reply(body=text.encode(), kind="text/css", after_ms=after_ms, **options)


def script(text: str = "window.ran = true", after_ms: int = 0, **options: Any) -> Reply:
    return Reply(body=text.encode(), kind="text/javascript", after_ms=after_ms, **options)


def image(after_ms: int = 0, **options: Any) -> Reply:
    return Reply(body=picture(), kind="image/png", after_ms=after_ms, **options)


def moved(to: str, status: int = 302, after_ms: int = 0) -> Reply:
    return Reply(status=status, headers=(("Location", to),), after_ms=after_ms)
