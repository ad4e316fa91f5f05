"""What `firstbyte probe` takes besides the options that all measuring commands share."""

import argparse
from ipaddress import ip_address

from workers.commands.ranges import whole
from workers.measurement.evidence import Depth
from workers.measurement.page_rules import PageOptionError, parse_host
from workers.measurement.profile import NATIVE, PROFILES, Profile, parse_profile

PROBE = """\
Asks for the URL over connections of our own and says where the milliseconds before the first byte go, and why: DNS,
TCP, TLS, wait and download are timed apart, and some forty known causes are looked for. A deep probe makes about
sixteen connections, one after another, and takes a few seconds, of a slow server up to two minutes: --timeout is what
each of them may take. A light one makes a single connection and can judge less. A terminal gets one screen of it, files
and pipes get all of it.
"""
_EXAMPLES = """\
examples:
  firstbyte probe https://www.example.org/
  firstbyte probe --light --samples 9 https://www.example.org/
  firstbyte probe --flights https://www.example.org/    what went which way, and when
  firstbyte probe --resolve www.example.org:443:192.0.2.7 https://www.example.org/
  firstbyte probe --json https://www.example.org/ | jq .phases

exit codes:
  0 measured   1 measured, but the check or the certificate failed   2 wrong usage   4 could not measure
"""
_MAX_SAMPLES = 50


def add_probe(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    depth = parser.add_mutually_exclusive_group()
    deep = "about sixteen connections, each asking something else (the default)"
    depth.add_argument("--deep", dest="depth", action="store_const", const=Depth.DEEP, default=Depth.DEEP, help=deep)
    depth.add_argument("--light", dest="depth", action="store_const", const=Depth.LIGHT, help="one connection")
    more = "measure N times, the first as deep as asked for; the one with the median first byte is told"
    more += f" (1, at most {_MAX_SAMPLES})"
    parser.add_argument("--samples", metavar="N", type=whole(1, _MAX_SAMPLES), default=1, help=more)
    add_profile(parser)
    instead = "connect to ADDR instead of looking HOST up, as curl does (may be repeated)"
    parser.add_argument("--resolve", metavar="HOST:PORT:ADDR", type=_instead, action="append", default=[], help=instead)
    family = parser.add_mutually_exclusive_group()
    family.add_argument("--ipv4", dest="family", action="store_const", const=4, help="use IPv4 addresses only")
    family.add_argument("--ipv6", dest="family", action="store_const", const=6, help="use IPv6 addresses only")
    parser.add_argument("--flights", action="store_true", help="draw what went which way on the connection, and when")


def add_profile(parser: argparse.ArgumentParser) -> None:
    """`profile`, which is NATIVE without the option."""
    names = ", ".join(name for name in PROFILES if name != NATIVE.name)
    shape = f"shape this machine's network for it (needs root): {names}, or DOWN/UP/RTT/LOSS in kbit/s, ms and percent"
    parser.add_argument("--profile", metavar="NAME", type=_profile, default=NATIVE, help=shape)


def _profile(text: str) -> Profile:
    try:
        return parse_profile(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _instead(text: str) -> tuple[str, int, str]:
    """Host, port and address. An IPv6 address may stand in brackets."""
    host, _, rest = text.partition(":")
    port, _, address = rest.partition(":")
    try:
        number, parsed = int(port), ip_address(address.strip("[]"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not HOST:PORT:ADDRESS, such as a.example:443:192.0.2.1"
        ) from error
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"{text!r}: its port is not from 1 to 65535")
    try:
        # In the letters in which it is asked for. What never can be, as curl's wildcard, would be without effect.
        return parse_host(host), number, str(parsed)
    except PageOptionError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {host!r} is no host name") from error
