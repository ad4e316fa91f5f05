"""What changes the hosts of a site: proposals from what was seen, and the owner's word, which wins."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import User
from backend.as_it_is import as_it_is
from backend.faults import InvalidError
from backend.kept import retention_start
from backend.sites.models import Host, HostRole, Site
from workers.measurement.target import TargetError, parse_target

# As many as a person keeps in view, and more than nearly all pages have.
MAX_CHOSEN = 500
_NO_NAME = "The name of a host is such as cdn.shop.example, without what stands around it in an address."

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
    Host.objects.filter(site=site, first_seen_at=None, last_seen_at__isnull=False).update(first_seen_at=now)
    forgotten = Q(last_seen_at__lt=retention_start(now)) | Q(last_seen_at=None)
    Host.objects.filter(forgotten, site=site, chosen=None).delete()


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


@transaction.atomic
def foretell_role(*, actor: User | None, site: Site, name: str, role: HostRole) -> Host:
    """Says what a host is that no page has asked for yet, by its canonical name. Raises InvalidError."""
    site = as_it_is(site, "organisation")
    if Host.objects.filter(site=site, chosen__isnull=False).count() >= MAX_CHOSEN:
        raise InvalidError({"name": f"{MAX_CHOSEN} hosts of this site have a role that somebody chose."})
    evidence = ["No page has asked for it yet."]
    # A page may have asked for it at this moment.
    proposal = {"proposed": HostRole.THIRD_PARTY, "evidence": evidence}
    host, _ = Host.objects.get_or_create(site=site, name=name, defaults=proposal)
    return choose_role(actor=actor, host=host, role=role)


def canonical_host(text: str) -> str:
    """The name of a host as pages ask for it: in lower case, and in the DNS's own letters. Raises InvalidError."""
    colons = text.count(":")
    if colons == 1 or set("/\\?#@[]") & set(text):
        raise InvalidError({"name": _NO_NAME})
    try:
        return parse_target(f"https://[{text}]/" if colons else f"https://{text}/").host
    except TargetError:
        raise InvalidError({"name": _NO_NAME}) from None


def _is_ours(chosen: str | None) -> bool | None:
    """None where the owner said nothing."""
    return None if chosen is None else HostRole(chosen).is_ours
