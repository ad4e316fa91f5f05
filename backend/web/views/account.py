"""A person's own settings, and the organisation they work in now."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from backend.accounts import passkeys
from backend.accounts.actions import ProfileError, change_profile, choose_theme
from backend.accounts.models import Theme, User
from backend.accounts.permissions import Permission
from backend.accounts.queries import SESSION_KEY, organisations_of, second_factor_of
from backend.accounts.single_sign_on import is_connected, offer
from backend.web.access import MemberRequest, needs
from backend.web.context import THEME_COOKIE
from backend.web.forms.account import ProfileForm
from backend.web.within import page_asked_for

YEAR_S = 365 * 24 * 3600


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or as the system says: kept in the account, and in a cookie for the sign-in page."""
    chosen = request.POST.get("theme", "")
    response = redirect(page_asked_for(request))
    if chosen in Theme.values:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=YEAR_S, samesite="Lax", httponly=True, secure=settings.SESSION_COOKIE_SECURE
        )
        if isinstance(request.user, User):
            choose_theme(actor=request.user, theme=Theme(chosen))
    return response


@require_http_methods(["GET", "POST"])
@needs(Permission.READ)
def profile(request: MemberRequest) -> HttpResponse:
    """Name and time zone, the second factor, and the way to a new password."""
    initial = {"name": request.user.name, "time_zone": request.user.time_zone}
    form = ProfileForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            change_profile(actor=request.user, **form.cleaned_data)
        except ProfileError as error:
            form.add_error(error.field, str(error))
        else:
            messages.success(request, "Saved.")
            return redirect("web:profile")
    context = {
        "form": form,
        "organisations": organisations_of(request.user),
        "second_factor": second_factor_of(request.user),
        "passkeys_at": passkeys.home(),
        "base_url": settings.BASE_URL,
        "single_sign_on": offer(),
        "is_connected": is_connected(request.user),
        "section": "profile",
    }
    return render(request, "account/profile.html", context)


@require_POST
@needs(Permission.READ)
def switch(request: MemberRequest, organisation_id: UUID) -> HttpResponse:
    """Works in another organisation from now on; for one that the person does not belong to nothing changes."""
    if any(one.public_id == organisation_id for one in organisations_of(request.user)):
        request.session[SESSION_KEY] = str(organisation_id)
    return redirect(page_asked_for(request, reverse("web:sites")))
