"""The body of a request: bounded, UTF-8, JSON, and nothing in it that a database cannot keep."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

from django.http import HttpRequest, UnreadablePostError
from django.utils.datastructures import MultiValueDict
from ninja import NinjaAPI
from ninja.params.models import Body, BodyModel
from ninja.parser import Parser
from pydantic_core import to_json

from backend.api.v1.problems import (
    BAD_REQUEST,
    INVALID,
    LENGTH_REQUIRED,
    TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    Fault,
    ProblemError,
)

MAX_BYTES = 256 * 1024
# Deeper than any message of ours, and far from what a parser could stumble over.
MAX_DEPTH = 20
_FILE_BYTES = "_firstbyte_file_bytes"
F = TypeVar("F", bound=Callable[..., Any])
# What PostgreSQL's integers hold; JSON itself has no bound.
_MAX_INTEGER = 2**63 - 1
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


def read_json(request: HttpRequest) -> None:
    """Reads the body of a request that may have one, for `BodyParser`. Raises ProblemError."""
    _check_framing(request)
    try:
        body = request.body
    except UnreadablePostError as error:
        raise ProblemError(BAD_REQUEST, "The body ended before it was whole.") from error
    if body:
        _check_type(request)
        request.json = _parsed(body)  # type: ignore[attr-defined]  # an attribute of ours
    else:
        # Ninja passes an empty body over, and with it the fault that fields are missing.
        request.json = {}  # type: ignore[attr-defined]  # an attribute of ours
        request._body = b"{}"  # as Django itself keeps it


def takes_file(max_bytes: int) -> Callable[[F], F]:
    """A route whose body is a file of JSON up to so many bytes, packed with gzip or not, which it reads by itself."""

    def mark(route: F) -> F:
        setattr(route, _FILE_BYTES, max_bytes)
        return route

    return mark


def file_bytes_of(route: object) -> int:
    """How large a file a route takes; 0 for all that take none."""
    return int(getattr(route, _FILE_BYTES, 0))


def read_file(request: HttpRequest, max_bytes: int) -> None:
    """Reads the body of a route that takes a file: afterwards it is `request.body`. Raises ProblemError."""
    _check_framing(request, max_bytes, ("identity", "gzip"))
    _check_type(request)
    length = int(request.headers.get("Content-Length") or 0)
    try:
        body = request.read(length)
    except (UnreadablePostError, OSError) as error:
        raise ProblemError(BAD_REQUEST, "The body ended before it was whole.") from error
    if len(body) < length:
        raise ProblemError(BAD_REQUEST, "The body ended before it was whole.")
    request._body = body  # as Django itself keeps it
    request.json = {}  # type: ignore[attr-defined]  # an attribute of ours


class BodyParser(Parser):
    """What Ninja asks for the body and the query."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """What `read_json` has found."""
        return cast(dict[str, Any], request.json)  # type: ignore[attr-defined]  # an attribute of ours

    def parse_querydict(
        self, data: MultiValueDict[str, str], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """As Ninja does, but a parameter that is given twice is a mistake unless it is a list."""
        for name, values in data.lists():
            if any(_is_unkept(value) for value in values):
                raise ProblemError(INVALID, faults=[Fault(f"?{name[:40]}", "It holds characters that no text has.")])
            if len(values) > 1 and name not in list_fields:
                raise ProblemError(INVALID, faults=[Fault(f"?{name[:40]}", "It is given more than once.")])
        return super().parse_querydict(data, list_fields, request)


class StrictBody(BodyModel):
    """Reads bodies as JSON, strictly: "1" and true are no numbers. Ninja would hand them over as Python's values, of
    which Pydantic takes either everything, or no text for a time."""

    @classmethod
    def resolve(cls, request: HttpRequest, api: NinjaAPI, path_params: dict[str, Any]) -> Any:
        data = cls.get_request_data(request, api, path_params)
        return cls.model_validate_json(to_json(data), strict=True, context={"request": request})


# Where Ninja looks for the class when a route is made; it has no other place to name one.
Body._model = StrictBody


def _check_framing(
    request: HttpRequest, max_bytes: int = MAX_BYTES, encodings: tuple[str, ...] = ("identity",)
) -> None:
    length = request.headers.get("Content-Length", "")
    if not length and "Transfer-Encoding" in request.headers:
        raise ProblemError(LENGTH_REQUIRED)
    if length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > max_bytes):
        raise ProblemError(TOO_LARGE, f"The body may have at most {max_bytes} bytes.")
    if request.headers.get("Content-Encoding", "identity").lower() not in encodings:
        understood = " or ".join(encodings[1:]) or "no other"
        raise ProblemError(UNSUPPORTED_MEDIA_TYPE, f"Content-Encoding may be left out; {understood} is understood.")


def _check_type(request: HttpRequest) -> None:
    if request.content_type != "application/json":
        raise ProblemError(UNSUPPORTED_MEDIA_TYPE, headers={"Accept": "application/json"})


def _parsed(body: bytes) -> object:
    try:
        document: object = json.loads(body.decode(), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise ProblemError(BAD_REQUEST, f"The body is not UTF-8: byte {error.start} is wrong.") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ProblemError(BAD_REQUEST, f"The body is not JSON: {error.msg} at {where}.") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise ProblemError(BAD_REQUEST, "The body holds a number that is not JSON's, or too long.") from error
    _check_values(document)
    return document


def _no_number(name: str) -> object:
    raise ValueError(name)


def _check_values(document: object) -> None:
    for pointer, value in _leaves(document):
        if isinstance(value, str) and _is_unkept(value):
            raise ProblemError(
                INVALID, faults=[Fault(pointer, "It holds characters that no text has: NUL, half a pair.")]
            )
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise ProblemError(INVALID, faults=[Fault(pointer, "The number is too large.")])


def _leaves(document: object) -> Iterator[tuple[str, object]]:
    """Every name and plain value of the document with its JSON pointer. Raises ProblemError when it is too deep."""
    waiting: list[tuple[str, object, int]] = [("#", document, 0)]
    while waiting:
        pointer, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _too_deep()
        if isinstance(value, dict):
            yield from ((pointer, name) for name in value)
            waiting += _inside(pointer, value.items(), depth)
        elif isinstance(value, list):
            waiting += _inside(pointer, enumerate(value), depth)
        else:
            yield pointer, value


def _inside(pointer: str, items: Iterable[tuple[object, object]], depth: int) -> Iterator[tuple[str, object, int]]:
    return ((f"{pointer}/{escape(str(name))}", value, depth + 1) for name, value in items)


def escape(name: str) -> str:
    """A name as a part of a JSON pointer (RFC 6901), cut to what an answer can bear."""
    return name[:60].replace("~", "~0").replace("/", "~1")


def _is_unkept(text: str) -> bool:
    """NUL, which PostgreSQL has no place for, and halves of surrogate pairs, which UTF-8 has none for."""
    return _UNKEPT.search(text) is not None


def _too_deep() -> ProblemError:
    return ProblemError(BAD_REQUEST, f"The body is nested more than {MAX_DEPTH} deep.")
