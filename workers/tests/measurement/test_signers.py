"""Who of a chain has signed whom."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from workers.measurement.compute.chain import is_signed_by

_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Some CA")])


def key_of_exponent(least: int) -> rsa.RSAPrivateKey:
    """With the first exponent from there on that its primes allow."""
    known = rsa.generate_private_key(65_537, 2048).private_numbers()
    order = (known.p - 1) * (known.q - 1)
    exponent = next(one for one in range(least | 1, least + 1000, 2) if _is_usable(one, order))
    secret = pow(exponent, -1, order)
    public = rsa.RSAPublicNumbers(exponent, known.p * known.q)
    parts = rsa.rsa_crt_dmp1(secret, known.p), rsa.rsa_crt_dmq1(secret, known.q), known.iqmp
    return rsa.RSAPrivateNumbers(known.p, known.q, secret, *parts, public).private_key()


def _is_usable(exponent: int, order: int) -> bool:
    try:
        pow(exponent, -1, order)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("least_exponent", "vouches"), [(65_537, True), (2**32, True), (2**33, False), (2**2000, False)]
)
def test_a_key_that_no_browser_uses_vouches_for_nobody(least_exponent: int, vouches: bool) -> None:
    key, now = key_of_exponent(least_exponent), datetime.now(UTC)
    one = (
        x509.CertificateBuilder(_NAME, _NAME, key.public_key(), 1, now, now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    assert is_signed_by(one, one) is vouches
