"""A POST with an Idempotency-Key is carried out once, however often it is sent (draft-ietf-httpapi-idempotency-key).

The answer is kept in the transaction of the act, so a crash leaves both or none. Only what succeeded is kept: what was
refused has changed nothing, and may be sent again, mended, with the same key.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256

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
_KEPT_HEADERS = ("Content-Type", "Location", "ETag")
# With each new answer so many old ones go: they never pile up, and nobody waits for a large clean-up.
_FORGET_AT_ONCE = 20
_FORGET = """
DELETE FROM api_keptanswer WHERE id IN (
    SELECT id FROM api_keptanswer WHERE expires_at < %s ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED
)
"""


def once(request: ApiRequest, act: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """The answer of `act`, or the one that was given to this key before. Raises ProblemError."""
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST":
        return act()
    if not _KEY.fullmatch(key):
        raise invalid(HEADER, "Use 1 to 255 visible ASCII characters, such as a UUID.")
    with transaction.atomic():
        _lock(request.caller.key, key)
        kept = KeptAnswer.objects.filter(caller=request.caller.key, key=key).first()
        if kept is not None and kept.expires_at > timezone.now():
            return _again(kept, request)
        if kept is not None:
            kept.delete()
        response = act()
        if isinstance(response, HttpResponse) and response.status_code < 300:
            _keep(request, key, response)
        else:
            transaction.set_rollback(True)
        return response


def _lock(caller: str, key: str) -> None:
    """Until the transaction ends. A lock that belongs to no row: the first request has none yet."""
    number = int.from_bytes(sha256(f"{caller} {key}".encode()).digest()[:8], signed=True)
    ((mine,),) = fetch("SELECT pg_try_advisory_xact_lock(%s)", [number])
    if not mine:
        raise ProblemError(IN_PROGRESS, headers={"Retry-After": "1"})


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
