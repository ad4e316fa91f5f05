"""The second factor: after the password a code of an app (TOTP, RFC 6238), a recovery code, or a passkey (`passkeys`).

Where allauth asks us.
"""

import re

from allauth.account.authentication import get_authentication_records
from allauth.mfa import app_settings
from allauth.mfa.adapter import DefaultMFAAdapter, get_adapter
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from django import forms
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from backend.accounts import passkeys, sign_ins
from backend.accounts.models import User
from backend.encryption import DecryptionError, seal, unseal

# As the log says it.
RECOVERY_CODE = "a recovery code"
_PASSKEY = "a passkey"
_PROOFS = {
    Authenticator.Type.TOTP: "a code of an app",
    Authenticator.Type.RECOVERY_CODES: RECOVERY_CODE,
    Authenticator.Type.WEBAUTHN: _PASSKEY,
}
_WRONG = "This code is not right, or was used before. An app shows a new one each half minute."
_LOST_KEY = "No key of FIRSTBYTE_FERNET_KEYS opens your second factor. The operator can put the key back, or remove it."


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": _WRONG}

    def encrypt(self, text: str) -> str:
        return seal(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return unseal(encrypted_text.encode()).decode()

    def generate_authenticator_name(self, user: User, type: str) -> str:
        return passkeys.default_name(user)

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """By the base URL: the request's own Host is the visitor's word."""
        return {"id": passkeys.home() or "", "name": "Firstbyte"}


def proofs(request: HttpRequest, user: User) -> tuple[str, str]:
    """What somebody who is about to come in has shown in place of a password, and what besides; empty for nothing."""
    records = get_authentication_records(request, user)
    if any(record.get("passwordless") for record in records):
        return _PASSKEY, ""
    by_provider = any(record.get("method") == "socialaccount" for record in records)
    second = _PROOFS.get(records[-1].get("type"), "") if records else ""
    return "single sign-on" if by_provider else "", second


def _code_field(help_text: str, **attrs: object) -> forms.CharField:
    # `data-secret`: what is typed here is no draft that the browser should keep.
    attrs |= {"autocomplete": "one-time-code", "inputmode": "numeric", "data-secret": True}
    return forms.CharField(label="Code", max_length=20, help_text=help_text, widget=forms.TextInput(attrs=attrs))


class CodeForm(AuthenticateForm):  # type: ignore[misc]  # allauth has no types
    """The second step of a sign-in. Who is here knows the password: a wrong code is worth telling of."""

    code = _code_field("The six digits that your app shows now, or one of your recovery codes.", autofocus=True)

    def clean_code(self) -> str:
        try:
            code: str = super().clean_code()
            if self.authenticator.type == Authenticator.Type.TOTP and not _is_first_use(self.user, code):
                raise get_adapter().validation_error("incorrect_code")
        except DecryptionError:
            raise ValidationError(_LOST_KEY) from None
        except ValidationError as error:
            is_wrong = error.code == "incorrect_code"
            sign_ins.note_refusal(
                email=self.user.email, why=sign_ins.WRONG_CODE if is_wrong else sign_ins.OVER_THE_LIMIT
            )
            raise
        return code


class FirstCodeForm(ActivateTOTPForm):  # type: ignore[misc]  # allauth has no types
    """Shows that the app has the secret before anybody is asked for its codes."""

    code = _code_field("The six digits that the app shows for Firstbyte.")

    def clean_code(self) -> str:
        code: str = super().clean_code()
        _is_first_use(self.user, code)
        return code


def _is_first_use(user: User, code: str) -> bool:
    """Marks a right code as used. RFC 6238, 5.2: it must not be accepted again while it is still right."""
    lasts_s = app_settings.TOTP_PERIOD * (2 * app_settings.TOTP_TOLERANCE + 1)
    digits = re.sub(r"\D", "", code)
    return bool(cache.add(f"second-factor-used:{user.pk}:{digits}", True, timeout=lasts_s))
