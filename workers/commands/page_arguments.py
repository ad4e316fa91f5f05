"""What `firstbyte page` takes besides the options that all measuring commands share."""

import argparse
from ipaddress import ip_address
from pathlib import Path

from workers.commands.probe_arguments import add_profile
from workers.measurement.page_options import (
    DESKTOP,
    DEVICES,
    MAX_LOADS,
    Cookie,
    Device,
    HostMapping,
    Login,
    PageOptions,
    PageState,
    Protocol,
)
from workers.measurement.target import TargetError, parse_target

PAGE = """\
Loads the URL in a cold headless Chromium and draws its waterfall, with what the visitor saw and what costs him time.
Phases come from Chromium's network log. Chromium's sandbox does not work for root: then only private addresses are
measured, unless FIRSTBYTE_ALLOW_UNSANDBOXED=1 says that you trust the page.
"""
_PROTOCOLS = {"h1": Protocol.H1, "h2": Protocol.H2, "h3": Protocol.H3}
_STATES = {"cache": PageState.WARM_CACHE, "connection": PageState.WARM_CONNECTION}
_MIN_SIDE, _MAX_SIDE = 100, 5000


def add_page(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_views(parser)
    add_profile(parser)
    _add_browser(parser)


def page_options(arguments: argparse.Namespace) -> PageOptions:
    """What was asked for, as a run is told it."""
    return PageOptions(
        device=arguments.device,
        user_agent=arguments.user_agent,
        locale=arguments.locale,
        cookies=tuple(arguments.cookie),
        login=arguments.login,
        protocol=arguments.protocol,
        host_map=tuple(arguments.map),
        black_holes=tuple(dict.fromkeys(arguments.block)),
        loads=arguments.runs,
        repeat=arguments.repeat_view,
    )


def _add_files(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("files")
    files.add_argument("--har", metavar="FILE", type=Path, help="write the load as an HTTP Archive (HAR 1.2)")
    files.add_argument("--netlog", metavar="FILE", type=Path, help="write Chromium's network log of the load")
    files.add_argument("--screenshot", metavar="FILE", type=Path, help="write what the page looked like (JPEG)")
    files.add_argument("--filmstrip", metavar="DIR", type=Path, help="write each change of the screen into DIR")


def _add_views(parser: argparse.ArgumentParser) -> None:
    views = parser.add_argument_group("views")
    several = f"load the page N times, each cold; the representative load is told (1, at most {MAX_LOADS})"
    views.add_argument("--runs", metavar="N", type=_loads, default=1, help=several)
    again = "visit the page a second time each, with the cache of the first visit and new connections"
    views.add_argument(
        "--repeat-view", action="store_const", const=PageState.WARM_CACHE, dest="repeat_view", help=again
    )
    warm = "what that second visit finds: cache, or connection for both (implies --repeat-view)"
    views.add_argument("--warm", metavar="cache|connection", type=_state, dest="repeat_view", help=warm)


def _add_browser(parser: argparse.ArgumentParser) -> None:
    browser = parser.add_argument_group("browser and network")
    sizes = ", ".join(f"{one.name} {one.width}x{one.height}" for one in DEVICES.values())
    screen = f"screen of a device: {sizes}, or WIDTHxHEIGHT (desktop)"
    browser.add_argument("--device", metavar="NAME", type=_device, default=DESKTOP, help=screen)
    only = "speak only this HTTP: h1, h2 or h3"
    browser.add_argument("--protocol", metavar="h1|h2|h3", type=_protocol, help=only)
    instead = "connect to ADDR for HOST, whose name stays in TLS and the Host header (may be repeated)"
    browser.add_argument("--map", metavar="HOST=ADDR[:PORT]", type=_mapping, action="append", default=[], help=instead)
    dead = "let HOST never answer, to see what the page is without it (may be repeated)"
    browser.add_argument("--block", metavar="HOST", type=_host, action="append", default=[], help=dead)
    browser.add_argument("--user-agent", metavar="TEXT", help="say this instead of Chromium's own name")
    browser.add_argument("--locale", metavar="TAG", help="language of the visitor, such as de-CH")
    browser.add_argument(
        "--cookie", metavar="NAME=VALUE", type=_cookie, action="append", default=[], help="set for the page's host"
    )
    asked = "user name and password, when the page's host asks for them"
    browser.add_argument("--login", metavar="USER:PASSWORD", type=_login, help=asked)


def _loads(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_LOADS:
        raise argparse.ArgumentTypeError(f"must be from 1 to {MAX_LOADS}")
    return count


def _state(text: str) -> PageState:
    if text not in _STATES:
        raise argparse.ArgumentTypeError(f"{text!r} is neither cache nor connection")
    return _STATES[text]


def _protocol(text: str) -> Protocol:
    if text not in _PROTOCOLS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(_PROTOCOLS)}")
    return _PROTOCOLS[text]


def _device(text: str) -> Device:
    if text in DEVICES:
        return DEVICES[text]
    width, _, height = text.partition("x")
    try:
        numbers = int(width), int(height)
    except ValueError as error:
        known = ", ".join(DEVICES)
        raise argparse.ArgumentTypeError(f"{text!r} is none of {known}, and no WIDTHxHEIGHT") from error
    if not all(_MIN_SIDE <= side <= _MAX_SIDE for side in numbers):
        raise argparse.ArgumentTypeError(f"each side must be from {_MIN_SIDE} to {_MAX_SIDE} pixels")
    return Device(name=text, width=numbers[0], height=numbers[1])


def _mapping(text: str) -> HostMapping:
    """An IPv6 address with a port stands in brackets."""
    host, _, rest = text.partition("=")
    address, _, port = rest.rpartition(":") if rest.count(":") == 1 or "]:" in rest else (rest, "", "")
    try:
        parsed, number = ip_address(address.strip("[]")), int(port) if port else None
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST=ADDRESS[:PORT], such as a.example=192.0.2.1") from error
    if number is not None and not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"the port of {text!r} is not from 1 to 65535")
    return HostMapping(host=_host(host), address=str(parsed), port=number)


def _host(text: str) -> str:
    """In the DNS's own letters."""
    try:
        return parse_target(f"https://{text}/").host
    except TargetError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _cookie(text: str) -> Cookie:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{name!r} is not NAME=VALUE")
    return Cookie(name=name, value=value)


def _login(text: str) -> Login:
    user, colon, password = text.partition(":")
    if not user or not colon:
        raise argparse.ArgumentTypeError("must be USER:PASSWORD")
    return Login(user=user, password=password)
