"""Which requests a worker made, beyond those of which DevTools says so: by what their own headers give away.

A worker's requests name its script as their referrer (HTML, "settings object of a worker"). So does what a script of a
page asks for when it is told to; but of a page's own requests DevTools tells, and what is made for a worker
(Sec-Fetch-Dest) takes its referrer from nobody else. Without these headers, as in clear or under a policy for
referrers, nobody knows.
"""

from collections.abc import Mapping, Sequence

from workers.measurement.compute.exchange import SOCKET, Exchange
from workers.measurement.compute.header_lines import header_of

# What is fetched for a worker, by Sec-Fetch-Dest: its script and the modules of that.
_WORKERS = {"worker": "worker", "sharedworker": "worker", "serviceworker": "service_worker"}


def name_workers(exchanges: Sequence[Exchange], known: Mapping[str, str]) -> None:
    """Sets `asker`, and `initiator` where nobody else told it. `known` are the workers that DevTools told of: their
    scripts' URLs and whether each is a "worker" or a "service_worker".
    """
    scripts = {one.url: _WORKERS[wanted] for one in exchanges if (wanted := _wanted(one)) in _WORKERS} | dict(known)
    for document in (one.url for one in exchanges if one.is_document):
        scripts.pop(document, None)
    for exchange in exchanges:
        script = _asking_script(exchange)
        if script in scripts and exchange.asker is None:
            exchange.asker = scripts[script]
            exchange.initiator = {"type": "script", "url": script}


def _asking_script(exchange: Exchange) -> str:
    """The script that asked, if it is a worker's; also that to which a worker's script was redirected."""
    if exchange.kind == SOCKET:
        return ""
    if exchange.untold or _wanted(exchange) in _WORKERS:
        return header_of(exchange.request_headers, "referer") or ""
    is_own = exchange.url == exchange.document
    return exchange.document or "" if exchange.frame is None and not is_own else ""


def _wanted(exchange: Exchange) -> str:
    return header_of(exchange.request_headers, "sec-fetch-dest") or ""
