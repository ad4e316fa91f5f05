"""Who did what, when and from where: for owners and admins."""

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from backend.accounts import audit_log
from backend.accounts.permissions import Permission
from backend.sites.queries import names_of
from backend.web.access import MemberRequest, needs
from backend.web.audit_page import KINDS, ids_in, lines_of
from backend.web.pagination import position_before, position_of

SHOWN = 50


@require_safe
@needs(Permission.READ_AUDIT)
def overview(request: MemberRequest) -> HttpResponse:
    """The newest acts, of one person or about one kind of thing where the address says so."""
    people = audit_log.people(request.organisation)
    who, kind = request.GET.get("who", ""), request.GET.get("kind", "")
    who = who if who in (*people, audit_log.SERVICE) else ""
    kind = kind if kind in KINDS else ""
    before = position_before(request)
    found = audit_log.acts(request.organisation, who=who, object_type=kind, before=before, limit=SHOWN + 1)
    shown = found[:SHOWN]
    home = request.organisation
    names = names_of(home, ids_in(shown)) | {str(home.public_id): home.name}
    context = {
        "section": "members",
        "lines": lines_of(shown, names),
        "people": people,
        "kinds": KINDS.items(),
        "who": who,
        "kind": kind,
        "service": audit_log.SERVICE,
        "filters": urlencode({name: value for name, value in (("who", who), ("kind", kind)) if value}),
        "older": position_of(shown[-1].at, shown[-1].pk) if len(found) > SHOWN else "",
        "is_newest": before is None,
        "kept_days": settings.AUDIT_RETENTION_DAYS,
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "members/audit.html", context)
