"""What `firstbyte without` takes besides the options that all measuring commands share."""

import argparse

from workers.commands.page_arguments import add_browser
from workers.commands.ranges import whole
from workers.diagnosis.without.turns import MAX_PAIRS, PAIRS
from workers.measurement.page_rules import PageOptionError, parse_host

WITHOUT = """\
Says what hosts cost a page, as a tag manager, a chat or a test of variants does: loads the page in Chromium as it is
and without them, in turns, and compares. Without means that whatever is asked of the hosts fails at once, as a blocker
does it; what only they would have asked for does not come either. One load of each goes before, so that the servers'
caches are filled for both; which load of a pair is first is drawn by lot. Differences are the loads without the hosts
minus those with them: negative means that the page is sooner without. A verdict needs 8 pairs. That any of the six
times is called different although the hosts cost nothing happens once in 20 times.

examples:
  firstbyte without tags.example.net https://www.example.org/
  firstbyte without chat.example.net,cdn.chat.example.net https://www.example.org/    two hosts at once
  firstbyte without tags.example.net --pairs 20 --device phone --profile 4g https://www.example.org/
  firstbyte without tags.example.net --json https://www.example.org/ | jq .metrics.lcp_ms

exit codes:
  0 sooner, later or no difference   2 wrong usage   3 inconclusive, or no page without them   4 could not measure
"""


def add_hosts(parser: argparse.ArgumentParser) -> None:
    """Before the address of the page."""
    which = "hosts to load the page without, with commas between them, such as tags.example.net"
    parser.add_argument("hosts", metavar="HOST[,HOST...]", type=_hosts, help=which)


def add_without(parser: argparse.ArgumentParser) -> None:
    often = f"how often to load the page both ways ({PAIRS}, at most {MAX_PAIRS})"
    parser.add_argument("--pairs", metavar="N", type=whole(1, MAX_PAIRS, "pairs"), default=PAIRS, help=often)
    add_browser(parser)


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(parse_host(name) for name in text.split(",")))
    except PageOptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
