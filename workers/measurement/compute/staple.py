"""The OCSP answer that a server sends along with its certificate."""

from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from cryptography import x509
from cryptography.x509 import ocsp

from workers.measurement.evidence import StapleWord

# An answer on one certificate has some hundred bytes, with its signer's certificate some thousand.
_MAX_BYTES = 32_768
_WORDS = {
    ocsp.OCSPCertStatus.GOOD: StapleWord.GOOD,
    ocsp.OCSPCertStatus.REVOKED: StapleWord.REVOKED,
    ocsp.OCSPCertStatus.UNKNOWN: StapleWord.UNKNOWN,
}


class Staple(NamedTuple):
    """What it says of a certificate, and when that begins (thisUpdate) and ceases (nextUpdate) to hold.

    None where it does not say; all three where it is too long to be read.
    """

    word: StapleWord | None = None
    begins: datetime | None = None
    ends: datetime | None = None


@lru_cache(maxsize=256)
def read_staple(staple: bytes, leaf: bytes) -> Staple:
    """The authority's word on a leaf (both DER), whatever was sent as such. Signatures are not looked at."""
    if len(staple) > _MAX_BYTES:
        return Staple()
    try:
        answer = ocsp.load_der_ocsp_response(staple)
        if answer.response_status is not ocsp.OCSPResponseStatus.SUCCESSFUL:
            later = answer.response_status is ocsp.OCSPResponseStatus.TRY_LATER
            return Staple(StapleWord.NOTHING if later else StapleWord.INVALID)
        serial = _serial(leaf)
        mine = next((one for one in answer.responses if one.serial_number == serial), None)
        return Staple(StapleWord.NOTHING) if mine is None else _said(mine)
    except ValueError:
        return Staple(StapleWord.INVALID)


def _serial(leaf: bytes) -> int | None:
    """None of what is no certificate."""
    try:
        return x509.load_der_x509_certificate(leaf).serial_number
    except ValueError:
        return None


def _said(one: ocsp.OCSPSingleResponse) -> Staple:
    return Staple(_WORDS[one.certificate_status], one.this_update_utc, one.next_update_utc)
