"""Network logs as Chromium 156 wrote them, cut to the events that are read.

They were recorded in a network of their own, where a name server answers after 30 ms: pages over HTTP/1.1, HTTP/2 and
HTTP/3, through Chrome's classic pool and (`new-pool`) with its HappyEyeballsV3 switched on. `many` is one page with a
bit of everything: redirects, a preflight, early hints, a worker, a WebSocket, caches, and what fails. Of `silent-ipv6`
two hosts have addresses of which only the last answers, and a third's first refuses. `whole-new-pool` is the whole
Chromium's page in its new pool, with the test lab's names and redirects. `login` is a page whose address holds a name
and a password that the server asks for, `early-data-h3` a host that is met again after its session ended.
"""

import gzip
from pathlib import Path

NAMES = (
    "h3",
    "h3-new-pool",
    "h2-new-pool",
    "h1-new-pool",
    "many",
    "silent-ipv6",
    "silent-ipv6-new-pool",
    "whole-new-pool",
    "login",
    "early-data-h3",
)
_HERE = Path(__file__).parent


def path_of(name: str) -> Path:
    """The file, gzip'd."""
    return _HERE / f"{name}.json.gz"


def text_of(name: str) -> bytes:
    """What is in it."""
    return gzip.decompress(path_of(name).read_bytes())
