"""The secret of an API token: a word that scanners know, 256 random bits, and a checksum that finds typing errors.

Only the digest is kept. A slow hash would protect a short password; here it would cost 180 ms a request for nothing.
"""

import secrets
import string
from hashlib import sha256
from zlib import crc32

_ALPHABET = string.digits + string.ascii_letters
KIND = "fb_api_"
# 62 ** 43 is more than 2 ** 256; 62 ** 6 more than the 2 ** 32 of a CRC-32.
_SECRET_CHARS, _CHECK_CHARS = 43, 6
_SHOWN_CHARS = len(KIND) + 5


def new_secret() -> str:
    """A token that nobody has had before."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_CHARS))
    return KIND + body + _check(body)


def is_token(text: str) -> bool:
    """Whether the text can be a token at all: asked before the database is."""
    body = text.removeprefix(KIND)
    whole = text.startswith(KIND) and len(body) == _SECRET_CHARS + _CHECK_CHARS and body.isascii() and body.isalnum()
    return whole and body[_SECRET_CHARS:] == _check(body[:_SECRET_CHARS])


def digest(secret: str) -> str:
    """What is kept: SHA-256 in hex."""
    return sha256(secret.encode()).hexdigest()


def shown_prefix(secret: str) -> str:
    """As much as tells a token apart from others."""
    return secret[:_SHOWN_CHARS]


def _check(body: str) -> str:
    rest, letters = crc32(body.encode()), ""
    for _ in range(_CHECK_CHARS):
        rest, place = divmod(rest, len(_ALPHABET))
        letters += _ALPHABET[place]
    return letters
