"""The OCSP answer that a server sends along with its certificate."""

from datetime import datetime
from functools import lru_cache

from cryptography.x509 import ocsp

# An answer on one certificate has some hundred bytes, with its signer's certificate some thousand.
_MAX_BYTES = 32_768


@lru_cache(maxsize=256)
def staple_end(staple: bytes) -> datetime | None:
    """When the authority's word ends (nextUpdate); None where it does not say, or it cannot be read."""
    if len(staple) > _MAX_BYTES:
        return None
    try:
        answer = ocsp.load_der_ocsp_response(staple)
        return answer.next_update_utc
    except ValueError:
        # Garbage, or an answer that says nothing of any certificate.
        return None
