"""allauth's views of passkeys: made and removed under *Your account*, shown at the door."""

from typing import Any

from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.core.internal import ratelimit
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth, flows
from allauth.mfa.webauthn.views import AddWebAuthnView, LoginWebAuthnView, RemoveWebAuthnView
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from backend.accounts import passkeys, sign_ins
from backend.accounts.queries import second_factor_of


@method_decorator(never_cache, name="dispatch")
class AddPasskeyView(AddWebAuthnView):  # type: ignore[misc]  # allauth has no types
    form_class = passkeys.NewPasskeyForm

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if passkeys.home() is None:
            raise Http404
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        options = auth.begin_registration(self.request.user, passwordless=True)
        return context | {"options": options, "home": passkeys.home(), "section": "profile"}

    @transaction.atomic
    def form_valid(self, form: Form) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        sign_ins.note_passkey_added(actor=self.request.user, name=form.cleaned_data["name"])
        return response


class RemovePasskeyView(RemoveWebAuthnView):  # type: ignore[misc]  # allauth has no types
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"second_factor": second_factor_of(self.object.user), "section": "profile"}

    @transaction.atomic
    def form_valid(self, form: Form) -> HttpResponse:
        passkey: Authenticator = self.object
        response: HttpResponse = super().form_valid(form)
        sign_ins.note_passkey_removed(actor=self.request.user, name=passkey.data["name"])
        return response


@method_decorator(login_not_required, name="dispatch")
@method_decorator(never_cache, name="dispatch")
class PasskeySignInView(LoginWebAuthnView):  # type: ignore[misc]  # allauth has no types
    """GET, asked for JSON, gives what a browser needs to ask for a passkey; POST takes what it answers."""

    form_class = passkeys.SignInForm

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Each question makes a session: allauth's own limit leaves GET alone."""
        refused = ratelimit.consume_or_429(request, app="allauth.mfa", action="webauthn_login", limit_get=True)
        answer: HttpResponse = refused or super().get(request, *args, **kwargs)
        return answer

    def form_valid(self, form: Form) -> HttpResponse:
        passkey: Authenticator = form.cleaned_data["credential"]
        login = Login(user=passkey.user, redirect_url=get_next_redirect_url(self.request))
        response: HttpResponse = flows.perform_passwordless_login(self.request, passkey, login)
        return response
