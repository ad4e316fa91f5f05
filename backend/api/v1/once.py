"""A POST with an Idempotency-Key is carried out once, however often it is sent (draft-ietf-httpapi-idempotency-key).

The answer is kept in the transaction of the act, so a crash leaves both or none, unless the act `calls_out`. Only what
succeeded is kept: what was refused has changed nothing, and may be sent again, mended, with the same key.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from typing import Any, TypeVar

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from backend.api.models import KeptAnswer
from backend.api.v1.access import ApiRequest
from backend.api.v1.problems import IN_PROGRESS, KEY_REUSED, ProblemError, invalid
from backend.encryption import seal, unseal
from backend.runs.sql import execute, fetch

HEADER = "Idempotency-Key"
KEPT_FOR = timedelta(hours=24)
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
# Until the transaction ends, and until it is let go or the connection ends.
_LOCK, _LOCK_APART = "SELECT pg_try_advisory_xact_lock(%s)", "SELECT pg_try_advisory_lock(%s)"
_KEPT_HEADERS = ("Content-Type", "Location", "ETag")
# With each new answer so many old ones go: they never pile up, and nobody waits for a large clean-up.
_FORGET_AT_ONCE = 20
_FORGET = """
DELETE FROM api_keptanswer WHERE id IN (
    SELECT id FROM api_keptanswer WHERE expires_at < %s ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED
)
"""

_CALLS_OUT = "_firstbyte_calls_out"
F = TypeVar("F", bound=Callable[..., Any])


def calls_out(route: F) -> F:
    """A route that waits for somebody elsewhere: no transaction, and nobody behind its locks, waits with it. After a
    crash in between it is carried out once more.
    """
    setattr(route, _CALLS_OUT, True)
    return route


def is_calling_out(route: object) -> bool:
    """Whether it is such a route."""
    return bool(getattr(route, _CALLS_OUT, False))


def once(request: ApiRequest, act: Callable[[], HttpResponseBase], *, apart: bool = False) -> HttpResponseBase:
    """The answer of `act`, or the one that was given to this key before; `apart` of one that calls out. Raises
    ProblemError.
    """
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST":
        return act()
    if not _KEY.fullmatch(key):
        raise invalid(HEADER, "Use 1 to 255 visible ASCII characters, such as a UUID.")
    return _apart(request, key, act) if apart else _together(request, key, act)


@transaction.atomic
def _together(request: ApiRequest, key: str, act: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Act and answer in one transaction."""
    _lock(_LOCK, _number(request, key))
    kept = _kept(request, key)
    if kept is not None:
        return _again(kept, request)
    response = act()
    if not _keep_success(request, key, response):
        transaction.set_rollback(True)
    return response


def _apart(request: ApiRequest, key: str, act: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """An act with transactions of its own, and then its answer."""
    with _locked(_number(request, key)):
        kept = _kept(request, key)
        if kept is not None:
            return _again(kept, request)
        response = act()
        with transaction.atomic():
            _keep_success(request, key, response)
        return response


def _number(request: ApiRequest, key: str) -> int:
    """Of a lock that belongs to no row: the first request has none yet."""
    return int.from_bytes(sha256(f"{request.caller.key} {key}".encode()).digest()[:8], signed=True)


def _lock(statement: str, number: int) -> None:
    ((mine,),) = fetch(statement, [number])
    if not mine:
        raise ProblemError(IN_PROGRESS, headers={"Retry-After": "1"})


@contextmanager
def _locked(number: int) -> Iterator[None]:
    _lock(_LOCK_APART, number)
    try:
        yield
    finally:
        fetch("SELECT pg_advisory_unlock(%s)", [number])


def _kept(request: ApiRequest, key: str) -> KeptAnswer | None:
    """The answer that was given to this key; one that has expired goes."""
    kept = KeptAnswer.objects.filter(caller=request.caller.key, key=key).first()
    if kept is None or kept.expires_at > timezone.now():
        return kept
    kept.delete()
    return None


def _keep_success(request: ApiRequest, key: str, response: HttpResponseBase) -> bool:
    """Whether it is one."""
    if not isinstance(response, HttpResponse) or response.status_code >= 300:
        return False
    _keep(request, key, response)
    return True


def _again(kept: KeptAnswer, request: HttpRequest) -> HttpResponse:
    if kept.request_digest != _digest(request):
        raise ProblemError(KEY_REUSED)
    response = HttpResponse(unseal(bytes(kept.body)), status=kept.status, headers=kept.headers)
    response.headers["Idempotent-Replayed"] = "true"
    return response


def _keep(request: ApiRequest, key: str, response: HttpResponse) -> None:
    now = timezone.now()
    headers = {**request.out, **response.headers}
    KeptAnswer.objects.create(
        caller=request.caller.key,
        key=key,
        request_digest=_digest(request),
        status=response.status_code,
        headers={name: headers[name] for name in _KEPT_HEADERS if name in headers},
        # A secret that is shown once may be in it.
        body=seal(response.content),
        expires_at=now + KEPT_FOR,
    )
    execute(_FORGET, [now, _FORGET_AT_ONCE])


def _digest(request: HttpRequest) -> str:
    return sha256(b"\n".join((request.get_full_path().encode(), request.body))).hexdigest()
