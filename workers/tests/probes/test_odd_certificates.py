"""Certificates that OpenSSL reads and our library does not: the server is measured, and told what is wrong."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import crypto

from workers.measurement.compute.certificate import certificate_of
from workers.measurement.compute.chain import chain_certificates, missing_issuer_urls
from workers.probes.issuers import read_certificates
from workers.probes.openssl import Contexts
from workers.tests.netlab.certificates import LeafWish, make_authority, make_leaf
from workers.tests.servers import Authority

ISSUER = make_authority("Odd")
LEAF = make_leaf(LeafWish(names=("a.test",)), ISSUER).certificate.public_bytes(Encoding.DER)
# X.509 has three versions, counted from 0; the name of the issuer is a text, and here a string of bits.
VERSION, NAME = bytes.fromhex("a003020102"), b"\x0c\x03Odd"
ODD = {
    "a version that there is not": LEAF.replace(VERSION, bytes.fromhex("a003020103")),
    "a name of bits": LEAF.replace(NAME, b"\x03\x03\x00dd"),
}


def test_what_openssl_cannot_read_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_kind: int, _der: bytes) -> None:
        raise crypto.Error([("asn1 encoding routines", "", "bad object header")])

    contexts = Contexts(Authority.make(tmp_path).ca_file)
    monkeypatch.setattr(crypto, "load_certificate", refuse)
    assert not contexts.trusts_another_way((LEAF,))


@pytest.mark.parametrize("which", ODD)
def test_what_cannot_be_read_is_told_as_such(tmp_path: Path, which: str) -> None:
    der = ODD[which]
    assert der != LEAF
    assert certificate_of((der,)) is None
    assert chain_certificates((der,)) == (None,)
    assert missing_issuer_urls((der,)) == ()
    contexts = Contexts(Authority.make(tmp_path).ca_file)
    assert contexts.faults((der,), "a.test")
    assert not contexts.trusts_another_way((der,))
    read_certificates(der)
