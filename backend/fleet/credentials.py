"""The secrets of a region: a token for the service, a password for the broker. Only their digests are kept."""

import secrets
import string
from dataclasses import dataclass, field
from hashlib import sha256

_ALPHABET = string.ascii_letters + string.digits
# 43 letters of 62 are 256 bits: a plain digest is enough, a slow one would cost 180 ms on every batch of results.
_SECRET_CHARS = 43
TOKEN_KIND = "fb_agent_"
_SHOWN_CHARS = len(TOKEN_KIND) + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What the operator of a region needs, once. Secrets stay out of its repr."""

    region: str
    token: str = field(repr=False)
    broker_user: str
    broker_password: str = field(repr=False)


def new_credentials(region: str) -> Credentials:
    """Fresh secrets for a region. The broker's account is named for it."""
    return Credentials(
        region=region, token=TOKEN_KIND + _secret(), broker_user=f"region-{region}", broker_password=_secret()
    )


def digest(secret: str) -> str:
    """What is kept of a secret: SHA-256 in hex, which is also how the broker keeps its passwords."""
    return sha256(secret.encode()).hexdigest()


def shown_prefix(token: str) -> str:
    """As much of a token as tells it apart from others without helping to guess it."""
    return token[:_SHOWN_CHARS]


def _secret() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_CHARS))
