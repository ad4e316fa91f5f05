"""The audit log: who did what, written in the transaction of the act itself."""

from django.db import models

from backend.accounts.models import AuditEntry, Organisation, User


def record(
    action: str, target: models.Model, *, actor: User | None, organisation: Organisation | None, **detail: object
) -> None:
    """Writes one entry. `detail` must hold no secret: it is shown to admins. `actor` None is the system itself."""
    AuditEntry.objects.create(
        organisation=organisation,
        actor=actor,
        action=action,
        object_type=target._meta.model_name or "",
        object_id=str(getattr(target, "public_id", target.pk)),
        detail=detail,
    )
