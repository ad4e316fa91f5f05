"""What is read of the audit log: a bounded part of it, the newest acts first."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from backend.accounts.models import AuditEntry, Organisation, User
from backend.lists import older

# Who is asked for where nobody acted: the service itself.
SERVICE = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act. `who` is None for the service itself, `address` for what no request made."""

    pk: int
    at: datetime
    who: str | None
    address: str | None
    action: str
    object_type: str
    object_id: str
    detail: Mapping[str, object]


def acts(
    organisation: Organisation,
    *,
    who: str = "",
    object_type: str = "",
    before: tuple[datetime, int] | None = None,
    limit: int,
) -> list[Act]:
    """The newest acts before one, of everybody or of one person (by e-mail address). One statement."""
    chosen = AuditEntry.objects.filter(organisation=organisation)
    if who:
        chosen = chosen.filter(actor=None) if who == SERVICE else chosen.filter(actor__email=who)
    if object_type:
        chosen = chosen.filter(object_type=object_type)
    if before is not None:
        chosen = chosen.filter(older("at", before))
    entries = chosen.select_related("actor").order_by("-at", "-pk")[:limit]
    return [_act(entry) for entry in entries]


def people(organisation: Organisation) -> list[str]:
    """The addresses of the members, and of who acted here and has left. One statement."""
    here = organisation.memberships.values("user")
    acted = organisation.audit.order_by().values("actor").distinct()
    found = User.objects.filter(Q(pk__in=here) | Q(pk__in=acted))
    return list(found.order_by("email").values_list("email", flat=True))


def _act(entry: AuditEntry) -> Act:
    return Act(
        pk=entry.pk,
        at=entry.at,
        who=entry.actor.email if entry.actor is not None else None,
        address=entry.address,
        action=entry.action,
        object_type=entry.object_type,
        object_id=entry.object_id,
        detail=entry.detail,
    )
