"""What changes maintenance windows."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.alerts.models import Maintenance
from backend.alerts.models.rules import MAX_REASON_CHARS, MAX_WINDOWS
from backend.as_it_is import as_it_is
from backend.faults import FieldFaultError
from backend.sites.models import Site
from backend.texts import is_one_line

MAX_LENGTH = timedelta(days=31)
MAX_AHEAD = timedelta(days=366)


class MaintenanceError(FieldFaultError):
    """No such window; the text is a sentence for people, `field` what it is about."""


@transaction.atomic
def plan_maintenance(
    *,
    actor: User | None,
    organisation: Organisation,
    site: Site | None,
    starts_at: datetime,
    ends_at: datetime,
    reason: str = "",
) -> Maintenance:
    """A time in which nothing is told of a site, or of all without one. Raises MaintenanceError."""
    if site is not None and site.organisation_id != organisation.pk:
        raise MaintenanceError("site", "There is no such site.")
    _check(starts_at, ends_at, reason)
    hold(organisation)
    if Maintenance.objects.filter(organisation=organisation, ends_at__gt=timezone.now()).count() >= MAX_WINDOWS:
        raise MaintenanceError("starts_at", f"There are {MAX_WINDOWS} windows ahead; end one first.")
    window = Maintenance.objects.create(
        organisation=organisation,
        site=site,
        starts_at=starts_at,
        ends_at=ends_at,
        reason=reason.strip(),
        created_by=actor,
    )
    detail = {"starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat(), "reason": window.reason}
    record("plan_maintenance", window, actor=actor, organisation=organisation, name=_place(window), **detail)
    return window


@transaction.atomic
def change_maintenance(*, actor: User | None, window: Maintenance, ends_at: datetime, reason: str) -> Maintenance:
    """Another end and another reason of a window that is not over. Raises MaintenanceError."""
    window = as_it_is(window, "organisation", "site")
    _check(window.starts_at, ends_at, reason)
    before = {"ends_at": window.ends_at.isoformat(), "reason": window.reason}
    window.ends_at, window.reason = ends_at, reason.strip()
    window.save(update_fields=["ends_at", "reason"])
    after = {"ends_at": ends_at.isoformat(), "reason": window.reason}
    detail = {"name": _place(window), "before": before, "after": after}
    record("change_maintenance", window, actor=actor, organisation=window.organisation, **detail)
    return window


@transaction.atomic
def end_maintenance(*, actor: User | None, window: Maintenance) -> None:
    """Ends a window now; one that has not begun is deleted. What still holds is told within seconds."""
    now = timezone.now()
    window = as_it_is(window, "organisation")
    record("end_maintenance", window, actor=actor, organisation=window.organisation, name=_place(window))
    if window.starts_at >= now:
        window.delete()
    elif window.ends_at > now:
        window.ends_at = now
        window.save(update_fields=["ends_at"])


def _place(window: Maintenance) -> str:
    return window.site.name if window.site is not None else "all sites"


def _check(starts_at: datetime, ends_at: datetime, reason: str) -> None:
    now = timezone.now()
    if ends_at <= starts_at:
        raise MaintenanceError("ends_at", "It must end after it has begun.")
    if ends_at <= now:
        raise MaintenanceError("ends_at", "It would be over already.")
    if ends_at - starts_at > MAX_LENGTH:
        raise MaintenanceError("ends_at", f"It may last at most {MAX_LENGTH.days} days.")
    if starts_at > now + MAX_AHEAD:
        raise MaintenanceError("starts_at", "It may begin at most a year from now.")
    if len(reason.strip()) > MAX_REASON_CHARS or not is_one_line(reason):
        raise MaintenanceError("reason", f"The reason is one line of at most {MAX_REASON_CHARS} characters.")
