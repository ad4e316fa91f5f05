"""What `firstbyte netlog` and `firstbyte cdp` take."""

import argparse
from collections.abc import Callable
from pathlib import Path

from workers.commands.all_argument import add_all
from workers.commands.ranges import whole

# More requests are in no log that anybody looks at.
MAX_LIMIT = 50_000
NETLOG = """\
Computes from a network log of any Chrome when each request looked its host up, connected, shook hands, was sent and
had its first and last byte, and draws its waterfall. Logs come from chrome://net-export, from --log-net-log=FILE, or
from "firstbyte page --netlog FILE"; files that break off are read as far as they go.

Times are milliseconds since the first event of any request in the file; the log counts whole ones. What getting a
connection cost stands at the first request that used it; connect ends where TLS begins; QUIC has no connect of its
own. dns is null where no lookup was waited for: the answer was in Chrome's cache, or the host is an address.
A redirect is a row of its own with the same id and the next hop. Where a request was sent more than once (credentials
that were asked for, a connection that was lost), send and wait are those of the last time; "transactions" counts them.

examples:
  firstbyte netlog chrome-net-export-log.json
  firstbyte netlog --json log.json.gz | jq '.requests[] | {url, dns_start_ms, dns_end_ms, ttfb_ms}'
  firstbyte netlog --json log.json | jq '.connections[] | {host, protocol, phases}'
"""
CDP = """\
Computes what firstbyte netlog does from a saved log of DevTools' events (a JSON array, or one event a line; {"method",
"params"}, {"name", "params"}, or what ChromeDriver's performance log writes), and draws its waterfall. DevTools does
not know everything: "unknown" in the document says what; prefer firstbyte netlog where there is a network log.

examples:
  firstbyte cdp devtools.json
  firstbyte cdp --json events.jsonl | jq '.requests[] | {url, ttfb_ms}'
"""


def add_log(parser: argparse.ArgumentParser) -> None:
    """Arguments of both commands."""
    parser.add_argument("file", metavar="FILE", type=Path, help="the file, gzip'd or not; - for standard input")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    told = f"tell of the first N requests (all; {MAX_LIMIT} at most)"
    parser.add_argument("--limit", metavar="N", type=whole(1, MAX_LIMIT), default=MAX_LIMIT, help=told)
    add_all(parser)


def add_logs(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Both commands, by the subparsers' own `add_parser`."""
    add_log(add("netlog", help="read phases from a network log of Chrome", description=NETLOG))
    add_log(add("cdp", help="read phases from a log of DevTools' events", description=CDP))
