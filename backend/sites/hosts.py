"""What changes the hosts of a site: proposals from what was seen, and the owner's word, which wins."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import User
from backend.as_it_is import as_it_is
from backend.kept import retention_start
from backend.sites.models import Host, HostRole, Site

# A result is judged and stored within this.
_UNDER_WAY = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRole:
    """What a host seems to be, and the sentences that say why."""

    name: str
    role: HostRole
    evidence: tuple[str, ...]


@transaction.atomic
def propose_roles(*, site: Site, proposals: Iterable[ProposedRole], now: datetime) -> None:
    """Notes what was seen at this moment; hosts that no page which is kept asked for are forgotten. What the owner
    chose is not touched.
    """
    Host.objects.bulk_create(
        [
            Host(
                site=site,
                name=one.name,
                proposed=one.role,
                evidence=list(one.evidence),
                first_seen_at=now,
                last_seen_at=now,
            )
            for one in proposals
        ],
        update_conflicts=True,
        unique_fields=["site", "name"],
        update_fields=["proposed", "evidence", "last_seen_at"],
    )
    Host.objects.filter(site=site, chosen=None, last_seen_at__lt=retention_start(now)).delete()


@transaction.atomic
def choose_role(*, actor: User | None, host: Host, role: HostRole | None) -> Host:
    """Says what a host is; None goes back to what is proposed. Stored findings of pages follow in the background."""
    host = as_it_is(host, "site__organisation")
    before, host.chosen = host.chosen, role
    host.chosen_by, host.chosen_at = (actor, timezone.now()) if role is not None else (None, None)
    host.save(update_fields=["chosen", "chosen_by", "chosen_at"])
    if _is_ours(before) is not _is_ours(role):
        # A result that is just coming in knows the old role.
        Site.objects.filter(pk=host.site_id).update(rejudge_before=timezone.now() + _UNDER_WAY)
    detail = {"host": host.name, "before": before, "after": None if role is None else role.value}
    record("choose_host_role", host.site, actor=actor, organisation=host.site.organisation, **detail)
    return host


def _is_ours(chosen: str | None) -> bool | None:
    """None where the owner said nothing."""
    return None if chosen is None else HostRole(chosen).is_ours
