"""The audit log: who did what, written in the transaction of the act itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

from django.db import models

from backend.accounts.models import ApiToken, AuditEntry, Organisation, User

# Which token the present thread acts with, and from where. Arguments would run through every action for these two.
_TOKEN: ContextVar[ApiToken | None] = ContextVar("token", default=None)
_ADDRESS: ContextVar[str | None] = ContextVar("address", default=None)


@contextmanager
def acting_with(token: ApiToken | None) -> Iterator[None]:
    """Entries written inside name the token beside the actor."""
    reset = _TOKEN.set(token)
    try:
        yield
    finally:
        _TOKEN.reset(reset)


@contextmanager
def acting_from(address: str | None) -> Iterator[None]:
    """Entries written inside name the address that the request came from."""
    reset = _ADDRESS.set(address)
    try:
        yield
    finally:
        _ADDRESS.reset(reset)


def acting_address() -> str | None:
    """Where the request of the present act came from; None for what no request made."""
    return _ADDRESS.get()


def forget_acts(*, before: datetime, limit: int) -> int:
    """Deletes at most so many of the oldest acts; how many. 0 when nothing older is left."""
    oldest = AuditEntry.objects.filter(at__lt=before).order_by("at").values("pk")[:limit]
    deleted, _ = AuditEntry.objects.filter(pk__in=oldest).delete()
    return deleted


def record(
    action: str, target: models.Model, *, actor: User | None, organisation: Organisation | None, **detail: object
) -> AuditEntry:
    """Writes one entry. `detail` must hold no secret: it is shown to admins. `actor` None is the system itself."""
    token = _TOKEN.get()
    if token is not None:
        detail["token"] = str(token)
    return AuditEntry.objects.create(
        organisation=organisation,
        actor=actor,
        action=action,
        object_type=target._meta.model_name or "",
        object_id=str(getattr(target, "public_id", target.pk)),
        detail=detail,
        address=acting_address(),
    )
