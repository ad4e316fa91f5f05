"""What the `firstbyte` command takes."""

import argparse
import os
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from workers.commands import (
    import_arguments,
    log_arguments,
    page_arguments,
    pipeline_arguments,
    probe_arguments,
    sites_arguments,
    without_arguments,
)
from workers.commands.all_argument import add_all
from workers.commands.help_layout import laid_out
from workers.commands.output import say, write
from workers.commands.ranges import decimal, whole
from workers.commands.unreadable import no_authority
from workers.version import build

_EPILOG = """\
examples:
  where the milliseconds before the first byte go, and why:
    firstbyte probe https://www.example.org/
    firstbyte probe --light --samples 9 https://www.example.org/
    firstbyte probe --flights https://www.example.org/   draws each packet flight
    firstbyte probe --json https://www.example.org/ | jq .phases
  a page in Chromium, and waterfalls out of files:
    firstbyte page --screenshot home.jpg https://www.example.org/
    firstbyte netlog chrome-net-export-log.json
    firstbyte import page.har
  which is faster, and by how much:
    firstbyte compare --cdn https://cdn.example.org/app.js \\
      --origin https://www.example.org/app.js
  what does a host cost a page?
    firstbyte without tags.example.net https://www.example.org/
  may this release go out? (asks the service)
    firstbyte gate --site shop --rule "ttfb<=+10%"
  what is measured, as code (asks the service):
    firstbyte sites plan sites.yaml
  can this machine measure, and reach its service?
    firstbyte doctor

exit codes:
  0 measured   1 measured, but the check failed   2 wrong usage
  3 inconclusive   4 could not measure
"""
_COMPARE = """\
Asks for the same asset at two places, back to back and in random order, and says which is faster, by how much and why.
Differences are the CDN minus the origin (a minus b): negative means that the CDN (a) is faster. A verdict needs 20
pairs.

examples:
  firstbyte compare --cdn https://cdn.example.org/app.js --origin https://www.example.org/app.js
  firstbyte compare --cdn https://www.example.org/app.js --origin-address 192.0.2.7    the CDN's name, past the CDN
  firstbyte compare --a https://a.example.org/ --b https://b.example.org/ --pairs 60

exit codes:
  0 faster, slower or no difference   2 wrong usage   3 inconclusive   4 could not measure
"""
_DOCTOR = """\
Looks for what could be wrong here and says what to do about it: Python, OpenSSL, the kernel's time stamps, the
resolver, Chromium and whether its loads are cold; and, where the environment of an agent is set (firstbyte agent
--help), its spool, broker and service.

exit codes:
  0 all of it works   4 something does not
"""
_AGENT = """\
Measures for a region until SIGTERM. Set up by the environment (every name also as <NAME>_FILE):

  FIRSTBYTE_REGION             code of the region
  FIRSTBYTE_SERVICE_URL        address of the service, https://…
  FIRSTBYTE_AGENT_TOKEN        the region's token
  FIRSTBYTE_BROKER_URL         rediss://, redis:// or unix:// with the region's account
  FIRSTBYTE_SPOOL_DIR          where results wait until the service has them; one directory for each agent
  FIRSTBYTE_BROWSERS           browsers for the schedule at once (1)
  FIRSTBYTE_PROBES_IN_FLIGHT   probes at once (200)
  FIRSTBYTE_CHROMIUM           path of Chromium (found by itself)
  FIRSTBYTE_CA_FILE            an authority to trust besides the system's (PEM)
  FIRSTBYTE_PRIVATE_TARGETS    private ranges that may be measured (10.1.0.0/16,…)
  FIRSTBYTE_EXTRA_PORTS        ports that may be measured besides 80, 443, 8080 and 8443
  FIRSTBYTE_AGENT_NAME         its name (the host's)
  FIRSTBYTE_ALLOW_UNSANDBOXED  1 loads public pages although Chromium's sandbox does not work
"""
_MIN_TIMEOUT_S, _MAX_TIMEOUT_S = 0.1, 120
_FIREWALL = """\
Writes rules for nftables to stdout. A page that a region's Chromium loads may ask for anything, also for what is near
the region: the rules refuse connections to private addresses at once, as if nothing listened there, but to the ranges
in FIRSTBYTE_PRIVATE_TARGETS, the name servers, the broker and the service. Chromium's and the probes' own guards stand
as before. Networks of a profile are held by them whoever's they are. The environment is the agent's; names in it are
looked up now.

examples:
  firstbyte firewall --user firstbyte >rules && nft -f rules   an agent beside other programs, as the user firstbyte
  firstbyte firewall >rules && nft -f rules                    everybody in the agent's own network
"""
# A verdict needs 20; some more make it surer and still end within seconds.
_PAIRS, _MAX_PAIRS = 30, 400


class _TellVersion(argparse.Action):
    """Reads all of the code, which no other command waits for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        write(f"firstbyte {build()}")
        parser.exit()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """What is asked for. Ends the process with a message and exit code 2 for wrong usage, 0 for help and version."""
    parser = _Parser(
        prog="firstbyte", description="Says where the milliseconds before the first byte go.", epilog=_EPILOG
    )
    parser.add_argument("--version", action=_TellVersion, nargs=0, help="show version and build, and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    why = "say where the milliseconds before the first byte go, and why"
    probe = commands.add_parser("probe", help=why, description=probe_arguments.PROBE)
    _add_measuring(probe)
    probe_arguments.add_probe(probe)
    page = commands.add_parser("page", help="load a page in Chromium", description=page_arguments.PAGE)
    _add_measuring(page)
    page_arguments.add_page(page)
    why = "say what a host costs a page"
    without = commands.add_parser("without", help=why, description=without_arguments.WITHOUT)
    without_arguments.add_hosts(without)
    _add_measuring(without)
    without_arguments.add_without(without)
    compare = commands.add_parser("compare", help="compare a CDN with its origin", description=_COMPARE)
    _add_comparing(compare)
    gate = commands.add_parser("gate", help="ask whether a release may go out", description=pipeline_arguments.GATE)
    pipeline_arguments.add_gate(gate)
    deploys = commands.add_parser("deploys", help="tell of a release", description=pipeline_arguments.DEPLOYS)
    pipeline_arguments.add_deploys(deploys, _Parser)
    sites = commands.add_parser("sites", help="keep sites in a file", description=sites_arguments.SITES)
    sites_arguments.add_sites(sites, _Parser)
    log_arguments.add_logs(commands.add_parser)
    why = "read a file of another tool"
    import_arguments.add_import(commands.add_parser("import", help=why, description=import_arguments.IMPORT))
    commands.add_parser("agent", help="measure for a region", description=_AGENT)
    firewall = commands.add_parser("firewall", help="rules that keep pages off private networks", description=_FIREWALL)
    firewall.add_argument("--user", metavar="NAME", help="hold what this user's processes open, and nobody else's")
    doctor = commands.add_parser("doctor", help="check what this machine can measure", description=_DOCTOR)
    doctor.add_argument("--json", action="store_true", help="one JSON document on stdout")
    asked, unknown = parser.parse_known_args(_with_profile_joined(arguments))
    if unknown:
        commands.choices[asked.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    return asked


def _with_profile_joined(words: Sequence[str]) -> list[str]:
    """A profile that begins with what is not shaped, as -/-/300/0, would pass for an option in a word of its own."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--profile" and word.startswith("-/"):
            joined[-1] = f"--profile={word}"
        else:
            joined.append(word)
    return joined


class _Help(argparse.RawDescriptionHelpFormatter):
    """Lays descriptions out in the terminal's width."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "".join(f"{indent}{line}\n" for line in laid_out(text, width))


class _Parser(argparse.ArgumentParser):
    """Keeps the line breaks of examples and lists in descriptions, and tells as commands tell."""

    def __init__(self, **options: Any) -> None:
        # Scripts last longer than options are the only ones of their beginning.
        super().__init__(formatter_class=_Help, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """In a sentence: all that the command takes would push it off the screen."""
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help tells all that it takes.\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help, or what is wrong with the words of a call."""
        tell = say if file is sys.stderr else write
        tell(message.rstrip("\n"))


def _add_comparing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cdn", metavar="URL", help="the asset at the CDN")
    parser.add_argument("--origin", metavar="URL", help="the same asset at the origin")
    instead = "connect to the origin here instead of looking its name up; without --origin, under the name of the CDN"
    parser.add_argument("--origin-address", metavar="IP[:PORT]", help=instead)
    parser.add_argument("--a", metavar="URL", help="any asset, instead of --cdn")
    parser.add_argument("--b", metavar="URL", help="what to compare it with, instead of --origin")
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=whole(1, _MAX_PAIRS, "pairs"),
        default=_PAIRS,
        help=f"how often to ask both ({_PAIRS}, at most {_MAX_PAIRS})",
    )
    add_all(parser)
    _add_options(parser)


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="https://… or http://…; any port, and private addresses too")
    add_all(parser)
    _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=decimal(_MIN_TIMEOUT_S, _MAX_TIMEOUT_S, "seconds"),
        default=30.0,
        help=f"give up after S seconds (30, at most {_MAX_TIMEOUT_S})",
    )
    known = os.environ.get("FIRSTBYTE_CA_FILE")
    authority = "trust this authority too (PEM; by default FIRSTBYTE_CA_FILE)"
    parser.add_argument("--cacert", metavar="FILE", type=_authority, default=known, help=authority)
    parser.add_argument("--insecure", action="store_true", help="measure in spite of certificate errors")
    parser.add_argument(
        "--allow-private",
        metavar="CIDR",
        action="append",
        help="refuse private addresses outside CIDR, as an agent does (may be repeated; all are allowed without it)",
    )


def _authority(text: str) -> Path:
    try:
        ssl.create_default_context().load_verify_locations(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(no_authority(text, error)) from error
    return Path(text)
