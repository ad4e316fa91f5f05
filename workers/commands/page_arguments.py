"""What `firstbyte page` takes besides the options that all measuring commands share."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from workers.commands import UsageError
from workers.commands.probe_arguments import add_profile
from workers.commands.ranges import whole
from workers.measurement.connection import Header
from workers.measurement.header_rules import headers_fault, parse_header
from workers.measurement.page_options import (
    DESKTOP,
    DEVICES,
    MAX_LOADS,
    Device,
    Login,
    PageOptions,
    PageState,
    Protocol,
    Step,
)
from workers.measurement.page_rules import (
    MAX_SIDE,
    MIN_SIDE,
    PageOptionError,
    page_faults,
    parse_cookie,
    parse_host,
    parse_mapping,
    parse_screen,
)
from workers.measurement.recorded_script import MAX_FILE_BYTES
from workers.measurement.redaction import Redaction
from workers.measurement.script_text import STEP_FORMS, parse_script, with_kept

PAGE = """\
Loads the URL in a cold headless Chromium and draws its waterfall, with what visitors see and what costs them time.
Phases come from Chromium's network log. Chromium's sandbox does not work for root: then only private addresses are
measured, unless FIRSTBYTE_ALLOW_UNSANDBOXED=1 says that you trust the page. A terminal gets one screen with the first
rows of the waterfall, files and pipes get all of it.
"""
PAGE_SCRIPT = """\
  visit https://www.example.org/login
  type shopper@example.org into #email
  secret correct-horse into #password
  click button[type=submit]
  wait for .account
"""
_EXAMPLES = f"""\
examples:
  firstbyte page https://www.example.org/
  firstbyte page --runs 3 --repeat-view --device phone https://www.example.org/
  firstbyte page --har page.har --screenshot page.jpg --filmstrip film https://www.example.org/
  firstbyte page --protocol h1 https://www.example.org/       the same page without multiplexing
  firstbyte page --block cdn.example.net https://www.example.org/    what if that host is silent?
  firstbyte page --map www.example.org=192.0.2.7 https://www.example.org/    past the CDN
  firstbyte page --script login.txt https://www.example.org/account

a script has one step a line:
{PAGE_SCRIPT}
  an element of a frame: click iframe[title=Login] >>> #go

exit codes:
  0 measured   1 measured, but the check failed   2 wrong usage   4 could not measure
"""
_PROTOCOLS = {"h1": Protocol.H1, "h2": Protocol.H2, "h3": Protocol.H3}
T = TypeVar("T")
_STATES = {"cache": PageState.WARM_CACHE, "connection": PageState.WARM_CONNECTION}


def add_page(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    _add_files(parser)
    _add_views(parser)
    add_browser(parser)


def page_options(arguments: argparse.Namespace) -> PageOptions:
    """What was asked for, as a run is told it. Raises UsageError for what cannot be obeyed."""
    return replace(browser_options(arguments), loads=arguments.runs, repeat=arguments.repeat_view)


def browser_options(arguments: argparse.Namespace) -> PageOptions:
    """The same of what `add_browser` takes, for a single view."""
    options = PageOptions(
        device=arguments.device,
        user_agent=arguments.user_agent,
        locale=arguments.locale,
        cookies=tuple(arguments.cookie),
        login=arguments.login,
        protocol=arguments.protocol,
        host_map=tuple(arguments.map),
        black_holes=tuple(dict.fromkeys(arguments.block)),
        steps=_script(arguments.script),
    )
    faults = page_faults(options)
    if faults:
        raise UsageError(" ".join(faults.values()))
    return options


def _add_files(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("files")
    files.add_argument("--har", metavar="FILE", type=Path, help="write the load as an HTTP Archive (HAR 1.2)")
    level = "how much the archive shows: full, standard (no values of parameters and keys) or strict, for strangers"
    files.add_argument("--redaction", choices=list(Redaction), type=Redaction, default=Redaction.STANDARD, help=level)
    files.add_argument("--netlog", metavar="FILE", type=Path, help="write Chromium's network log of the load")
    files.add_argument(
        "--screenshot",
        metavar="FILE",
        type=Path,
        help="write what the page looked like, or where a script stopped (JPEG)",
    )
    files.add_argument("--filmstrip", metavar="DIR", type=Path, help="write each change of the screen into DIR")


def _add_views(parser: argparse.ArgumentParser) -> None:
    views = parser.add_argument_group("views")
    several = f"load the page N times, each cold; the representative load is told (1, at most {MAX_LOADS})"
    views.add_argument("--runs", metavar="N", type=whole(1, MAX_LOADS), default=1, help=several)
    again = "visit the page a second time each, with the cache of the first visit and new connections"
    views.add_argument(
        "--repeat-view", action="store_const", const=PageState.WARM_CACHE, dest="repeat_view", help=again
    )
    warm = "what that second visit finds: cache, or connection for both (implies --repeat-view)"
    views.add_argument("--warm", metavar="cache|connection", type=_state, dest="repeat_view", help=warm)


def add_browser(parser: argparse.ArgumentParser) -> None:
    """As which visitor, and through which network, pages are loaded."""
    add_profile(parser)
    browser = parser.add_argument_group("browser and network")
    sizes = ", ".join(f"{one.name} {one.width}x{one.height}" for one in DEVICES.values())
    screen = f"screen of a device: {sizes}, or WIDTHxHEIGHT (desktop)"
    browser.add_argument("--device", metavar="NAME", type=_device, default=DESKTOP, help=screen)
    only = "speak only this HTTP: h1, h2 or h3"
    browser.add_argument("--protocol", metavar="h1|h2|h3", type=_protocol, help=only)
    instead = "connect to ADDR for HOST, whose name stays in TLS and the Host header (may be repeated)"
    browser.add_argument(
        "--map", metavar="HOST=ADDR[:PORT]", type=read_as(parse_mapping), action="append", default=[], help=instead
    )
    dead = "let HOST never answer, to see what the page is without it (may be repeated)"
    browser.add_argument("--block", metavar="HOST", type=read_as(parse_host), action="append", default=[], help=dead)
    browser.add_argument("--user-agent", metavar="TEXT", help="say this instead of Chromium's own name")
    browser.add_argument("--locale", metavar="TAG", help="language of the visitor, such as de-CH")
    browser.add_argument(
        "--cookie",
        metavar="NAME=VALUE",
        type=read_as(parse_cookie),
        action="append",
        default=[],
        help="set for the page's host",
    )
    sent = "send this with requests for the page's own origin (may be repeated)"
    browser.add_argument("--header", metavar="NAME:VALUE", type=_header, action="append", default=[], help=sent)
    asked = "user name and password, when the page's host asks for them"
    browser.add_argument("--login", metavar="USER:PASSWORD", type=_login, help=asked)
    before = (
        "steps to do before the page, one a line (visit, click, type, secret, press, wait for),"
        " or a recording of Chrome's"
    )
    browser.add_argument("--script", metavar="FILE", type=Path, help=before)


def page_headers(arguments: argparse.Namespace) -> tuple[Header, ...]:
    """The request headers that were asked for. Raises UsageError, which repeats no value."""
    headers = tuple(arguments.header)
    fault = headers_fault(headers)
    if fault is not None:
        raise UsageError(fault)
    return headers


def _script(path: Path | None) -> tuple[Step, ...]:
    """The steps in a file. Raises UsageError, which repeats nothing that is typed."""
    if path is None:
        return ()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        steps = with_kept(parse_script(data.decode("utf-8-sig")), ())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8.") from None
    except PageOptionError as error:
        raise UsageError(f"{path}: {error}") from error
    if not steps:
        raise UsageError(f"{path} has no step. Write one a line: {STEP_FORMS}.")
    return steps


def read_as(parse: Callable[[str], T]) -> Callable[[str], T]:
    """The reader of an option's text, with its sentence where argparse shows it."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except PageOptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def _header(text: str) -> Header:
    try:
        return parse_header(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


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
    try:
        screen = parse_screen(text)
    except PageOptionError as error:
        known = ", ".join(DEVICES)
        raise argparse.ArgumentTypeError(f"{text!r} is none of {known}, and no WIDTHxHEIGHT") from error
    if not all(MIN_SIDE <= side <= MAX_SIDE for side in (screen.width, screen.height)):
        raise argparse.ArgumentTypeError(f"each side must be from {MIN_SIDE} to {MAX_SIDE} pixels")
    return screen


def _login(text: str) -> Login:
    user, colon, password = text.partition(":")
    if not user or not colon:
        raise argparse.ArgumentTypeError("must be USER:PASSWORD")
    return Login(user=user, password=password)
