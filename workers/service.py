"""The service over HTTPS, as a region sees it: four requests, and three ways in which they fail."""

import gzip
import re
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import urllib3

from workers.measurement import routes, wire
from workers.measurement.messages import Heartbeat, HeartbeatReply, Progress, Receipts
from workers.measurement.routes import PictureKind
from workers.version import VERSION

_TIMEOUT = urllib3.Timeout(connect=5, read=20)
# A person waits for progress now or never.
_SHORT_TIMEOUT = urllib3.Timeout(connect=2, read=3)
_MAX_ANSWER_BYTES = 1_000_000
# Fast over small: the lines are JSON and shrink five-fold at the first level already.
_GZIP_LEVEL = 1
# Only these condemn a body. Anything else can come from a proxy that is set up wrong, which must not cost a result.
_BODY_IS_BAD = frozenset({400, 413, 415, 422})
_TAG = re.compile(r"<[^<>]*>")

M = TypeVar("M", HeartbeatReply, Receipts)


class ServiceError(Exception):
    """The service did not take what was sent."""


class UnavailableError(ServiceError):
    """The service, or the way to it, is down or busy: the same request may succeed later."""


class UnauthorisedError(ServiceError):
    """The token of this region is not, or no longer, valid: an operator must act."""


class AbsentError(UnavailableError):
    """Nothing is at this address: no such run any more, or not the service at all."""


class RefusedError(ServiceError):
    """The service will never take this request: too large, or not understood."""


class Service:
    """Thread-safe. `url` is the address of the service without a path; `ca_file` an extra authority (PEM)."""

    def __init__(self, url: str, token: str, *, ca_file: Path | None = None) -> None:
        context = ssl.create_default_context()
        if ca_file is not None:
            context.load_verify_locations(ca_file)
        self._pool = urllib3.PoolManager(maxsize=4, retries=False, timeout=_TIMEOUT, ssl_context=context)
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": f"firstbyte-agent/{VERSION}"}

    def post_results(self, lines: Sequence[bytes]) -> Receipts:
        """One receipt for each encoded result, in order; without any it still proves the token. Raises ServiceError."""
        body = gzip.compress(b"".join(line + b"\n" for line in lines), _GZIP_LEVEL)
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
        receipts = _understood(self._send("POST", routes.RESULTS_PATH, body, headers), Receipts)
        if len(receipts.statuses) != len(lines):
            raise UnavailableError(f"the service answered {len(lines)} results with {len(receipts.statuses)} receipts")
        return receipts

    def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatReply:
        """Tells that this agent lives and what it holds. Raises ServiceError."""
        return _understood(self._send("POST", routes.HEARTBEAT_PATH, wire.encode(heartbeat), _JSON), HeartbeatReply)

    def progress(self, progress: Progress) -> None:
        """Tells where an urgent run is; gives up soon. Raises ServiceError."""
        self._send("POST", routes.PROGRESS_PATH, wire.encode(progress), _JSON, _SHORT_TIMEOUT)

    def put_picture(self, run_id: UUID, kind: PictureKind, picture: bytes) -> None:
        """Sends a picture of a run, before its result. Raises ServiceError."""
        media_type = "image/webp" if picture[8:12] == b"WEBP" else "image/jpeg"
        self._send("PUT", routes.PICTURE_PATH.format(kind=kind, run_id=run_id), picture, {"Content-Type": media_type})

    def _send(
        self, method: str, path: str, body: bytes, headers: dict[str, str], timeout: urllib3.Timeout = _TIMEOUT
    ) -> bytes:
        try:
            response = self._pool.request(
                method,
                self._url + path,
                body=body,
                headers=self._headers | headers,
                timeout=timeout,
                redirect=False,
                preload_content=False,
            )
            answer: bytes = response.read(_MAX_ANSWER_BYTES)
            response.drain_conn() if len(answer) < _MAX_ANSWER_BYTES else response.close()
            response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise UnavailableError(f"{method} {path}: {error}") from error
        _raise_for(response.status, f"{method} {path}: {response.status} {_said(answer)}")
        return answer


def _said(answer: bytes) -> str:
    """The beginning of an answer on one line. What a proxy answers for the service is a page: its words are enough."""
    text = answer[:1000].decode("utf-8", "replace")
    return " ".join(_TAG.sub(" ", text).split())[:200]


_JSON = {"Content-Type": "application/json"}


def _raise_for(status: int, what: str) -> None:
    if 200 <= status < 300:
        return
    if status in (401, 403):
        raise UnauthorisedError(what)
    if status in _BODY_IS_BAD:
        raise RefusedError(what)
    raise AbsentError(what) if status in (404, 410) else UnavailableError(what)


def _understood(answer: bytes, expected: type[M]) -> M:
    """An answer that is none of ours comes from something else at that address, for a time."""
    try:
        return wire.decode(answer, expected)
    except wire.WireError as error:
        raise UnavailableError(f"the service's answer is not understood: {error}") from error
