"""Who belongs to the organisation, and as what."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from backend.accounts import actions
from backend.accounts.models import Membership
from backend.accounts.permissions import Permission, Role, check
from backend.accounts.queries import members
from backend.web.access import MemberRequest, needs
from backend.web.forms.account import MemberForm, RoleForm


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    return _page(request, MemberForm())


@never_cache
@require_POST
@needs(Permission.MANAGE_MEMBERS)
def add(request: MemberRequest) -> HttpResponse:
    """Makes somebody a member. The password of a new account is in this answer and nowhere else."""
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    role = Role(form.cleaned_data["role"])
    _check_owner(request, role)
    try:
        invited = actions.add_member(
            actor=request.user, organisation=request.organisation, email=form.cleaned_data["email"], role=role
        )
    except actions.MemberError as error:
        form.add_error("email", str(error))
        return _page(request, form, status=400)
    if invited.password is None:
        messages.success(request, f"{invited.membership.user.email} is a member now, with the password they have.")
        return redirect("web:members")
    return render(request, "members/added.html", {"invited": invited, "section": "members"})


@require_POST
@needs(Permission.MANAGE_MEMBERS)
def change_role(request: MemberRequest, membership_id: int) -> HttpResponse:
    membership = _membership(request, membership_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise Http404
    role = Role(form.cleaned_data["role"])
    _check_owner(request, role, Role(membership.role))
    try:
        actions.change_role(actor=request.user, membership=membership, role=role)
        messages.success(request, f"{membership.user.email} is {role.label} now.")
    except actions.LastOwnerError as error:
        messages.error(request, str(error))
    return redirect("web:members")


@require_POST
@needs(Permission.MANAGE_MEMBERS)
def remove(request: MemberRequest, membership_id: int) -> HttpResponse:
    membership = _membership(request, membership_id)
    _check_owner(request, Role(membership.role))
    try:
        actions.remove_member(actor=request.user, membership=membership)
        messages.success(request, f"{membership.user.email} is no longer a member.")
    except actions.LastOwnerError as error:
        messages.error(request, str(error))
    return redirect("web:members")


def _membership(request: MemberRequest, membership_id: int) -> Membership:
    found = request.organisation.memberships.select_related("user", "organisation").filter(pk=membership_id).first()
    if found is None:
        raise Http404
    return found


def _check_owner(request: MemberRequest, *roles: Role) -> None:
    """Only an owner makes or unmakes owners: else an admin could take the organisation."""
    if Role.OWNER in roles:
        check(request.membership.role, Permission.MANAGE_ORGANISATION)


def _page(request: MemberRequest, form: MemberForm, status: int = 200) -> HttpResponse:
    context = {"members": members(request.organisation), "roles": Role.choices, "form": form, "section": "members"}
    return render(request, "members/list.html", context, status=status)
