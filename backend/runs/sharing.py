"""Runs for guests: whoever has the link of one looks at it without an account, until it expires or is taken back.

A link is a random number and a signature with the service's own key: nothing that is stored opens anything.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.runs.models import SharedRun
from backend.runs.queries import RunDetail, run_detail
from backend.signed_links import link_to, public_id_in

_SALT = "backend.runs.sharing"
SHARED_FOR = timedelta(days=30)
MAX_SHARED = 1_000


class SharingError(ValueError):
    """A run cannot be shared now; the text is a sentence for people."""


@transaction.atomic
def share_run(*, actor: User | None, detail: RunDetail) -> SharedRun:
    """Lets guests look at a run for 30 days from now on; a link that it has stays. Raises SharingError."""
    organisation, now = detail.site.organisation, timezone.now()
    hold(organisation)
    others = SharedRun.objects.filter(organisation=organisation, expires_at__gt=now).exclude(run_id=detail.run.run_id)
    if others.count() >= MAX_SHARED:
        raise SharingError(f"At most {MAX_SHARED:,} runs can be shared at a time. Stop sharing some first.")
    SharedRun.objects.filter(run_id=detail.run.run_id, expires_at__lte=now).delete()
    shared, _ = SharedRun.objects.update_or_create(
        run_id=detail.run.run_id,
        defaults={"expires_at": now + SHARED_FOR},
        create_defaults={"organisation": organisation, "created_by": actor, "expires_at": now + SHARED_FOR},
    )
    _record("share_run", shared, detail, actor)
    return shared


@transaction.atomic
def stop_sharing(*, actor: User | None, detail: RunDetail) -> None:
    """Its link leads nowhere from now on. One that is made later is another."""
    shared = SharedRun.objects.filter(run_id=detail.run.run_id).first()
    if shared is not None:
        _record("stop_sharing", shared, detail, actor)
        shared.delete()


def sharing_of(detail: RunDetail) -> SharedRun | None:
    """How guests may look at a run; None where they may not. One statement."""
    return SharedRun.objects.filter(run_id=detail.run.run_id, expires_at__gt=timezone.now()).first()


def link_of(shared: SharedRun) -> str:
    """What the address of a shared run holds."""
    return link_to(shared.public_id, salt=_SALT)


def address_of(shared: SharedRun) -> str:
    """The address that is sent to guests."""
    return f"{settings.BASE_URL}{reverse('web:shared', args=[link_of(shared)])}"


def shared_detail(link: str) -> RunDetail | None:
    """The run that a link shows; None for one that was never made, has expired or was taken back, and where the run is
    no longer kept. Six statements, none for what no key of ours has signed.
    """
    public_id = public_id_in(link, salt=_SALT)
    if public_id is None:
        return None
    found = SharedRun.objects.filter(public_id=public_id, expires_at__gt=timezone.now())
    shared = found.select_related("organisation").first()
    return None if shared is None else run_detail(shared.organisation, shared.run_id)


def forget_links(*, before: datetime, limit: int) -> int:
    """Deletes at most so many that expired before an instant; how many."""
    expired = SharedRun.objects.filter(expires_at__lt=before).values("pk")[:limit]
    deleted, _ = SharedRun.objects.filter(pk__in=expired).delete()
    return deleted


def _record(action: str, shared: SharedRun, detail: RunDetail, actor: User | None) -> None:
    organisation: Organisation = detail.site.organisation
    told = {"site": str(detail.site.public_id), "run": str(shared.run_id), "expires_at": shared.expires_at.isoformat()}
    record(action, shared, actor=actor, organisation=organisation, **told)
