"""Captures of real page loads, kept as gzip'd JSON beside this file, so that computing them is tested without a
browser.

Each was recorded with `BrowserPool` from sites on loopback (or in a network namespace of its own, where names were to
be resolved); `save` is how. Of the log's constants only what is read is kept: the rest describes the machine.
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from workers.measurement.captures_page import DevToolsEvent, NetlogCapture, PageCapture
from workers.measurement.compute.netlog.events import WANTED

_HERE = Path(__file__).parent
_PLAIN = [field.name for field in fields(PageCapture) if field.name not in ("events", "netlog", "started_at")]


def load(name: str) -> PageCapture:
    """The capture of that name."""
    raw = json.loads(gzip.decompress((_HERE / f"{name}.json.gz").read_bytes()))
    plain = {key: raw[key] for key in _PLAIN if key in raw}
    plain["secret_headers"] = frozenset(plain.get("secret_headers", ()))
    plain["warnings"] = tuple(plain.get("warnings", ()))
    log = raw["netlog"]
    return PageCapture(
        **plain,
        started_at=datetime.fromisoformat(raw["started_at"]),
        events=tuple(DevToolsEvent(method, params) for method, params in raw["events"]),
        netlog=NetlogCapture(
            constants=log["constants"], lines=tuple(line.encode() for line in log["lines"]), complete=log["complete"]
        ),
    )


def save(name: str, capture: PageCapture) -> None:
    """Keeps a capture that was just made."""
    assert capture.netlog is not None
    assert capture.started_at is not None
    raw: dict[str, Any] = {key: getattr(capture, key) for key in _PLAIN}
    raw["secret_headers"] = sorted(capture.secret_headers)
    raw["started_at"] = capture.started_at.isoformat()
    raw["events"] = [[event.method, event.params] for event in capture.events]
    raw["netlog"] = {
        "constants": _slim(capture.netlog.constants),
        "lines": [line.decode() for line in capture.netlog.lines if _is_wanted(capture.netlog.constants, line)],
        "complete": capture.netlog.complete,
    }
    data = gzip.compress(json.dumps(raw, separators=(",", ":")).encode(), mtime=0)
    (_HERE / f"{name}.json.gz").write_bytes(data)


def _slim(constants: Mapping[str, Any]) -> dict[str, Any]:
    types = {name: number for name, number in constants["logEventTypes"].items() if name in WANTED}
    return {"logEventTypes": types, "logEventPhase": constants["logEventPhase"], "netError": constants["netError"]}


def _is_wanted(constants: Mapping[str, Any], line: bytes) -> bool:
    numbers = {number for name, number in constants["logEventTypes"].items() if name in WANTED}
    tail = line[line.rfind(b":") + 1 :].rstrip(b"},\r\n")
    return tail.isdigit() and int(tail) in numbers
