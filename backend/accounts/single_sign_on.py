"""Signing in by the organisation's own provider of OpenID Connect. Where allauth asks us.

Nobody gets an account by it. Who comes the first time is the member whose address the provider has verified, or who was
signed in here and connected the two; from then on it is the provider's word for who it is that counts, not the address.
"""

import logging
import ssl
from dataclasses import dataclass
from typing import Any, cast

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.base import AuthError, AuthProcess
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from requests import Session
from requests.adapters import HTTPAdapter

from backend.accounts import sign_ins
from backend.accounts.models import User
from backend.config import PROVIDER_ID

log = logging.getLogger(__name__)

_BROKEN = "The sign-in with {} did not come to its end. Try once more; if it fails again, the operator's log says why."
_UNVERIFIED = "{} does not say that it has verified your address. Sign in with your password, and connect it here."
_NOBODY = "There is no account with the address that {} knows you by. An owner or admin of your organisation adds you."
_KNOWN = "Whoever made your account knew its password: it holds no longer, nor does a passkey that was made by then."
_TAKEN = "At {} you are somebody who has another account here; disconnect it there first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What the sign-in page offers: the provider's name for people, and where it begins."""

    name: str
    address: str


def offer(*, then: str = "", connect: bool = False) -> Offer | None:
    """None where the operator has set no provider. `then` is the page to come back to."""
    if not settings.OIDC_NAME:
        return None
    wanted = {"next": then} if then else {}
    wanted |= {"process": AuthProcess.CONNECT} if connect else {}
    address = reverse("openid_connect_login", kwargs={"provider_id": PROVIDER_ID})
    return Offer(name=settings.OIDC_NAME, address=f"{address}?{urlencode(wanted)}" if wanted else address)


def is_connected(user: User) -> bool:
    """Whether a person can come by the provider."""
    return bool(SocialAccount.objects.filter(user=user).exists())


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Whose account it is, before anybody is let in. Raises ImmediateHttpResponse where that is not known."""
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            _connect(request, sociallogin)
        if not sociallogin.is_existing:
            _find_owner(request, sociallogin)

    def on_authentication_error(self, request: HttpRequest, provider: Any, **told: Any) -> None:
        """Says so on the page where it began."""
        if told.get("error") != AuthError.CANCELLED:
            log.warning("a sign-in by %s failed: %r", settings.OIDC_NAME, told.get("exception"))
            messages.error(request, _BROKEN.format(settings.OIDC_NAME))
        raise ImmediateHttpResponse(redirect("web:profile" if request.user.is_authenticated else "account_login"))

    def get_requests_session(self) -> Session:
        """Trusts whom the service trusts."""
        session = cast(Session, super().get_requests_session())
        session.mount("https://", _Trusting())
        return session


class _Trusting(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        context = ssl.create_default_context()
        if settings.CA_FILE is not None:
            context.load_verify_locations(settings.CA_FILE)
        super().init_poolmanager(*args, ssl_context=context, **kwargs)


def _find_owner(request: HttpRequest, sociallogin: SocialLogin) -> None:
    verified = [address.email.lower() for address in sociallogin.email_addresses if address.verified is True]
    user = User.objects.filter(email__in=verified).first()
    if user is None:
        sentence = _NOBODY if verified else _UNVERIFIED
        messages.error(request, sentence.format(settings.OIDC_NAME))
        raise ImmediateHttpResponse(redirect("account_login"))
    proved = sign_ins.prove_by_provider(user=user)
    if proved.password != user.password:
        messages.warning(request, _KNOWN)
    _join(request, sociallogin, proved)


def _connect(request: HttpRequest, sociallogin: SocialLogin) -> None:
    """For who is signed in, and has just shown that it is not only their browser."""
    if not isinstance(request.user, User):
        raise ImmediateHttpResponse(redirect("account_login"))
    if is_reauthentication_required(request, app="backend.accounts"):
        raise ImmediateHttpResponse(redirect("account_connect"))
    if sociallogin.is_existing and sociallogin.user != request.user:
        messages.error(request, _TAKEN.format(settings.OIDC_NAME))
    elif not sociallogin.is_existing:
        _join(request, sociallogin, request.user)
        messages.success(request, f"You can sign in with {settings.OIDC_NAME} from now on.")
    raise ImmediateHttpResponse(redirect("web:profile"))


@transaction.atomic
def _join(request: HttpRequest, sociallogin: SocialLogin, user: User) -> None:
    sociallogin.connect(request, user)
    sign_ins.note_connected(actor=user)
