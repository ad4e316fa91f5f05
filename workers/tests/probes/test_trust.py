"""Chains that came over no connection of OpenSSL's are judged as those that did."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import SSL

from workers.probes.openssl import Contexts
from workers.tests.netlab.certificates import Holder, KeyKind, LeafWish, make_authority, make_leaf
from workers.tests.servers import Authority

HOST = "a.test"


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


ROOT, SHORT_ROOT = make_authority("Root"), make_authority("Short root", kind=KeyKind.RSA_1024)
ISSUING, SHORT = make_authority("CA", signer=ROOT), make_authority("Short CA", signer=ROOT, kind=KeyKind.RSA_1024)
CLIENTS = make_authority("CA of clients", signer=ROOT, purpose=ExtendedKeyUsageOID.CLIENT_AUTH)
USUAL = LeafWish(names=(HOST,))
CHAINS = {
    "usual": (make_leaf(USUAL, ISSUING), ISSUING),
    "short leaf": (make_leaf(replace(USUAL, key=KeyKind.RSA_1024), ISSUING), ISSUING),
    "short issuer": (make_leaf(USUAL, SHORT), SHORT),
    "short root": (make_leaf(USUAL, SHORT_ROOT),),
    "leaf for clients": (make_leaf(replace(USUAL, purpose=ExtendedKeyUsageOID.CLIENT_AUTH), ISSUING), ISSUING),
    "issuer for clients": (make_leaf(USUAL, CLIENTS), CLIENTS),
    "stranger": (make_leaf(USUAL, make_authority("Stranger")),),
}


def codes_over_tls(contexts: Contexts, chain: tuple[Holder, ...]) -> set[int]:
    """What a connection of OpenSSL's holds against that chain."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_cipher_list(b"DEFAULT:@SECLEVEL=0")
    context.use_certificate(chain[0].certificate)
    context.use_privatekey(chain[0].key)
    for one in chain[1:]:
        context.add_extra_chain_cert(one.certificate)
    server, party = SSL.Connection(context, None), contexts.party(HOST)
    server.set_accept_state()
    party.listen()
    while not party.pipe.shake():
        server.bio_write(party.pipe.take())
        with suppress(SSL.WantReadError):
            server.do_handshake()
        party.pipe.put(server.bio_read(65536))
    return {fault.code for fault in party.notes.faults}


@pytest.mark.parametrize("which", CHAINS)
def test_a_chain_is_judged_alike_over_any_transport(tmp_path: Path, which: str) -> None:
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(b"".join(one.certificate.public_bytes(Encoding.PEM) for one in (ROOT, SHORT_ROOT)))
    contexts = Contexts(trusted)
    chain = CHAINS[which]
    sent = tuple(one.certificate.public_bytes(Encoding.DER) for one in chain)
    over_tls = codes_over_tls(contexts, chain)
    assert bool(over_tls) is (which != "usual")
    faults = {fault.code for fault in contexts.faults(sent, HOST)}
    # Of several faults of a chain the first is told.
    assert bool(faults) is bool(over_tls)
    assert faults <= over_tls


@pytest.mark.parametrize("chain", [(), (b"",), (b"nonsense",)])
def test_what_is_no_certificate_is_refused(authority: Authority, chain: tuple[bytes, ...]) -> None:
    assert len(Contexts(authority.ca_file).faults(chain, "a.test")) == 1


TWICE = bytes.fromhex("06042a030405")


@pytest.mark.parametrize("which", ["an extension twice", "a name of a kind that nobody reads"])
def test_a_leaf_whose_extensions_cannot_be_read_is_refused(authority: Authority, which: str) -> None:
    odd = {
        "an extension twice": [("1.2.3.4.5", b"\x05\x00"), ("1.2.3.4.6", b"\x05\x00")],
        # RFC 5280, 4.2.1.6: ediPartyName.
        "a name of a kind that nobody reads": [("2.5.29.17", bytes.fromhex("3005a503810161"))],
    }[which]
    key = ISSUING.key
    life = ISSUING.certificate
    builder = x509.CertificateBuilder(ISSUING.certificate.subject, ISSUING.certificate.subject, key.public_key(), 5)
    builder = builder.not_valid_before(life.not_valid_before_utc).not_valid_after(life.not_valid_after_utc)
    for oid, value in odd:
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value), critical=False)
    der = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)
    (fault,) = Contexts(authority.ca_file).faults((der.replace(bytes.fromhex("06042a030406"), TWICE),), HOST)
    assert (fault.code, fault.text) == (28, "the certificate cannot be read")


def test_an_issuer_that_is_sent_along_is_used(tmp_path: Path) -> None:
    root = trustme.CA()
    root.cert_pem.write_to_path(str(tmp_path / "root.pem"))
    chain = ders(root.create_child_ca().issue_cert("a.test"))
    contexts = Contexts(tmp_path / "root.pem")
    assert contexts.faults(chain, "a.test") == ()
    assert [fault.code for fault in contexts.faults(chain[:1], "a.test")] == [20]
