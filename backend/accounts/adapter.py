"""Where allauth asks us: nobody signs up alone, a redirect stays in the house, and the log knows who came and went."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from urllib.parse import quote

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.conf import settings
from django.contrib import messages
from django.contrib.sites.shortcuts import get_current_site
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from backend.accounts import sign_ins
from backend.accounts.models import User
from backend.accounts.queries import second_factor_of
from backend.accounts.second_factor import RECOVERY_CODE, proofs

log = logging.getLogger(__name__)

_MAILS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="account-mail")


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_safe_url(self, url: str) -> bool:
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            # What is no address at all, such as `http://[`, leads nowhere.
            return False

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Back to where the way there begins; not to the form, which would look as if nothing had happened."""
        return reverse("web:profile")

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Under the base URL: the request's own Host is the visitor's word, and the mail goes to somebody else."""
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
        return settings.BASE_URL + path.replace("UID-KEY", quote(key))

    def send_mail(self, template_prefix: str, email: str, values: dict[str, Any]) -> None:
        """Beside the answer: a mail server that is slow or away would tell whether an address has an account."""
        asked = {"request": context.request, "email": email, "current_site": get_current_site(context.request)}
        _MAILS.submit(_send, self.render_mail(template_prefix, email, asked | values))

    @transaction.atomic
    def login(self, request: HttpRequest, user: User) -> None:
        # Asked first: a session of somebody else forgets what was shown in it.
        first, second = proofs(request, user)
        super().login(request, user)
        sign_ins.note_sign_in(actor=user, first_proof=first, second_proof=second)
        factor = second_factor_of(user)
        if factor is not None and second == RECOVERY_CODE:
            messages.warning(request, f"That recovery code is used up; {factor.codes_left} left, under Your account.")

    @transaction.atomic
    def logout(self, request: HttpRequest) -> None:
        if isinstance(request.user, User):
            sign_ins.note_sign_out(actor=request.user)
        super().logout(request)

    def pre_authenticate(self, request: HttpRequest, **credentials: str) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            sign_ins.note_refusal(email=credentials.get("email", ""), why=sign_ins.OVER_THE_LIMIT)
            raise

    def authentication_failed(self, request: HttpRequest, **credentials: str) -> None:
        sign_ins.note_refusal(email=credentials.get("email", ""))

    def get_reauthentication_methods(self, user: User) -> list[dict[str, str]]:
        """The password alone: a phone that somebody found unlocked shows codes."""
        return [{"id": "reauthenticate", "description": "", "url": reverse("account_reauthenticate")}]

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Not of who has no password: they come by the provider, and could set one without being asked."""
        return isinstance(user := context.request.user, User) and user.has_usable_password()

    def reauthenticate(self, user: User, password: str) -> bool:
        """By the address of the account: allauth looks for one in a table that is empty here."""
        return bool(self.authenticate(context.request, email=user.email, password=password) == user)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """The password was right, and the account is closed."""
        sign_ins.note_refusal(email=user.email)
        return cast(HttpResponse, super().respond_user_inactive(request, user))

    def set_password(self, user: User, password: str) -> None:
        """Who is not signed in has come by the link of a mail."""
        sign_ins.change_password(actor=user, password=password, by_mail=context.request.user != user)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:
        log.exception("a mail about an account could not be sent")
