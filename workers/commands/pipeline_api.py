"""The service's API for a pipeline: standard library only, so that it runs wherever Python does."""

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage, IncompleteRead
from pathlib import Path
from typing import IO, Any
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

from workers.commands import UsageError
from workers.commands.output import say
from workers.commands.pipeline_faults import place_of
from workers.commands.unreadable import no_authority
from workers.version import VERSION

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_TIMEOUT_S = 30.0
_FILE_TIMEOUT_S = 180.0
# Six tries over about half a minute: a service that is being restarted is back by then.
_PAUSES_S = (0.5, 1.0, 3.0, 8.0, 15.0)
_MAX_PAUSE_S = 60.0
# What the service's answers hold in any case: without these somebody else has answered.
_NAMES = {
    "gates": frozenset({"id", "status", "url"}),
    "deploys": frozenset({"id", "at"}),
    "imports": frozenset({"imports", "skipped", "remarks"}),
    "declaration": frozenset({"sites", "rules", "remarks"}),
    "declaration/plan": frozenset({"changes"}),
    "declaration/apply": frozenset({"changes"}),
}
_OWN_AUTHORITY = "{}; an authority of your own is trusted with --cacert or FIRSTBYTE_CA_FILE"
# How the address of that problem ends.
IN_PROGRESS = "/idempotency-in-progress"
# Besides all that say that the service or a proxy before it is in trouble, some by numbers of their own, as 521.
_AGAIN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class UnreachableError(Exception):
    """The service does not answer, or not as our service would; the text says how."""


class SilentError(UnreachableError):
    """It does not answer now, or a proxy in its place: in a while it may."""


class RefusedError(Exception):
    """The service answered no. `status` is HTTP's, the text its own words; `faults` are those by JSON pointer."""

    def __init__(self, status: int, words: str, faults: Mapping[str, str]) -> None:
        super().__init__(words)
        self.status, self.faults = status, faults

    @property
    def is_usage(self) -> bool:
        """Whether what was asked must be changed; else asking later may help."""
        return self.status not in (HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS) and self.status < 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """`headers` are found however their names are written, which proxies change."""

    status: int
    headers: HTTPMessage
    body: bytes


class Api:
    """The API at an address without a path. Requests are repeated over a bad network; a POST keeps its key."""

    def __init__(self, url: str, token: str, *, ca_file: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._token = token
        handlers = [_StayHere(), urllib.request.HTTPSHandler(context=_context(ca_file))]
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, *, wait_s: int = 0) -> dict[str, Any]:
        """What is there, once it is done or after so many seconds. Raises UnreachableError, RefusedError."""
        query = f"?wait={wait_s}" if wait_s else ""
        return self._ask(self._request("GET", path + query), _TIMEOUT_S + wait_s, _names_in(path))

    def post(
        self, path: str, body: Mapping[str, object] | None = None, *, timeout_s: float = _TIMEOUT_S
    ) -> dict[str, Any]:
        """What came of it, carried out once however often it is sent. Raises UnreachableError, RefusedError."""
        request = self._request("POST", path, json.dumps(body or {}).encode())
        request.add_header("Idempotency-Key", str(uuid4()))
        request.add_header("Content-Type", "application/json")
        return self._ask(request, timeout_s, _names_in(path))

    def post_file(self, path: str, packed: bytes) -> dict[str, Any]:
        """The same with a file of JSON, packed with gzip."""
        request = self._request("POST", path, packed)
        request.add_header("Idempotency-Key", str(uuid4()))
        request.add_header("Content-Type", "application/json")
        request.add_header("Content-Encoding", "gzip")
        return self._ask(request, _FILE_TIMEOUT_S, _names_in(path))

    def _request(self, method: str, path: str, body: bytes | None = None) -> urllib.request.Request:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            "User-Agent": f"firstbyte/{VERSION}",
        }
        return urllib.request.Request(f"{self._url}/api/v1/{path}", body, headers, method=method)

    def _ask(self, request: urllib.request.Request, timeout_s: float, names: frozenset[str]) -> dict[str, Any]:
        for pause_s in (*_PAUSES_S, None):
            try:
                answer = self._send(request, timeout_s)
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", None) or error
                if isinstance(reason, ssl.SSLCertVerificationError):
                    raise UnreachableError(f"{self._url} does not answer: {_OWN_AUTHORITY.format(reason)}") from error
                if pause_s is None:
                    words = getattr(reason, "strerror", None) or reason
                    raise SilentError(f"{self._url} does not answer: {words}") from error
                time.sleep(pause_s)
                continue
            if pause_s is None or not _is_worth_another_try(answer):
                return self._read(answer, names)
            time.sleep(_pause_s(answer, pause_s))
        raise AssertionError("the last try returns or raises")

    def _send(self, request: urllib.request.Request, timeout_s: float) -> _Answer:
        try:
            with self._opener.open(request, timeout=timeout_s) as response:
                return _answer(response.status, response)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error.code, error)

    def _read(self, answer: _Answer, names: frozenset[str]) -> dict[str, Any]:
        document = _document(answer.body)
        if answer.status >= HTTPStatus.BAD_REQUEST and document is not None and "title" in document:
            faults = _faults(document)
            raise RefusedError(answer.status, _words(document, faults), faults)
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            where = answer.headers.get("Location", "")
            instead = f" and points to {where[:200]}" if where else ""
            kind = SilentError if _is_worth_another_try(answer) else UnreachableError
            too_large = answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            why = "what was sent is too large for a proxy before it" if too_large else "is this the service's address?"
            raise kind(f"{self._url} answers {answer.status}{instead}: {why}")
        if document is None or not names.issubset(document):
            raise UnreachableError(f"{self._url} does not answer as the service does: is this its address?")
        return document


def api_of(url: str | None, token: str | None, ca_file: str | None) -> Api:
    """The API that the command line and the environment name. Raises UsageError."""
    if not url:
        raise UsageError("where is the service? give --url or set FIRSTBYTE_URL")
    parts = _parts_of(url)
    if parts is None:
        raise UsageError(f"{url!r} is no address of a service; write https://monitor.example.org")
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        say("firstbyte: the token is sent over http, for everybody on the way to read")
    secret = token or _token_of_environment()
    if not secret:
        raise UsageError("a token is needed: set FIRSTBYTE_TOKEN, or give --token")
    if not (secret.isascii() and secret.isprintable()):
        raise UsageError("the token holds what no token has, such as a line break: copy it again")
    try:
        return Api(url, secret, ca_file=ca_file)
    except OSError as error:
        raise UsageError(f"--cacert: {no_authority(ca_file, error)}") from error


def _parts_of(url: str) -> SplitResult | None:
    """Those of an address that has a host and, if any, a port; None for what is none, or more."""
    try:
        parts = urlsplit(url)
        is_bare = parts.port != 0 and url.rstrip("/").lower() == f"{parts.scheme}://{parts.netloc}".lower()
    except ValueError:
        return None
    is_host = bool(parts.hostname) and "@" not in parts.netloc and " " not in parts.netloc
    return parts if is_bare and is_host and parts.scheme in ("https", "http") else None


def _names_in(path: str) -> frozenset[str]:
    place = path.partition("?")[0]
    return _NAMES.get(place) or _NAMES[place.partition("/")[0]]


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another place."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def _answer(status: int, response: Any) -> _Answer:
    """Raises IncompleteRead for one that ended before its end: who reads so many bytes is not told."""
    headers, body = response.headers, response.read(_MAX_ANSWER_BYTES)
    promised = headers.get("Content-Length", "")
    if promised.isdecimal() and len(body) < min(int(promised), _MAX_ANSWER_BYTES):
        raise IncompleteRead(body, int(promised) - len(body))
    return _Answer(status=status, headers=headers, body=body)


def _token_of_environment() -> str:
    file = os.environ.get("FIRSTBYTE_TOKEN_FILE")
    if os.environ.get("FIRSTBYTE_TOKEN") or not file:
        return os.environ.get("FIRSTBYTE_TOKEN", "").strip()
    try:
        # What is no text is no token, which is said of it then.
        return Path(file).read_text("utf-8", "replace").strip()
    except OSError as error:
        raise UsageError(f"FIRSTBYTE_TOKEN_FILE: {file} cannot be read: {error.strerror or error}") from error


def _context(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


def _is_worth_another_try(answer: _Answer) -> bool:
    """Whether it may be another one in a while: also of a request whose first try the service still carries out."""
    problem = _document(answer.body) if answer.status == HTTPStatus.CONFLICT else None
    is_trouble = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in _AGAIN
    return is_trouble or str((problem or {}).get("type", "")).endswith(IN_PROGRESS)


def _pause_s(answer: _Answer, usual_s: float) -> float:
    """Until when the answer asks to be left alone: seconds or a date (RFC 9110, 10.2.3). A date that is over is one of
    another clock than ours."""
    asked = answer.headers.get("Retry-After", "")
    try:
        if asked.isdecimal():
            asked_s = float(asked)
        else:
            asked_s = max(parsedate_to_datetime(asked).timestamp() - time.time(), usual_s)
    except (ValueError, OverflowError):
        return usual_s
    return min(asked_s, _MAX_PAUSE_S)


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _faults(problem: Mapping[str, Any]) -> dict[str, str]:
    """What is at fault by JSON pointer, where it is told as our service tells it."""
    errors = problem.get("errors")
    faults = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return {str(one.get("pointer", "")): str(one.get("detail", "")) for one in faults}


def _words(problem: Mapping[str, Any], faults: Mapping[str, str]) -> str:
    """A problem as a sentence or several: what is at fault by the names that people have for it."""
    told = [f"{place}: {detail}" if (place := place_of(pointer)) else detail for pointer, detail in faults.items()]
    return "\n".join(told) or str(problem.get("detail") or problem["title"])
