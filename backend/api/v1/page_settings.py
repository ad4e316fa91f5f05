"""How a page monitor loads its page, as the API tells and takes it."""

from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from backend.api.v1.shapes import In, Out
from backend.sites import page_settings
from backend.sites.models import Monitor
from backend.sites.monitor_settings import MAX_PAGE_LOADS
from workers.measurement import page_options as options
from workers.measurement.page_rules import MAX_SIDE, MAX_TEXT_CHARS, MIN_SIDE

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
    """Without `domain` it belongs to the host of the monitor's URL."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    value: Annotated[str, StringConstraints(max_length=4096)]
    domain: HostName | None = None


class Login(In):
    user: Text
    password: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]


class PageSettings(Out):
    """Values of cookies, the password and the texts of steps are secrets: names and counts are told."""

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
    steps: int


class PageChange(In):
    """What is left out stays; a list replaces the whole list; null takes away. `black_holes` never answer."""

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


def page_of_monitor(monitor: Monitor) -> PageSettings:
    """The settings of a page monitor, without its secrets."""
    page = page_settings.read(monitor.page)
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
        steps=len(page.steps),
    )


def changed_page(before: options.PageOptions, change: PageChange) -> options.PageOptions:
    """The options with what was sent, unjudged."""
    return replace(before, **{name: _value(name, getattr(change, name)) for name in change.model_fields_set})


def _value(name: str, sent: Any) -> Any:
    """As the options have it."""
    if sent is None:
        return getattr(options.PLAIN, name)
    if name == "host_map":
        return tuple(options.HostMapping(**one.model_dump()) for one in sent)
    if name == "cookies":
        return tuple(options.Cookie(**one.model_dump()) for one in sent)
    if name == "device":
        return options.Device(**sent.model_dump())
    if name == "login":
        return options.Login(**sent.model_dump())
    return tuple(sent) if isinstance(sent, list) else sent
