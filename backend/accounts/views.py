"""allauth's views where the log must hear of them: an act and the word of it are one transaction."""

from collections.abc import Callable
from http import HTTPStatus
from textwrap import wrap
from typing import Any
from urllib.parse import quote

from allauth.account.decorators import reauthentication_required
from allauth.account.views import LoginView
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django.views.generic.edit import FormView
from requests import RequestException

from backend.accounts import passkeys, sign_ins
from backend.accounts.models import User
from backend.accounts.queries import second_factor_of
from backend.accounts.single_sign_on import offer


@method_decorator(login_not_required, name="dispatch")
class SignInView(LoginView):  # type: ignore[misc]  # allauth has no types
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        then = context.get("redirect_field_value") or ""
        return context | {"single_sign_on": offer(then=then), "passkeys": passkeys.home()}

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """What one address sends beyond its limit is not even looked at, and counted all the same."""
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        email = request.POST.get("login", "")
        if response.status_code == HTTPStatus.TOO_MANY_REQUESTS and email.isprintable():
            sign_ins.note_refusal(email=email, why=sign_ins.OVER_THE_LIMIT)
        return response


class SecondStepView(AuthenticateView):  # type: ignore[misc]  # allauth has no types
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        factor = second_factor_of(self.stage.login.user)
        if factor is not None and factor.app_since is None:
            context["form"].fields["code"].help_text = "One of your recovery codes."
        return context | {"second_factor": factor, "home": passkeys.home()}


class _NotedView(FormView):  # type: ignore[type-arg]  # at run time it takes no parameter
    """A form whose act the log hears of by `note`."""

    note: Callable[..., None]

    @transaction.atomic
    def form_valid(self, form: Form) -> HttpResponse:
        response = super().form_valid(form)
        self.note(actor=self.request.user)
        return response


@method_decorator(never_cache, name="dispatch")
class SecondFactorOnView(_NotedView, ActivateTOTPView):  # type: ignore[misc]  # allauth has no types
    note = staticmethod(sign_ins.note_second_factor_on)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"secret": " ".join(wrap(context["form"].secret, 4)), "section": "profile"}


class SecondFactorOffView(_NotedView, DeactivateTOTPView):  # type: ignore[misc]  # allauth has no types
    note = staticmethod(sign_ins.note_second_factor_off)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"second_factor": second_factor_of(self.authenticator.user), "section": "profile"}


class NewRecoveryCodesView(_NotedView, GenerateRecoveryCodesView):  # type: ignore[misc]  # allauth has no types
    note = staticmethod(sign_ins.note_new_recovery_codes)
    extra_context = {"section": "profile"}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Without the old codes: who has lost the key to them needs new ones most."""
        context: dict[str, Any] = FormView.get_context_data(self, **kwargs)
        return context


@method_decorator(never_cache, name="dispatch")
class RecoveryCodesView(ViewRecoveryCodesView):  # type: ignore[misc]  # allauth has no types
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        codes = "\n".join(context["unused_codes"])
        # The browser makes the file of what it has: the codes are sent once.
        file = "data:text/plain;charset=utf-8," + quote(f"Recovery codes of {self.request.user}\n\n{codes}\n")
        return context | {"codes": codes, "file": file, "section": "profile"}


@login_not_required
def begin_single_sign_on(request: HttpRequest, provider_id: str) -> HttpResponse:
    """On to the provider, which may not be there to say where to."""
    try:
        answer: HttpResponse = openid_connect.login(request, provider_id=provider_id)
    except (RequestException, KeyError, ValueError) as error:
        answer = render_authentication_error(request, None, exception=error)
    return answer


@require_GET
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no types
def connect_single_sign_on(request: HttpRequest) -> HttpResponse:
    """On to the provider, for who has just shown again that they are who is signed in."""
    offered = offer(connect=True)
    return redirect("web:profile" if offered is None else offered.address)


@require_POST
def disconnect_single_sign_on(request: HttpRequest) -> HttpResponse:
    """Unless it is the only way in."""
    if isinstance(request.user, User) and request.user.has_usable_password():
        sign_ins.disconnect(actor=request.user)
        messages.success(request, "From now on your password is the only way in.")
    else:
        messages.error(request, "You have no password yet: it would be the only way in. Set one by mail first.")
    return redirect("web:profile")
