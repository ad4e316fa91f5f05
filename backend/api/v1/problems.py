"""Errors as RFC 9457 has them: `application/problem+json` with a type that the reference describes, always."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from django.http import HttpRequest, HttpResponse

MEDIA_TYPE = "application/problem+json"
PATH = "/api/v1/problems/"
# More faults than this teach nobody anything.
MAX_FAULTS = 20

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemType:
    """One kind of error: its name in the address, its status, and what a reader of the reference must know."""

    slug: str
    status: int
    title: str
    meaning: str

    @property
    def path(self) -> str:
        return f"{PATH}{self.slug}"


class Fault(NamedTuple):
    """Where and what. `pointer` is a JSON pointer into the body (`#/name`), `?name` in the query, or a header."""

    pointer: str
    detail: str


def _type(slug: str, status: int, title: str, meaning: str) -> ProblemType:
    return ProblemType(slug=slug, status=status, title=title, meaning=meaning)


BAD_REQUEST = _type(
    "bad-request",
    400,
    "The request cannot be read",
    "The body or the address is not what HTTP, JSON or UTF-8 allow. Repeating it changes nothing.",
)
UNAUTHENTICATED = _type(
    "unauthenticated",
    401,
    "A valid token is needed",
    "There is no token, or it is unknown, revoked or has expired. Send `Authorization: Bearer fb_api_…`.",
)
FORBIDDEN = _type(
    "forbidden",
    403,
    "Your role does not allow this",
    "The token's or person's role in the organisation does not include what was asked.",
)
SCOPE_MISSING = _type(
    "scope-missing",
    403,
    "The token is not for this",
    "The token lacks the scope that the reference names for this operation. Make another token.",
)
CSRF = _type(
    "csrf",
    403,
    "The request did not come from our page",
    "Requests with a session instead of a token must carry X-CSRFToken when they change something.",
)
NOT_FOUND = _type(
    "not-found", 404, "There is no such thing here", "Nothing has this address, or it belongs to another organisation."
)
METHOD_NOT_ALLOWED = _type(
    "method-not-allowed", 405, "The method is not allowed here", "The header Allow names the methods that are."
)
CONFLICT = _type(
    "conflict",
    409,
    "It cannot be done as things are",
    "What was asked contradicts the present state; the detail says how.",
)
IN_PROGRESS = _type(
    "idempotency-in-progress",
    409,
    "The same request is being carried out",
    "A request with this Idempotency-Key has not ended yet. Ask again in a moment.",
)
LIMIT_REACHED = _type(
    "limit-reached",
    409,
    "There is no room for more",
    "The organisation has as many as it may; the detail names the number.",
)
LENGTH_REQUIRED = _type(
    "length-required", 411, "The length of the body is missing", "Send Content-Length; bodies in chunks are not taken."
)
TOO_LARGE = _type("too-large", 413, "The body is too large", "The detail names the limit.")
UNSUPPORTED_MEDIA_TYPE = _type(
    "unsupported-media-type",
    415,
    "The body must be JSON",
    "Send `Content-Type: application/json`, without Content-Encoding.",
)
INVALID = _type("invalid", 422, "Some values are not valid", "`errors` says which and why. Nothing was changed.")
KEY_REUSED = _type(
    "idempotency-key-reused",
    422,
    "The Idempotency-Key was used for another request",
    "A key stands for one request for 24 hours. Take a new one.",
)
TOO_MANY_REQUESTS = _type(
    "too-many-requests", 429, "Too many requests", "Wait as long as Retry-After says. RateLimit tells how much is left."
)
INTERNAL = _type(
    "internal-error",
    500,
    "Something went wrong on our side",
    "It is in our log under `request_id`. The request may be repeated.",
)
UNAVAILABLE = _type(
    "unavailable", 503, "The service cannot answer now", "A part of the service is away. Ask again in a while."
)

TYPES = (
    BAD_REQUEST,
    UNAUTHENTICATED,
    FORBIDDEN,
    SCOPE_MISSING,
    CSRF,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    CONFLICT,
    IN_PROGRESS,
    LIMIT_REACHED,
    LENGTH_REQUIRED,
    TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    INVALID,
    KEY_REUSED,
    TOO_MANY_REQUESTS,
    INTERNAL,
    UNAVAILABLE,
)
# The first of a status stands for answers that other layers gave without a word.
_BY_STATUS = {one.status: one for one in reversed(TYPES)}


class ProblemError(Exception):
    """Raised anywhere below a route; the door turns it into the answer."""

    def __init__(
        self,
        kind: ProblemType,
        detail: str = "",
        *,
        faults: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail or kind.title)
        self.kind, self.detail, self.faults, self.headers = kind, detail, faults, headers or {}


def invalid(pointer: str, detail: str) -> ProblemError:
    """One value that is not valid."""
    return ProblemError(INVALID, faults=[Fault(pointer, detail)])


def existing(found: Found | None, sentence: str) -> Found:
    """What was found. Raises ProblemError with the sentence where that is nothing."""
    if found is None:
        raise ProblemError(NOT_FOUND, sentence)
    return found


def problem(request: HttpRequest, error: ProblemError) -> HttpResponse:
    """The answer for an error."""
    body: dict[str, object] = {
        "type": error.kind.path,
        "title": error.kind.title,
        "status": error.kind.status,
        "detail": error.detail or _summary(error.faults) or error.kind.meaning,
        "instance": request.path,
        "request_id": getattr(request, "request_id", None),
    }
    if error.faults:
        body["errors"] = [fault._asdict() for fault in error.faults[:MAX_FAULTS]]
    headers = {"Cache-Control": "no-store", **error.headers}
    return HttpResponse(json.dumps(body), content_type=MEDIA_TYPE, status=error.kind.status, headers=headers)


def type_of_status(status: int) -> ProblemType:
    """The type for an answer of another layer: of its status, else the nearest."""
    fallback = INTERNAL if status >= INTERNAL.status else BAD_REQUEST
    return _BY_STATUS.get(status, fallback)


def type_by_slug(slug: str) -> ProblemType | None:
    return next((one for one in TYPES if one.slug == slug), None)


def _summary(faults: Sequence[Fault]) -> str:
    return " ".join(fault.detail for fault in faults[:3])
