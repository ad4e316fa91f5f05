"""What surrounds every route: who asks, how much they may, what they sent, and the headers of the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from hashlib import sha256
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from backend.accounts.audit import acting_with
from backend.api.v1 import limits
from backend.api.v1.access import ApiRequest, identify
from backend.api.v1.bodies import file_bytes_of, read_file, read_json
from backend.api.v1.once import is_calling_out, once
from backend.api.v1.problems import ProblemError, invalid, problem
from backend.safe_methods import SAFE_METHODS

Run = Callable[..., HttpResponseBase]
_OK, _NOT_MODIFIED = 200, 304


def door(run: Run) -> Run:
    """Ninja's decorator of every operation ("view" mode): `run` is the operation's own, so it knows its parameters."""
    route = _route_of(run)
    inside = _Inside(parameters=_parameters_of(run), file_bytes=file_bytes_of(route), calls_out=is_calling_out(route))

    @wraps(run)
    def guarded(request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
        asked = cast(ApiRequest, request)
        asked.out, asked.standings = {}, []
        try:
            response = _answer(asked, partial(run, request, *args, **values), inside)
        except ProblemError as error:
            response = problem(request, error)
        return _finished(asked, response)

    return guarded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inside:
    """What the door knows of a route: the names it takes from the query, how large a file as its body, and whether it
    waits for somebody elsewhere.
    """

    parameters: frozenset[str]
    file_bytes: int
    calls_out: bool


def _answer(request: ApiRequest, act: Callable[[], HttpResponseBase], inside: _Inside) -> HttpResponseBase:
    """In this order: strangers learn nothing, and nobody's body is read before it is known whose it is."""
    request.caller = identify(request)
    request.standings.append(limits.take(limits.DEFAULT, request.caller))
    unknown = request.GET.keys() - inside.parameters
    if unknown:
        choice = f"there are {', '.join(sorted(inside.parameters))}" if inside.parameters else "there are none"
        raise invalid(f"?{min(unknown)[:40]}", f"This parameter does not exist here; {choice}.")
    if request.method in SAFE_METHODS:
        return act()
    if inside.file_bytes:
        read_file(request, inside.file_bytes)
    else:
        read_json(request)
    with acting_with(request.caller.token):
        return once(request, act, apart=inside.calls_out)


def _finished(request: ApiRequest, response: HttpResponseBase) -> HttpResponseBase:
    headers = response.headers
    for name, value in request.out.items():
        headers.setdefault(name, value)
    if request.standings and "RateLimit" not in headers:
        for name, value in limits.headers(request.standings).items():
            headers[name] = value
    headers.setdefault("Cache-Control", "private, no-cache" if request.method in SAFE_METHODS else "no-store")
    headers["Vary"] = "Authorization, Cookie"
    if request.method == "GET" and response.status_code == _OK and isinstance(response, HttpResponse):
        return _conditional(request, response)
    return response


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """304 for who has this already. A route that knows better sets the ETag; else it is that of the bytes, weak."""
    if "ETag" not in response.headers:
        response.headers["ETag"] = f'W/"{sha256(response.content).hexdigest()[:32]}"'
    etag = response.headers["ETag"]
    if not _matches(request.headers.get("If-None-Match", ""), etag):
        return response
    kept = {name: value for name, value in response.headers.items() if name not in ("Content-Type", "Content-Length")}
    return HttpResponse(status=_NOT_MODIFIED, headers=kept)


def matches(request: HttpRequest, etag: str) -> bool:
    """Whether the caller has this version: asked before it is made where making it is dear."""
    return _matches(request.headers.get("If-None-Match", ""), etag)


def _matches(given: str, etag: str) -> bool:
    """The weak comparison of RFC 9110, 8.8.3.2."""
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return etag.removeprefix("W/") in tags or "*" in tags


def _route_of(run: Run) -> object:
    operation: Any = getattr(run, "__self__")  # noqa: B009  # a bound method's own object; its type does not say so
    route: object = operation.view_func
    return route


def _parameters_of(run: Run) -> frozenset[str]:
    """The names that a route takes from the query."""
    operation: Any = getattr(run, "__self__")  # noqa: B009  # a bound method's own object; its type does not say so
    queries = (model for model in operation.models if model.__ninja_param_source__ == "query")
    return frozenset(name for model in queries for name in model.__ninja_flatten_map__)
