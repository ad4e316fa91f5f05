"""Who is at the door: every page but the sign-in belongs to one organisation, and asks for one permission there."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec, cast
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from backend.accounts.models import Membership, Organisation, User
from backend.accounts.permissions import Permission, allows, check
from backend.accounts.queries import membership_at, organisations_of
from backend.sites import queries as sites
from backend.sites.models import Site
from backend.web.within import page_of_form

P = ParamSpec("P")


# The field in which a form names the organisation that it was made in.
OF_ORGANISATION = "of_organisation"


class MemberRequest(HttpRequest):
    """What a view sees: a request of somebody who is signed in, inside one of their organisations."""

    user: User
    membership: Membership
    organisation: Organisation


View = Callable[Concatenate[MemberRequest, P], HttpResponseBase]
GuardedView = Callable[..., HttpResponseBase]


def needs(permission: Permission) -> Callable[[View[P]], GuardedView]:
    """Lets a view see only members of the current organisation whose role includes the permission; others get 403."""

    def decorate(view: View[P]) -> GuardedView:
        @wraps(view)
        def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            member = cast(MemberRequest, request)
            membership = membership_at(request)
            if membership is None:
                return _homeless(request)
            if request.method == "POST" and _is_of_another(request, membership.organisation):
                return _elsewhere(request, membership)
            check(membership.role, permission)
            member.membership, member.organisation = membership, membership.organisation
            return view(member, *args, **kwargs)

        return guarded

    return decorate


def owned_site(request: MemberRequest, site_id: UUID) -> Site:
    """The site of that id, where it is the organisation's; else the page is not found."""
    site = sites.site(request.organisation, site_id)
    if site is None:
        raise Http404
    return site


def current_membership(request: HttpRequest) -> Membership | None:
    """What the visitor acts as, also on pages that `needs` does not guard: of the account, of errors."""
    if hasattr(request, "membership"):
        return cast(MemberRequest, request).membership
    return membership_at(request) if hasattr(request, "user") else None


def may(membership: Membership | None, permission: Permission) -> bool:
    """Whether to show a button. False for who is not inside an organisation."""
    return membership is not None and allows(membership.role, permission)


def _is_of_another(request: HttpRequest, organisation: Organisation) -> bool:
    """Whether a form was made in another organisation than its sender is in now: with two tabs nobody notices."""
    return request.POST.get(OF_ORGANISATION) not in (None, str(organisation.public_id))


def _elsewhere(request: HttpRequest, membership: Membership) -> HttpResponse:
    asked = request.POST[OF_ORGANISATION]
    mine = organisations_of(membership.user)
    context = {
        "made_in": next((one for one in mine if str(one.public_id) == asked), None),
        "page": page_of_form(request),
    }
    return render(request, "errors/other_organisation.html", context, status=HTTPStatus.CONFLICT)


def _homeless(request: HttpRequest) -> HttpResponse:
    return render(request, "errors/no_organisation.html", status=403)
