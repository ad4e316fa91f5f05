"""Where allauth asks us: nobody signs up alone, and a redirect stays in the house."""

from urllib.parse import quote

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Back to where the way there begins; not to the form, which would look as if nothing had happened."""
        return reverse("web:profile")

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Under the base URL: the request's own Host is the visitor's word, and the mail goes to somebody else."""
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
        return settings.BASE_URL + path.replace("UID-KEY", quote(key))
