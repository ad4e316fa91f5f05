"""Values that are encrypted at rest. Keys rotate: the first encrypts, all decrypt."""

import json
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models

if TYPE_CHECKING:
    _TextField = models.TextField[Any, Any]
else:
    _TextField = models.TextField  # Fields take type parameters in the stubs only.


class DecryptionError(RuntimeError):
    """No key of FIRSTBYTE_FERNET_KEYS opens this value: a key was removed while values encrypted with it remained."""


class Unreadable:
    """Stands for a stored value that no key opens: its row can be read and saved, and the value stays as it is.

    Whoever uses the value itself gets a DecryptionError, so that one lost secret fails nothing but what needs it.
    """

    __slots__ = ("_name", "token")

    def __init__(self, name: str, token: str) -> None:
        self._name = name
        self.token = token

    def _refuse(self, *_: object) -> Any:
        raise DecryptionError(f"{self._name}: none of FIRSTBYTE_FERNET_KEYS opens the stored value.")

    # All that lists and dictionaries are asked here.
    __iter__ = __len__ = __bool__ = __getitem__ = __contains__ = _refuse
    get = items = keys = values = _refuse

    def __repr__(self) -> str:
        return f"<{self._name}: unreadable>"


def opened(value: Any) -> Any:
    """A value of an encrypted field. Raises DecryptionError for one that no key opens."""
    return value._refuse() if isinstance(value, Unreadable) else value


class EncryptedJSONField(_TextField):
    """A JSON value stored as a Fernet token. An empty value is stored as an empty text: it holds no secret."""

    def get_prep_value(self, value: Any) -> str:
        if isinstance(value, Unreadable):
            return value.token
        if not value:
            return ""
        return _fernet().encrypt(json.dumps(value, separators=(",", ":")).encode()).decode()

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Any:
        if not value:
            return self.get_default()
        try:
            return json.loads(_fernet().decrypt(value.encode()))
        except InvalidToken:
            return Unreadable(self.name, value)


def seal(data: bytes) -> bytes:
    """Bytes that nobody reads without a key."""
    return _fernet().encrypt(data)


def unseal(sealed: bytes) -> bytes:
    """What was sealed. Raises DecryptionError."""
    try:
        return _fernet().decrypt(sealed)
    except InvalidToken:
        raise DecryptionError("none of FIRSTBYTE_FERNET_KEYS opens the stored bytes.") from None


def renewed(sealed: bytes) -> bytes:
    """The same, sealed with the first key; as it is where it was already. Raises DecryptionError."""
    keys = _fernet()
    try:
        Fernet(settings.FERNET_KEYS[0]).decrypt(sealed)
    except InvalidToken:
        try:
            return keys.rotate(sealed)
        except InvalidToken:
            raise DecryptionError("none of FIRSTBYTE_FERNET_KEYS opens the stored bytes.") from None
    return sealed


def _fernet() -> MultiFernet:
    if not settings.FERNET_KEYS:
        raise ImproperlyConfigured("FIRSTBYTE_FERNET_KEYS is not set: secrets cannot be stored or read without it.")
    return MultiFernet([Fernet(key) for key in settings.FERNET_KEYS])
