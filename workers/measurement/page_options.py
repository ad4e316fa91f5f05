"""How a page is loaded: as which device, by whom, over which protocol, to which addresses, in which state, how often.

These are numbers and texts that a person chose; the browser's own ways of obeying them are in `workers/browser/`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

MAX_LOADS = 9
MAX_STEPS = 50
MAX_HOSTS = 50
MAX_COOKIES = 50
# How long each step of a script may take.
STEP_S = 10
# Between the CSS selector of a frame and that of an element in it: `iframe[src*=login] >>> #user`.
WITHIN = " >>> "
MAX_FRAMES = 5


class PageState(StrEnum):
    """What the browser holds when a load begins; loads of different states are never compared with each other.

    `cold` has nothing: no cache, no socket, no TLS session, no answer of the resolver. `warm_cache` has the cache of
    an earlier visit and no connection. `warm_connection` has both.
    """

    COLD = "cold"
    WARM_CACHE = "warm_cache"
    WARM_CONNECTION = "warm_connection"


class Protocol(StrEnum):
    """The only HTTP that the browser may speak in a run, named as its ALPN."""

    H1 = "http/1.1"
    H2 = "h2"
    H3 = "h3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A screen in CSS pixels with its pixel ratio. `mobile` obeys the viewport tag, has touch and says so."""

    name: str
    width: int
    height: int
    scale: float = 1.0
    mobile: bool = False


DESKTOP = Device(name="desktop", width=1350, height=940)
# Lighthouse's phone and tablet sizes, which the field compares by (Moto G Power; iPad at its own ratio).
PHONE = Device(name="phone", width=412, height=823, scale=1.75, mobile=True)
TABLET = Device(name="tablet", width=820, height=1180, scale=2.0, mobile=True)
DEVICES = {device.name: device for device in (DESKTOP, PHONE, TABLET)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookie:
    """Set before the first load. Without `domain` it belongs to the host of the measured URL."""

    name: str
    value: str = field(repr=False)
    domain: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Answers a server's question for basic authentication, of the measured URL's host alone."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMapping:
    """Requests to `host` go to `address` (an IP address), with the host's own name in SNI and Host header."""

    host: str
    address: str
    port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Opens an address and waits for its load event."""

    kind: Literal["visit"] = "visit"
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """Clicks the one visible element that the CSS selector finds. Selectors lead into frames by `WITHIN`."""

    kind: Literal["click"] = "click"
    selector: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeText:
    """Types into an input. A `secret` text is stored encrypted and shown nowhere: no log, picture, result or error."""

    kind: Literal["type"] = "type"
    selector: str
    text: str = field(repr=False)
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFor:
    """Waits until an element is visible."""

    kind: Literal["wait_for"] = "wait_for"
    selector: str


class Key(StrEnum):
    """The keys that a script may press, by their DOM names."""

    ENTER = "Enter"
    TAB = "Tab"
    ESCAPE = "Escape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """Presses a key where the page has its focus: after typing, in the field that was typed into."""

    kind: Literal["press"] = "press"
    key: Key


Step = Visit | Click | TypeText | WaitFor | Press


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """`loads` is how many first views are made, the representative of which stands for the run.

    `repeat` adds to each of them a second view in that (warm) state. `black_holes` are hosts whose packets nobody
    answers: what becomes of the page when they fail? `without` are hosts of which nothing comes, and nothing is waited
    for: what is asked of them fails at once. What does the page cost with them? `steps` are done before the first view,
    for pages behind a login; what they leave is cookies and storage only, so that the view is as cold as any other.
    """

    device: Device = field(default=DESKTOP)
    user_agent: str | None = None
    locale: str | None = None
    cookies: tuple[Cookie, ...] = ()
    login: Login | None = None
    protocol: Protocol | None = None
    host_map: tuple[HostMapping, ...] = ()
    black_holes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    loads: int = 1
    repeat: PageState | None = None
    steps: tuple[Step, ...] = ()


PLAIN = PageOptions()
