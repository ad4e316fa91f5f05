"""What the tests of network logs from files share: logs that were saved, read as files are."""

import json

from workers.measurement.compute.files.log_file import LogFile, read_log_file
from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.events import names_of
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.reading import read_netlog
from workers.measurement.waterfall import Request, Waterfall
from workers.tests.captures import logs
from workers.tests.shapes import golden

HEAD = json.loads(logs.text_of("h3").split(b"\n", 1)[0].rstrip(b",") + b"}")


def read(data: bytes, *, chunk_bytes: int = 65_536) -> LogFile:
    return read_log_file(data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes))


def waterfall_of(name: str) -> Waterfall:
    return rows_of(read(logs.text_of(name)).log, limit=1000).waterfall


def log_of(shape: str) -> NetworkLog:
    """The network log of a page shape."""
    capture = golden.load(shape).netlog
    assert capture is not None
    return read_netlog(names_of(capture.constants), capture.lines)


def row(waterfall: Waterfall, end: str) -> Request:
    return next(request for request in waterfall.requests if request.url.endswith(end))


def shown(request: Request) -> str:
    """The phases of a row by name, those of no length too."""
    names = ("dns", "connect", "tls", "send", "wait", "download")
    return " ".join(name for name in names if getattr(request.timing, name) is not None)
