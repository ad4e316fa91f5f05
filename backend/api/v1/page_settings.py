"""How a page monitor loads its page, as the API tells and takes it."""

from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from backend.api.v1.shapes import In, Out
from backend.sites.monitor_settings import MAX_PAGE_LOADS
from workers.measurement import page_options as options
from workers.measurement.page_rules import MAX_SIDE, MAX_TEXT_CHARS, MIN_SIDE
from workers.measurement.script_text import KEPT

Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT_CHARS)]
HostName = Annotated[str, StringConstraints(min_length=1, max_length=253)]
Side = Annotated[int, Field(ge=MIN_SIDE, le=MAX_SIDE)]


class Device(In):
    """A screen in CSS pixels. `desktop`, `phone` and `tablet` are the usual ones."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    width: Side
    height: Side
    scale: Annotated[float, Field(gt=0, le=4)] = 1.0
    mobile: bool = False


class HostMapping(In):
    """Requests to `host` go to `address`, with the host's own name in TLS and in the Host header."""

    host: HostName
    address: Annotated[str, StringConstraints(max_length=60)]
    port: Annotated[int, Field(ge=1, le=65535)] | None = None


class Cookie(In):
    """Without `domain` it belongs to the host of the monitor's URL. Without `value` it keeps the one that is stored."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    value: Annotated[str, StringConstraints(max_length=4096)] | None = None
    domain: HostName | None = None


class Login(In):
    """A password that is left out stays as it is stored."""

    user: Text
    password: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)] | None = None


class Visit(In):
    """Opens an address and waits until it has loaded."""

    kind: Literal["visit"]
    url: Annotated[str, StringConstraints(min_length=1, max_length=8192)]


class Click(In):
    """Clicks the one visible element that a CSS selector finds."""

    kind: Literal["click"]
    selector: Text


class TypeText(In):
    """Types into a field, or chooses of a list by value. The text of a secret is told to nobody: it is null.

    A secret that is sent as null keeps the text that is stored for this field on this server.
    """

    kind: Literal["type"]
    selector: Text
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)] | None = None
    secret: bool = False


class WaitFor(In):
    """Waits until an element is visible."""

    kind: Literal["wait_for"]
    selector: Text


class Press(In):
    """Presses a key where the page has its focus: after typing, in the field that was typed into."""

    kind: Literal["press"]
    key: options.Key


AnyStep = Visit | Click | TypeText | WaitFor | Press
Step = Annotated[AnyStep, Field(discriminator="kind")]


class PageSettings(Out):
    """Values of cookies, the password and the texts of secret steps are told to nobody."""

    device: Device
    user_agent: str | None
    locale: str | None
    protocol: options.Protocol | None
    host_map: list[HostMapping]
    black_holes: list[str]
    loads: int
    repeat: options.PageState | None
    cookie_names: list[str]
    login_user: str | None
    steps: list[Step]


class PageChange(In):
    """What is left out stays; a list replaces the whole list; null takes away. `black_holes` never answer.

    `steps` are done before the first view, for pages behind a login.
    """

    device: Device | None = None
    user_agent: Text | None = None
    locale: Annotated[str, StringConstraints(max_length=20)] | None = None
    protocol: options.Protocol | None = None
    host_map: Annotated[list[HostMapping], Field(max_length=options.MAX_HOSTS)] | None = None
    black_holes: Annotated[list[HostName], Field(max_length=options.MAX_HOSTS)] | None = None
    loads: Annotated[int, Field(ge=1, le=MAX_PAGE_LOADS)] | None = None
    repeat: options.PageState | None = None
    cookies: Annotated[list[Cookie], Field(max_length=options.MAX_COOKIES)] | None = None
    login: Login | None = None
    steps: Annotated[list[Step], Field(max_length=options.MAX_STEPS)] | None = None


def told_page(page: options.PageOptions) -> PageSettings:
    """The settings of a page monitor, without its secrets."""
    return PageSettings(
        device=Device(**asdict(page.device)),
        user_agent=page.user_agent,
        locale=page.locale,
        protocol=page.protocol,
        host_map=[HostMapping(**asdict(one)) for one in page.host_map],
        black_holes=list(page.black_holes),
        loads=page.loads,
        repeat=page.repeat,
        cookie_names=[cookie.name for cookie in page.cookies],
        login_user=page.login.user if page.login else None,
        steps=[_told(step) for step in page.steps],
    )


def changed_page(before: options.PageOptions, change: PageChange) -> options.PageOptions:
    """The options with what was sent, unjudged; a secret that was not sent is KEPT."""
    sent = change.model_fields_set & PageChange.model_fields.keys()
    return replace(before, **{name: _value(name, getattr(change, name)) for name in sent})


def kept(secret: str | None) -> str:
    """The secret, or what asks for the one that is stored."""
    return KEPT if secret is None else secret


def _told(step: options.Step) -> AnyStep:
    """A step without its secret."""
    if isinstance(step, options.TypeText):
        text = None if step.secret else step.text
        return TypeText(kind="type", selector=step.selector, text=text, secret=step.secret)
    if isinstance(step, options.Visit):
        return Visit(kind="visit", url=step.url)
    if isinstance(step, options.Press):
        return Press(kind="press", key=step.key)
    if isinstance(step, options.Click):
        return Click(kind="click", selector=step.selector)
    return WaitFor(kind="wait_for", selector=step.selector)


def _step(sent: AnyStep) -> options.Step:
    """As the options have it; a text that was not sent asks for the one that is kept."""
    if isinstance(sent, TypeText):
        return options.TypeText(selector=sent.selector, text=kept(sent.text), secret=sent.secret)
    if isinstance(sent, Visit):
        return options.Visit(url=sent.url)
    if isinstance(sent, Press):
        return options.Press(key=sent.key)
    return options.Click(selector=sent.selector) if isinstance(sent, Click) else options.WaitFor(selector=sent.selector)


def _value(name: str, sent: Any) -> Any:
    """As the options have it."""
    if sent is None:
        return getattr(options.PLAIN, name)
    if name == "host_map":
        return tuple(options.HostMapping(**one.model_dump()) for one in sent)
    if name == "cookies":
        return tuple(options.Cookie(name=one.name, value=kept(one.value), domain=one.domain) for one in sent)
    if name == "steps":
        return tuple(_step(one) for one in sent)
    if name == "device":
        return options.Device(**sent.model_dump())
    if name == "login":
        return options.Login(user=sent.user, password=kept(sent.password))
    return tuple(sent) if isinstance(sent, list) else sent
