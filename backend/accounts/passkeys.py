"""Passkeys (WebAuthn, Level 3): a device or a key that asks for a finger or a PIN and proves who is there.

One is enough to sign in, and it is a second factor after the password. Where allauth asks us.
"""

import ipaddress
import json
from typing import Any
from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import AddWebAuthnForm, AuthenticateWebAuthnForm
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from fido2.utils import websafe_decode

from backend.accounts import sign_ins
from backend.accounts.models import User
from backend.texts import is_one_line

MAX_PASSKEYS = 10
MAX_NAME_CHARS = 60
# A key, an identifier of at most 1,023 bytes (Level 3, 4) and some words: an attestation is not asked for.
_MAX_CREDENTIAL_CHARS = 20_000
_UNKNOWN = "This passkey is not known here, or came too late. Try once more."
_NOT_MADE = "The passkey could not be made: what the browser sent is not right, or came too late. Try once more."
_FULL = f"You have {MAX_PASSKEYS} passkeys, and no more are kept. Remove one first."
_NAME = "A name is one line of letters, digits and signs."


def home() -> str | None:
    """The name that passkeys are made for; None where no browser makes them: at a bare address, or without HTTPS.

    A domain, never an address (Level 3, 5.1.2: an effective domain), in a secure context.
    """
    parts = urlsplit(settings.BASE_URL)
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        is_local = host == "localhost" or host.endswith(".localhost")
        return host if parts.scheme == "https" or is_local else None
    return None


class CredentialField(forms.JSONField):
    """What a browser's authenticator says. Whoever is not signed in can send anything here."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> Any:
        """Raises ValidationError for what is no object of JSON, is too large, or was not said to this service."""
        if value in self.empty_values:
            return None
        try:
            credential = json.loads(value) if len(value) <= _MAX_CREDENTIAL_CHARS else {}
            said = json.loads(websafe_decode(credential["response"]["clientDataJSON"]))
            is_ours = said["origin"] == settings.BASE_URL
        # Of what is deeply nested, the parser has its fill.
        except (ValueError, TypeError, KeyError, IndexError, RecursionError):
            is_ours = False
        if not is_ours:
            raise ValidationError(_UNKNOWN, code="invalid")
        return credential


class NewPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]  # allauth has no types
    """A name, and what the browser made: always one that asks for a finger or a PIN, since it opens alone."""

    name = forms.CharField(
        max_length=MAX_NAME_CHARS, required=False, help_text="Such as the device, or where you keep it."
    )
    credential = CredentialField(error_messages={"required": _NOT_MADE})
    passwordless = forms.BooleanField(initial=True, widget=forms.HiddenInput)

    def clean_name(self) -> str:
        name: str = super().clean_name()
        if not is_one_line(name):
            raise ValidationError(_NAME)
        return name

    def clean(self) -> dict[str, Any]:
        if Authenticator.objects.filter(user=self.user, type=Authenticator.Type.WEBAUTHN).count() >= MAX_PASSKEYS:
            raise ValidationError(_FULL)
        try:
            cleaned: dict[str, Any] = super().clean()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise ValidationError(_NOT_MADE) from None
        except ValidationError as error:
            raise ValidationError(_NOT_MADE) from error
        return cleaned


class _ShownForm(AuthenticateWebAuthnForm):  # type: ignore[misc]  # allauth has no types
    credential = CredentialField(error_messages={"required": _UNKNOWN})

    def clean_credential(self) -> Authenticator:
        try:
            shown: Authenticator = super().clean_credential()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise ValidationError(_UNKNOWN) from None
        except ValidationError as error:
            if error.code == "incorrect_code":
                raise ValidationError(_UNKNOWN, code="incorrect_code") from None
            raise
        return shown


class SecondStepForm(_ShownForm):
    """Instead of a code, by who has shown the password: a wrong passkey is worth telling of."""

    def clean_credential(self) -> Authenticator:
        try:
            return super().clean_credential()
        except ValidationError as error:
            is_over = error.code == "too_many_login_attempts"
            sign_ins.note_refusal(
                email=self.user.email, why=sign_ins.OVER_THE_LIMIT if is_over else sign_ins.WRONG_PASSKEY
            )
            raise


class SignInForm(_ShownForm):
    """Instead of address and password, by anybody."""

    passwordless = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, user=None, **kwargs)


def default_name(user: User) -> str:
    """What a passkey is called unless its owner says otherwise."""
    return f"Passkey {Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN).count() + 1}"
