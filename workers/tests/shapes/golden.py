"""Golden captures of page shapes: what Chromium told of each, kept whole where a reader may ever look.

A capture is xz'd JSON in `goldens/`; the constants of the network log are the same for all of one Chromium and kept
once. Of the log, events of the browser's own cache and pools of files are left out: no phase is in them.
"""

import json
import lzma
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from workers.measurement.captures_page import DevToolsEvent, NetlogCapture, PageCapture
from workers.measurement.compute.netlog.events import WANTED

_FOLDER = Path(__file__).parent / "goldens"
_APART = ("events", "netlog", "started_at", "secret_headers", "warnings")
_PLAIN = [field.name for field in fields(PageCapture) if field.name not in _APART]
_KEPT_CONSTANTS = ("logEventTypes", "logEventPhase", "logSourceType", "netError")
# Names of events that say nothing of the network, but for those that the reader wants.
_USELESS = ("ENTRY_", "DISK_CACHE_", "HTTP_CACHE_", "COOKIE_", "NETWORK_QUALITY_", "CHECK_CORS_", "PROXY_")


def load(name: str) -> PageCapture:
    """The golden capture of a shape."""
    raw = _read(_FOLDER / f"{name}.json.xz")
    log = raw["netlog"]
    constants = _read(_FOLDER / f"constants-{log['constants']}.json.xz")
    lines = tuple(line.encode() for line in log["lines"])
    return PageCapture(
        **{key: raw[key] for key in _PLAIN if key in raw},
        started_at=datetime.fromisoformat(raw["started_at"]),
        events=tuple(DevToolsEvent(method, params) for method, params in raw["events"]),
        netlog=NetlogCapture(constants=constants, lines=lines, complete=log["complete"]),
        warnings=tuple(raw["warnings"]),
    )


def save(name: str, capture: PageCapture) -> int:
    """Keeps a capture that was just made, in place of the one before. Gives its size in bytes."""
    log, started_at = capture.netlog, capture.started_at
    assert log is not None
    assert started_at is not None
    version = str(capture.browser_version)
    _write(_FOLDER / f"constants-{version}.json.xz", {key: log.constants[key] for key in _KEPT_CONSTANTS})
    raw: dict[str, Any] = {key: getattr(capture, key) for key in _PLAIN}
    raw["started_at"] = started_at.isoformat()
    raw["warnings"] = list(capture.warnings)
    raw["events"] = [[event.method, event.params] for event in capture.events]
    useful = _useful(log.constants)
    lines = [line.decode() for line in log.lines if _type_of(line) in useful]
    raw["netlog"] = {"constants": version, "lines": lines, "complete": log.complete}
    return _write(_FOLDER / f"{name}.json.xz", raw)


def _useful(constants: Mapping[str, Any]) -> set[str]:
    names = constants["logEventTypes"].items()
    return {str(number) for name, number in names if name in WANTED or not name.startswith(_USELESS)}


def _type_of(line: bytes) -> str:
    return line[line.rfind(b":") + 1 :].rstrip(b"},\r\n").decode()


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return found


def _write(path: Path, raw: dict[str, Any]) -> int:
    text = json.dumps(raw, separators=(",", ":"), sort_keys=True)
    return path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
