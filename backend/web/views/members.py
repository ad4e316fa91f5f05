"""Who belongs to the organisation, and as what."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts import actions
from backend.accounts.models import Membership
from backend.accounts.permissions import Permission, Role, check
from backend.accounts.queries import members
from backend.web.access import MemberRequest, may, needs
from backend.web.confirm import Question, ask
from backend.web.forms.account import MemberForm, RoleForm

_ARTICLES = {Role.OWNER: "an owner", Role.ADMIN: "an admin", Role.MEMBER: "a member", Role.VIEWER: "a viewer"}


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
        text = f"{invited.membership.user.email} is {_ARTICLES[role]} now, and signs in with the password they have."
        messages.success(request, text)
        return redirect("web:members")
    context = {
        "invited": invited,
        "role": _ARTICLES[role],
        "sign_in_url": settings.BASE_URL + reverse("account_login"),
        "section": "members",
    }
    return render(request, "members/added.html", context)


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
        messages.success(request, f"{membership.user.email} is {_ARTICLES[role]} now.")
    except actions.LastOwnerError as error:
        messages.error(request, str(error))
    return redirect("web:members")


@require_http_methods(["GET", "POST"])
@needs(Permission.MANAGE_MEMBERS)
def remove(request: MemberRequest, membership_id: int) -> HttpResponse:
    """Asks first; then the person sees nothing of the organisation any more."""
    membership = _membership(request, membership_id)
    _check_owner(request, Role(membership.role))
    if request.method == "GET":
        question = Question(
            title=f"Remove {membership.user.email}?",
            text=f"They see nothing of {request.organisation.name} from then on. What they did stays, tokens that they "
            "made go on working, and they can be added again.",
            verb="Remove them",
            back=reverse("web:members"),
            section="members",
        )
        return ask(request, question)
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


def _may_make_owners(request: MemberRequest) -> bool:
    return may(request.membership, Permission.MANAGE_ORGANISATION)


def _page(request: MemberRequest, form: MemberForm, status: int = 200) -> HttpResponse:
    roles = [choice for choice in Role.choices if choice[0] != Role.OWNER or _may_make_owners(request)]
    form.offer(roles)
    context = {"members": members(request.organisation), "roles": roles, "form": form, "section": "members"}
    return render(request, "members/list.html", context, status=status)
