"""allauth's views where the log must hear of them: an act and the word of it are one transaction."""

from collections.abc import Callable
from http import HTTPStatus
from textwrap import wrap
from typing import Any
from urllib.parse import quote

from allauth.account.views import LoginView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic.edit import FormView

from backend.accounts import sign_ins


@method_decorator(login_not_required, name="dispatch")
class SignInView(LoginView):  # type: ignore[misc]  # allauth has no types
    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """What one address sends beyond its limit is not even looked at, and counted all the same."""
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        email = request.POST.get("login", "")
        if response.status_code == HTTPStatus.TOO_MANY_REQUESTS and email.isprintable():
            sign_ins.note_refusal(email=email, why=sign_ins.OVER_THE_LIMIT)
        return response


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
    extra_context = {"section": "profile"}


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
