"""What must be there before the service starts; every command but those that need nothing runs these first."""

from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register


@register(Tags.security)
def secrets(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """The two secrets that cannot be made up at each start: with them sessions and stored secrets would be lost."""
    # Read from the configuration: Django's own attribute raises when it is empty.
    faults: list[CheckMessage] = []
    if not settings.CONFIG.secret_key.get_secret_value():
        hint = "Set it, or FIRSTBYTE_SECRET_KEY_FILE, to at least 50 random characters."
        faults.append(Error("FIRSTBYTE_SECRET_KEY is not set.", hint=hint, id="firstbyte.E001"))
    if not settings.FERNET_KEYS:
        hint = (
            "Make a key with: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"
        )
        faults.append(Error("FIRSTBYTE_FERNET_KEYS is not set.", hint=hint, id="firstbyte.E002"))
    elif not all(_is_key(key) for key in settings.FERNET_KEYS):
        hint = "Each key is 32 bytes in URL-safe base64; several are separated by commas, the newest first."
        faults.append(Error("FIRSTBYTE_FERNET_KEYS holds what is no key.", hint=hint, id="firstbyte.E003"))
    return faults


def _is_key(text: str) -> bool:
    try:
        Fernet(text)
    except ValueError:
        return False
    return True
