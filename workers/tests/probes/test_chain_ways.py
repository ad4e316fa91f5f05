"""Chains of which OpenSSL takes one way and browsers try each: a site is trusted that is trusted by any of them."""

import socket
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from workers.measurement.evidence import Depth, Handshake
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Finding, FindingId, Severity
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.probes.trust import ways
from workers.tests.diagnosis.sites import fact
from workers.tests.netlab.certificates import Holder, KeyKind, LeafWish, Life, make_authority, make_leaf, make_responder
from workers.tests.netlab.chains import Chain
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Server, answering, response

NAME, AUTHORITY = "www.example.test", "ca.example.test"
OVER = Life(begins=-900, ends=-5)
ROOT, RUN_OUT, UNKNOWN = make_authority("Root"), make_authority("Old root", life=OVER), make_authority("Nobody's root")
STRANGER = make_authority("Issuing CA", signer=ROOT, owner="somebody else of that name")
SENT = {
    "usual": make_authority("Issuing CA", signer=ROOT),
    "by-run-out": make_authority("Issuing CA", signer=RUN_OUT),
    "by-unknown": make_authority("Issuing CA", signer=UNKNOWN),
    "run-out": make_authority("Issuing CA", signer=ROOT, life=OVER),
    "namesake": STRANGER,
    "old-root": RUN_OUT,
    "unknown-root": UNKNOWN,
    "root-of-before": make_authority("Root", life=OVER),
}


@pytest.fixture
def named(lab: Lab) -> Lab:
    lab.zone.a |= {NAME: ["127.0.0.1"], AUTHORITY: ["127.0.0.1"]}
    trusted = lab.directory / "trusted.pem"
    trusted.write_bytes(b"".join(one.certificate.public_bytes(Encoding.PEM) for one in (ROOT, RUN_OUT)))
    lab.configure(ca_file=trusted)
    return lab


def probe(lab: Lab, leaf: Holder, sent: str, depth: Depth) -> Measured | Failed:
    others = [SENT[word].certificate for word in sent.split()]
    chain_file, key_file = lab.directory / "chain.pem", lab.directory / "chain.key"
    chain_file.write_bytes(b"".join(one.public_bytes(Encoding.PEM) for one in (leaf.certificate, *others)))
    key_file.write_bytes(leaf.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    ders = tuple(one.public_bytes(Encoding.DER) for one in (leaf.certificate, *others))
    chain = Chain(sent=ders, issuer=ders[0], chain_file=chain_file, key_file=key_file)
    with MisbehavingServer(socket.create_server(("127.0.0.1", 0)), Conduct(), chain) as server:
        return lab.probe(f"https://{NAME}:{server.port}/", depth=depth)


def seen(outcome: Measured | Failed) -> tuple[Handshake, dict[FindingId, Finding]]:
    measured = outcome.measurement
    assert isinstance(measured, ProbeMeasurement)
    assert measured.evidence is not None
    assert measured.diagnosis is not None
    handshake = measured.evidence.trials[0].handshake
    assert handshake is not None
    return handshake, {one.id: one for one in measured.diagnosis.findings}


LEAF = make_leaf(LeafWish(names=(NAME,)), SENT["usual"])


@pytest.mark.parametrize("depth", Depth)
@pytest.mark.parametrize(
    ("sent", "turns"),
    [
        ("by-unknown usual", True),
        ("usual by-unknown", False),
        ("by-unknown usual by-unknown", True),
        ("by-unknown usual unknown-root", True),
        ("by-unknown unknown-root usual", True),
        ("by-run-out usual", True),
        ("by-run-out old-root usual", True),
        ("usual by-run-out", False),
        ("run-out usual", False),
        ("namesake usual", False),
        ("usual root-of-before", False),
    ],
)
def test_who_is_trusted_by_any_way_through_what_was_sent_is_no_failure(
    named: Lab, sent: str, turns: bool, depth: Depth
) -> None:
    outcome = probe(named, LEAF, sent, depth)
    assert isinstance(outcome, Measured), outcome
    handshake, found = seen(outcome)
    assert (handshake.in_other_order, handshake.faults) == (turns, ())
    assert len(handshake.chain) == len(sent.split()) + 1
    assert not found.keys() & {FindingId.TLS_CERT_UNTRUSTED, FindingId.TLS_CERT_EXPIRED}
    # Those who do as OpenSSL does refuse it: that is worth telling.
    incomplete = found.get(FindingId.TLS_CHAIN_INCOMPLETE)
    assert (incomplete is not None) is turns
    assert incomplete is None or incomplete.severity is Severity.MEDIUM


@pytest.mark.parametrize("depth", Depth)
def test_a_wrong_name_is_wrong_by_every_way(named: Lab, depth: Depth) -> None:
    leaf = make_leaf(LeafWish(names=("other.example.test",)), SENT["usual"])
    outcome = probe(named, leaf, "by-unknown usual", depth)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.CERTIFICATE_WRONG_HOST
    handshake, found = seen(outcome)
    assert handshake.in_other_order
    assert FindingId.TLS_CERT_NAME_MISMATCH in found
    assert FindingId.TLS_CERT_UNTRUSTED not in found


@pytest.mark.parametrize(
    ("sent", "kind", "told"),
    [
        ("by-unknown", FailureKind.CERTIFICATE_UNTRUSTED, FindingId.TLS_CERT_UNTRUSTED),
        ("by-unknown unknown-root", FailureKind.CERTIFICATE_UNTRUSTED, FindingId.TLS_CERT_UNTRUSTED),
        ("run-out", FailureKind.CERTIFICATE_EXPIRED, FindingId.TLS_CERT_EXPIRED),
        ("by-run-out old-root", FailureKind.CERTIFICATE_EXPIRED, FindingId.TLS_CERT_EXPIRED),
        # Nothing that was sent has run out, but whom it leads to.
        ("by-run-out", FailureKind.CERTIFICATE_EXPIRED, FindingId.TLS_CERT_UNTRUSTED),
    ],
)
def test_who_is_trusted_by_no_way_is_told_why(named: Lab, sent: str, kind: FailureKind, told: FindingId) -> None:
    outcome = probe(named, LEAF, sent, Depth.LIGHT)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is kind
    handshake, found = seen(outcome)
    assert handshake.in_other_order is False
    causes = {FindingId.TLS_CERT_EXPIRED, FindingId.TLS_CERT_UNTRUSTED, FindingId.TLS_CHAIN_INCOMPLETE}
    assert found.keys() & causes == {told}


@pytest.mark.parametrize("sent", ["by-unknown", "by-unknown unknown-root", "by-run-out"])
def test_a_way_that_begins_at_the_leafs_own_address_for_its_issuer_is_found(named: Lab, sent: str) -> None:
    issuer = SENT["usual"].certificate.public_bytes(Encoding.DER)
    with Server(answering(response(issuer))) as fetched:
        url = f"http://{AUTHORITY}:{fetched.port}/issuer.der"
        leaf = make_leaf(LeafWish(names=(NAME,), issuer_url=url), SENT["usual"])
        outcome = probe(named, leaf, sent, Depth.DEEP)
    handshake, found = seen(outcome)
    assert handshake.verified_with_fetched_issuer is True
    incomplete = found[FindingId.TLS_CHAIN_INCOMPLETE]
    assert (incomplete.severity, fact(incomplete, "trusted_with_fetched_issuer")) == (Severity.CRITICAL, True)
    assert not found.keys() & {FindingId.TLS_CERT_UNTRUSTED, FindingId.TLS_CERT_EXPIRED}


def test_no_way_leads_over_a_key_that_is_too_short() -> None:
    weak = make_authority("Weak CA", signer=ROOT, kind=KeyKind.RSA_1024)
    leaf = make_leaf(LeafWish(names=(NAME,)), weak)
    chain = tuple(one.certificate.public_bytes(Encoding.DER) for one in (leaf, weak))
    assert list(ways(chain)) == [chain[:1]]


def test_no_way_leads_over_who_may_not_vouch_for_servers() -> None:
    answering_only = make_responder("Answering CA", ROOT)
    leaf = make_leaf(LeafWish(names=(NAME,)), answering_only)
    chain = tuple(one.certificate.public_bytes(Encoding.DER) for one in (leaf, answering_only))
    assert list(ways(chain)) == [chain[:1]]


def test_however_many_ways_there_are_few_are_tried(named: Lab, tmp_path: Path) -> None:
    """Each of them signed by each of the others: more ways than anybody has time for."""
    holders = [make_authority(f"Ring {number}") for number in range(4)]
    cross = {
        f"{one}-{other}": make_authority(f"Ring {one}", signer=holders[other])
        for one in range(4)
        for other in range(4)
        if one != other
    }
    leaf = make_leaf(LeafWish(names=(NAME,)), holders[0])
    sent = tuple(one.certificate.public_bytes(Encoding.DER) for one in (leaf, *cross.values()))
    assert len(list(ways(sent))) < len(cross)
    SENT.update(cross)
    try:
        outcome = probe(named, leaf, " ".join(cross), Depth.LIGHT)
    finally:
        for name in cross:
            del SENT[name]
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.CERTIFICATE_UNTRUSTED
