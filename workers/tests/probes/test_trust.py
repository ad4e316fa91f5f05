"""Chains that came over no connection of OpenSSL's are judged as those that did."""

from datetime import timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from workers.probes.openssl import Contexts
from workers.tests.servers import Authority


def ders(leaf: trustme.LeafCert) -> tuple[bytes, ...]:
    return tuple(
        x509.load_pem_x509_certificate(part.bytes()).public_bytes(Encoding.DER) for part in leaf.cert_chain_pems
    )


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.make(tmp_path)


@pytest.mark.parametrize(
    ("name", "host", "code"),
    [
        ("a.test", "a.test", None),
        ("a.test", "A.test", None),
        ("*.b.test", "www.b.test", None),
        ("*.b.test", "b.test", 62),
        ("*.b.test", "x.www.b.test", 62),
        ("a.test", "b.test", 62),
        ("127.0.0.1", "127.0.0.1", None),
        ("127.0.0.1", "127.0.0.2", 64),
        ("2001:db8::1", "2001:db8:0::1", None),
        ("a.test", "127.0.0.1", 64),
    ],
)
def test_a_leaf_is_for_the_names_it_names(authority: Authority, name: str, host: str, code: int | None) -> None:
    chain = ders(authority.ca.issue_cert(name))
    faults = Contexts(authority.ca_file).faults(chain, host)
    assert [fault.code for fault in faults] == ([] if code is None else [code])


def test_a_stranger_is_not_trusted(authority: Authority) -> None:
    chain = ders(trustme.CA().issue_cert("a.test"))
    assert [fault.code for fault in Contexts(authority.ca_file).faults(chain, "a.test")] == [20]


def test_each_fault_has_its_number_and_words(authority: Authority) -> None:
    past = authority.ca.issue_cert("a.test")
    expired = x509.load_pem_x509_certificate(past.cert_chain_pems[0].bytes()).not_valid_before_utc - timedelta(days=9)
    chain = ders(authority.ca.issue_cert("a.test", not_after=expired, not_before=expired - timedelta(days=9)))
    first, second = Contexts(authority.ca_file).faults(chain, "b.test")
    assert (first.code, first.depth, "expired" in first.text) == (10, 0, True)
    assert (second.code, second.depth) == (62, 0)


@pytest.mark.parametrize("chain", [(), (b"",), (b"nonsense",)])
def test_what_is_no_certificate_is_refused(authority: Authority, chain: tuple[bytes, ...]) -> None:
    assert len(Contexts(authority.ca_file).faults(chain, "a.test")) == 1


def test_an_issuer_that_is_sent_along_is_used(tmp_path: Path) -> None:
    root = trustme.CA()
    root.cert_pem.write_to_path(str(tmp_path / "root.pem"))
    chain = ders(root.create_child_ca().issue_cert("a.test"))
    contexts = Contexts(tmp_path / "root.pem")
    assert contexts.faults(chain, "a.test") == ()
    assert [fault.code for fault in contexts.faults(chain[:1], "a.test")] == [20]
