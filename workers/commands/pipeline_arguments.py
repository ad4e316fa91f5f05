"""What `firstbyte gate` and `firstbyte deploys` take. Imported with every command, so it imports next to nothing."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from workers.commands.ranges import decimal, whole

GATE = """\
Asks the service whether a release may go out: fresh runs of a site are compared with its history. Made for pipelines;
needs nothing but Python and the address of the service.

rules:
  ttfb<=+10%         at most 10 % slower than before the release
  tls<=+25%,10ms     of which less than 10 ms does not count
  lcp<=2500ms        at most 2.5 s, whatever it was
  mark:hero<=+10%    a mark of the page's own that its monitor follows; measure: and element: as well
  metrics: dns connect tls wait ttfb download total rtt start_render fcp lcp speed_index visually_complete tbt load \
fully_loaded requests connections bytes cls

two addresses, measured in turns; no history is needed:
  --release-url https://pr-7.shop.example        a preview against what the monitors measure
  --against-url https://old.shop.example         what the monitors measure against another address
  --release-url page=https://pr-7.shop.example/start   the whole URL of one monitor (probe, page or an id)

environment:
  FIRSTBYTE_URL, FIRSTBYTE_TOKEN     instead of --url and --token (the token also as FIRSTBYTE_TOKEN_FILE)
  GITHUB_STEP_SUMMARY, GITHUB_OUTPUT are written to when they are set

examples:
  firstbyte gate --site shop
  firstbyte gate --site shop --rule "ttfb<=+10%" --rule "lcp<=2500ms" --markdown gate.md
  firstbyte gate --site shop --before    prints an id; after the release: --against ID

exit codes:
  0 pass   1 fail   2 wrong usage   3 inconclusive   4 could not measure
"""
DEPLOYS = """\
Tells the service of a release, so that an alert says whether its change began with it. A gate tells of its own.

exit codes:
  0 told   2 wrong usage   4 the service could not be reached
"""
# Where pipelines say what they release.
_VERSIONS = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "BITBUCKET_COMMIT")
_PAGES = ("CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_URL")
_MAX_TIMEOUT_S = 3_600


def add_gate(parser: argparse.ArgumentParser) -> None:
    add_service(parser)
    _add_deploy(parser)
    parser.add_argument("--site", metavar="SITE", required=True, help="the site's name, id or URL")
    rule = "a limit, such as ttfb<=+10%% (which is the default); may be repeated"
    parser.add_argument("--rule", metavar="RULE", action="append", default=[], help=rule)
    parser.add_argument("--warn", metavar="RULE", action="append", default=[], help="a limit that is only told")
    monitor = "probe, page or an id; may be repeated"
    parser.add_argument("--monitor", metavar="MONITOR", action="append", default=[], help=monitor)
    region = "where to measure; may be repeated (wherever the site is measured)"
    parser.add_argument("--region", metavar="CODE", action="append", default=[], help=region)
    parser.add_argument("--runs", metavar="N", type=whole(3, 50), default=3, help="runs a region to begin with (3)")
    parser.add_argument("--max-runs", metavar="N", type=whole(3, 50), default=12, help="the most runs a region (12)")
    parser.add_argument("--window", metavar="24h", default="24h", help="how far back history goes: 90m, 24h, 7d (24h)")
    samples = "the least earlier runs to compare with (60)"
    parser.add_argument("--min-samples", metavar="N", type=whole(10, 10_000), default=60, help=samples)
    parser.add_argument(
        "--confidence", metavar="C", type=decimal(0.8, 0.999), default=0.95, help="how sure to be (0.95)"
    )
    undecided = "what no verdict counts as, for the exit code (inconclusive, which is 3)"
    choices = ["pass", "fail", "inconclusive"]
    parser.add_argument("--on-inconclusive", choices=choices, default="inconclusive", help=undecided)
    before = "only measure, before the release; prints the id for --against"
    parser.add_argument("--before", action="store_true", help=before)
    parser.add_argument("--against", metavar="GATE", help="compare with the runs of a gate that was made with --before")
    other = (
        "compare with runs of another address, in turns: in place of the monitors' server, or MONITOR=URL; repeatable"
    )
    parser.add_argument("--against-url", metavar="URL", action="append", default=[], help=other)
    release = "with --against-url or alone: where the release is reached, if not where the monitors measure; repeatable"
    parser.add_argument("--release-url", metavar="URL", action="append", default=[], help=release)
    timeout = f"let the service decide for S seconds (600, at most {_MAX_TIMEOUT_S})"
    parser.add_argument("--timeout", metavar="S", type=whole(10, _MAX_TIMEOUT_S), default=600, help=timeout)
    wait = parser.add_mutually_exclusive_group()
    wait.add_argument("--wait", dest="wait", action="store_true", default=True, help="wait for the verdict (default)")
    wait.add_argument("--no-wait", dest="wait", action="store_false", help="only begin; exit code 0 when it has begun")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write a report to FILE")
    junit = "write a JUnit report to FILE, one test case for each rule"
    parser.add_argument("--junit", metavar="FILE", type=Path, help=junit)


def add_deploys(parser: argparse.ArgumentParser, make: type[argparse.ArgumentParser]) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=make)
    create = actions.add_parser("create", help="tell of a release", description=DEPLOYS)
    add_service(create)
    _add_deploy(create)
    site = "the site's name, id or URL (all sites of the organisation)"
    create.add_argument("--site", metavar="SITE", help=site)


def add_service(parser: argparse.ArgumentParser, scope: str = "gates") -> None:
    """Which service, and with which token: one with this scope."""
    known = os.environ
    parser.add_argument("--url", metavar="SERVICE", default=known.get("FIRSTBYTE_URL"), help="address of the service")
    token = f"a token with the scope {scope}; better in FIRSTBYTE_TOKEN, which no process list shows"
    parser.add_argument("--token", metavar="TOKEN", help=token)
    authority = "trust this authority too (PEM; by default FIRSTBYTE_CA_FILE)"
    parser.add_argument("--cacert", metavar="FILE", default=known.get("FIRSTBYTE_CA_FILE"), help=authority)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def _add_deploy(parser: argparse.ArgumentParser) -> None:
    once = "the pipeline's own name for the release; told twice it counts once"
    parser.add_argument("--deploy-id", metavar="ID", default="", help=once)
    version = "what is released (by default the commit, where the pipeline says it)"
    parser.add_argument("--deploy-version", metavar="V", default=_first(_VERSIONS), help=version)
    page = "where to read about it (by default the pipeline's page)"
    parser.add_argument("--deploy-url", metavar="URL", default=_page(os.environ), help=page)
    parser.add_argument("--note", metavar="TEXT", default="", help="a line about it")


def _first(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")[:100]


def _page(environment: Mapping[str, str]) -> str:
    """The page of this pipeline's run; GitHub gives it in three parts."""
    parts = [environment.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    if all(parts):
        return f"{parts[0]}/{parts[1]}/actions/runs/{parts[2]}"
    return _first(_PAGES)
