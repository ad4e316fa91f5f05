"""What page options may say: read from a person's text, and judged before anything is stored or loaded."""

import re
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address, ip_address

from workers.measurement.page_options import (
    MAX_COOKIES,
    MAX_FRAMES,
    MAX_HOSTS,
    MAX_LOADS,
    MAX_STEPS,
    WITHIN,
    Cookie,
    Device,
    HostMapping,
    PageOptions,
    PageState,
    Press,
    Step,
    TypeText,
    Visit,
)
from workers.measurement.target import EVERY_PORT, PortError, Ports, TargetError, is_allowed, parse_target
from workers.measurement.web_address import host_of

MAX_TEXT_CHARS = 1000
MIN_SIDE, MAX_SIDE = 100, 5000
_MAX_SCALE = 4.0
_MAX_COOKIE_CHARS = 4096
# RFC 6265, 4.1.1: a token; and printable ASCII but the semicolon. Browsers send spaces, quotes and commas as well.
_COOKIE_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_COOKIE_VALUE = re.compile(r"[ -:<-~]*")
# BCP 47 as browsers know it: a language, and a script or a region.
_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
# Part of an address, and of no name.
_NO_NAME = re.compile(r"[/?#@]")


class PageOptionError(ValueError):
    """A text that is no option; its message is a sentence for people."""


def parse_screen(text: str) -> Device:
    """WIDTHxHEIGHT in CSS pixels, of a desktop. Raises PageOptionError."""
    width, _, height = text.strip().lower().partition("x")
    if not all(side.isascii() and side.isdigit() and len(side) < 6 for side in (width, height)):
        raise PageOptionError(f"{text[:40]!r} is no WIDTHxHEIGHT, such as 1920x1080.")
    return Device(name=f"{int(width)}x{int(height)}", width=int(width), height=int(height))


def parse_host(text: str) -> str:
    """A host name in the DNS's own letters, or an IP address, of IPv6 without the brackets of URLs: what it gives it
    also takes. Raises PageOptionError.

    Of a whole URL its scheme would pass for a host that nobody asks for, and nothing would be blocked or mapped.
    """
    written = text.strip()
    name = f"[{written}]" if _is_ipv6(written) else written
    if _NO_NAME.search(name) or (":" in name and not (name.startswith("[") and name.endswith("]"))):
        raise PageOptionError(
            f"{name[:60]!r} is no host name: write it without scheme, port and path, such as cdn.example.net."
        )
    try:
        return parse_target(f"https://{name}/").host
    except TargetError as error:
        raise PageOptionError(str(error)) from error


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def parse_mapping(text: str) -> HostMapping:
    """HOST=ADDRESS or HOST=ADDRESS:PORT; an IPv6 address with a port stands in brackets. Raises PageOptionError."""
    host, _, rest = (part.strip() for part in text.partition("="))
    address, _, port = rest.rpartition(":") if rest.count(":") == 1 or "]:" in rest else (rest, "", "")
    try:
        parsed, number = ip_address(address.strip("[]")), int(port) if port else None
    except ValueError as error:
        raise PageOptionError(f"{text[:100]!r} is not HOST=ADDRESS[:PORT], such as a.example=192.0.2.1.") from error
    return HostMapping(host=parse_host(host), address=str(parsed), port=number)


def parse_cookie(text: str) -> Cookie:
    """NAME=VALUE. Raises PageOptionError, which does not repeat the value."""
    name, equals, value = text.partition("=")
    if not name.strip() or not equals:
        raise PageOptionError("Write cookies as NAME=VALUE.")
    return Cookie(name=name.strip(), value=value.strip())


def page_faults(options: PageOptions) -> dict[str, str]:
    """A sentence for each field at fault, by its name; no secret is in them."""
    judged = ((name, rule(options)) for name, rule in _RULES.items())
    return {name: fault for name, fault in judged if fault is not None}


def own_host_fault(options: PageOptions, url: str) -> str | None:
    """A sentence where a page is to be loaded without the host that it comes from."""
    host = host_of(url)
    return f"{host} is the page's own host: without it there is no page." if host in options.without else None


def mapped_ports_fault(options: PageOptions, extra_ports: Ports) -> str | None:
    """A sentence where a host is mapped to a port that may not be measured.

    Which may is said by who carries it out, as of visits. What a page asks of the host goes there, whatever it is: a
    mail server may take the lines of a form for its own.
    """
    ports = (one.port for one in options.host_map if one.port is not None)
    wrong = next((port for port in ports if not is_allowed(port, extra_ports)), None)
    return None if wrong is None else str(PortError(wrong, extra_ports))


def _device_fault(options: PageOptions) -> str | None:
    device = options.device
    if not all(MIN_SIDE <= side <= MAX_SIDE for side in (device.width, device.height)):
        return f"Each side of the screen must be from {MIN_SIDE} to {MAX_SIDE} pixels."
    return None if 0 < device.scale <= _MAX_SCALE else f"The pixel ratio must be above 0 and at most {_MAX_SCALE:g}."


def _agent_fault(options: PageOptions) -> str | None:
    text = options.user_agent
    if text is None or (0 < len(text) <= MAX_TEXT_CHARS and text.isascii() and text.isprintable()):
        return None
    return f"The user agent must be printable ASCII on one line, of at most {MAX_TEXT_CHARS} characters."


def _locale_fault(options: PageOptions) -> str | None:
    if options.locale is None or _LOCALE.fullmatch(options.locale):
        return None
    return f"{options.locale[:20]!r} is not a language tag such as de or de-CH."


def _cookies_fault(options: PageOptions) -> str | None:
    if len(options.cookies) > MAX_COOKIES:
        return f"At most {MAX_COOKIES} cookies can be set."
    for cookie in options.cookies:
        if not _COOKIE_NAME.fullmatch(cookie.name):
            return f"{cookie.name[:40]!r} is not a cookie's name."
        if len(cookie.value) > _MAX_COOKIE_CHARS or not _COOKIE_VALUE.fullmatch(cookie.value):
            return f"The value of cookie {cookie.name} holds what cookies cannot hold, or is too long."
    return None


def _login_fault(options: PageOptions) -> str | None:
    login = options.login
    if login is None:
        return None
    if not login.user or ":" in login.user:
        return "The user name must not be empty and must not hold a colon."
    fits = all(len(text) <= MAX_TEXT_CHARS and text.isprintable() for text in (login.user, login.password))
    return None if fits else f"User name and password must be one line of at most {MAX_TEXT_CHARS} characters."


def _map_fault(options: PageOptions) -> str | None:
    if len(options.host_map) > MAX_HOSTS:
        return f"At most {MAX_HOSTS} hosts can be mapped."
    hosts = [mapping.host for mapping in options.host_map]
    twice = next((host for host in hosts if hosts.count(host) > 1), None)
    if twice is not None:
        return f"{twice} is mapped twice."
    wrong = next((one.port for one in options.host_map if one.port is not None and not 0 < one.port < 65536), None)
    if wrong is not None:
        return f"{wrong} is no port; they run from 1 to 65535."
    return _hosts_fault(hosts) or _address_fault(one.address for one in options.host_map)


def _holes_fault(options: PageOptions) -> str | None:
    if len(options.black_holes) > MAX_HOSTS:
        return f"At most {MAX_HOSTS} hosts can be blocked."
    both = next((one.host for one in options.host_map if one.host in options.black_holes), None)
    return f"{both} cannot be both mapped and blocked." if both else _hosts_fault(options.black_holes)


def _without_fault(options: PageOptions) -> str | None:
    if len(options.without) > MAX_HOSTS:
        return f"A page can be loaded without {MAX_HOSTS} hosts at most."
    elsewhere = {*options.black_holes, *(one.host for one in options.host_map)}
    both = next((host for host in options.without if host in elsewhere), None)
    return f"{both} cannot be both left out and mapped or blocked." if both else _hosts_fault(options.without)


def _hosts_fault(hosts: Iterable[str]) -> str | None:
    for host in hosts:
        try:
            parse_host(host)
        except PageOptionError as error:
            return str(error)
    return None


def _address_fault(addresses: Iterable[str]) -> str | None:
    for address in addresses:
        try:
            ip_address(address)
        except ValueError:
            return f"{address[:50]!r} is not an IP address."
    return None


def _loads_fault(options: PageOptions) -> str | None:
    return None if 1 <= options.loads <= MAX_LOADS else f"A page can be loaded 1 to {MAX_LOADS} times in a run."


def _repeat_fault(options: PageOptions) -> str | None:
    return "A repeat view is warm." if options.repeat is PageState.COLD else None


def _steps_fault(options: PageOptions) -> str | None:
    if len(options.steps) > MAX_STEPS:
        return f"A script can have at most {MAX_STEPS} steps."
    faults = ((number, step_fault(step)) for number, step in enumerate(options.steps, 1))
    return next((f"Step {number}: {fault}" for number, fault in faults if fault is not None), None)


def step_fault(step: Step) -> str | None:
    """What is wrong with a step, in a sentence that repeats nothing that it types.

    Which ports may be visited is said by who carries it out.
    """
    if isinstance(step, Visit):
        try:
            parse_target(step.url, extra_ports=EVERY_PORT)
        except TargetError as error:
            return str(error)
        return None
    if isinstance(step, Press):
        return None
    if not 0 < len(step.selector) <= MAX_TEXT_CHARS or not step.selector.isprintable():
        return f"A selector must be one line of 1 to {MAX_TEXT_CHARS} characters."
    parts = [part.strip() for part in step.selector.split(WITHIN.strip())]
    if not all(parts) or WITHIN.join(parts) != step.selector:
        return "Write an element of a frame as FRAME >>> SELECTOR, such as iframe[src*=login] >>> #user."
    if len(parts) > MAX_FRAMES + 1:
        return f"An element can be at most {MAX_FRAMES} frames deep."
    if isinstance(step, TypeText) and (len(step.text) > MAX_TEXT_CHARS or not step.text.isprintable()):
        return f"A text to type must be one line of at most {MAX_TEXT_CHARS} characters."
    return None


_RULES: dict[str, Callable[[PageOptions], str | None]] = {
    "device": _device_fault,
    "user_agent": _agent_fault,
    "locale": _locale_fault,
    "cookies": _cookies_fault,
    "login": _login_fault,
    "host_map": _map_fault,
    "black_holes": _holes_fault,
    "without": _without_fault,
    "loads": _loads_fault,
    "repeat": _repeat_fault,
    "steps": _steps_fault,
}
