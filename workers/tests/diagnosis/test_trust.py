"""Certificates that clients refuse: one cause each, never two for one, none at a good chain."""

from datetime import timedelta

import pytest

from workers.measurement.evidence import CertificateFault, ChainCertificate, ProbeEvidence
from workers.measurement.finding import Confidence, FindingId, Severity
from workers.tests.diagnosis.sites import (
    HOST,
    INTERMEDIATE,
    LEAF,
    NOW,
    authority,
    certificate,
    deep_site,
    fact,
    finding,
    judge,
    sent,
)

_FAMILY = {
    FindingId.TLS_CERT_EXPIRED,
    FindingId.TLS_CERT_EXPIRING,
    FindingId.TLS_CERT_NOT_YET_VALID,
    FindingId.TLS_CERT_NAME_MISMATCH,
    FindingId.TLS_CERT_SELF_SIGNED,
    FindingId.TLS_CERT_UNTRUSTED,
    FindingId.TLS_CHAIN_INCOMPLETE,
    FindingId.TLS_KEY_WEAK,
}
_EXPIRED, _EARLY, _OWN, _OWN_ROOT, _NO_ISSUER, _NO_LEAF_ISSUER, _NAME = 10, 9, 18, 19, 20, 21, 62
_ALONE = certificate(HOST, "Issuing CA")
_NO_URL = certificate(HOST, "Issuing CA", issuer_urls=())


def faults(*codes: int, depth: int = 0) -> tuple[CertificateFault, ...]:
    return tuple(CertificateFault(code=code, depth=depth, text=f"fault {code}") for code in codes)


def told(evidence: ProbeEvidence) -> set[FindingId]:
    return {one.id for one in judge(evidence).findings} & _FAMILY


def leaf(begins_days: float, ends_days: float, **changes: object) -> ChainCertificate:
    life = {"not_before": NOW + timedelta(days=begins_days), "not_after": NOW + timedelta(days=ends_days)}
    return certificate(HOST, "Issuing CA", **(life | changes))


def test_a_good_chain_is_left_alone() -> None:
    assert not told(deep_site())


def test_an_expired_leaf_is_expired_and_nothing_else() -> None:
    site = sent(leaf(-100, -10), INTERMEDIATE, faults=faults(_EXPIRED))
    assert told(site) == {FindingId.TLS_CERT_EXPIRED}
    found = finding(FindingId.TLS_CERT_EXPIRED, site)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.CRITICAL, None)
    assert fact(found, "expired_days") == 10
    assert fact(found, "role") == "leaf"


def test_a_leaf_of_an_ignored_chain_is_expired_by_its_own_dates() -> None:
    assert told(sent(leaf(-100, -0.001), INTERMEDIATE)) == {FindingId.TLS_CERT_EXPIRED}
    assert told(sent(leaf(-0.01, 0.02), INTERMEDIATE)) == set()


def test_an_expired_intermediate_counts_when_it_breaks_the_way() -> None:
    old = authority("Issuing CA", "Root CA", not_after=NOW - timedelta(days=3))
    broken = sent(LEAF, old, faults=faults(_EXPIRED, depth=1))
    assert told(broken) == {FindingId.TLS_CERT_EXPIRED}
    assert fact(finding(FindingId.TLS_CERT_EXPIRED, broken), "role") == "issuer"
    assert told(sent(LEAF, old)) == set()


def test_a_leaf_of_tomorrow_is_not_yet_valid() -> None:
    site = sent(leaf(2, 92), INTERMEDIATE, faults=faults(_EARLY))
    assert told(site) == {FindingId.TLS_CERT_NOT_YET_VALID}
    assert fact(finding(FindingId.TLS_CERT_NOT_YET_VALID, site), "valid_in_hours") == 48


@pytest.mark.parametrize(
    ("begins", "ends", "severity"),
    [
        (-61.1, 28.9, Severity.MEDIUM),
        (-60.9, 29.1, None),
        (-59, 31, None),
        (-77, 13, Severity.HIGH),
        (-76, 14, Severity.MEDIUM),
        (-5.1, 0.9, Severity.HIGH),
        (-4.1, 1.9, None),
        (-3.9, 2.1, None),
        (-365, 30, Severity.MEDIUM),
        (-200, 190, None),
    ],
)
def test_renewal_is_due_with_a_third_of_the_life_left(begins: float, ends: float, severity: Severity | None) -> None:
    """And a day for clients that look once a day whether it is."""
    found = finding(FindingId.TLS_CERT_EXPIRING, sent(leaf(begins, ends), INTERMEDIATE))
    assert (None if found is None else found.severity) is severity


def test_a_certificate_for_another_name_is_told_with_its_names() -> None:
    other = certificate("shop.example.net", "Issuing CA", issued_by=1)
    site = sent(other, INTERMEDIATE, faults=faults(_NAME))
    assert told(site) == {FindingId.TLS_CERT_NAME_MISMATCH}
    found = finding(FindingId.TLS_CERT_NAME_MISMATCH, site)
    assert (fact(found, "host"), fact(found, "names")) == (HOST, ("shop.example.net",))


def test_a_leaf_signed_by_itself_is_not_also_untrusted() -> None:
    own = certificate(HOST, HOST, issued_by=0)
    assert told(sent(own, faults=faults(_OWN))) == {FindingId.TLS_CERT_SELF_SIGNED}
    assert told(sent(own, faults=faults(_NO_ISSUER, _NO_LEAF_ISSUER))) == {FindingId.TLS_CERT_SELF_SIGNED}


def test_a_leaf_signed_by_itself_that_the_agent_was_told_to_trust_is_fine() -> None:
    assert told(sent(certificate(HOST, HOST, issued_by=0))) == set()


def test_a_chain_to_a_root_that_nobody_knows_is_untrusted() -> None:
    root = authority("Root CA", "Root CA")
    site = sent(LEAF, INTERMEDIATE, root, faults=faults(_OWN_ROOT, depth=2))
    assert told(site) == {FindingId.TLS_CERT_UNTRUSTED}


def test_a_chain_that_ends_below_an_unknown_root_is_untrusted_not_incomplete() -> None:
    site = sent(LEAF, INTERMEDIATE, faults=faults(_NO_ISSUER, depth=1))
    found = finding(FindingId.TLS_CERT_UNTRUSTED, site)
    assert told(site) == {FindingId.TLS_CERT_UNTRUSTED}
    assert found is not None
    assert found.confidence is Confidence.MEDIUM
    assert fact(found, "certificate") == "CN=Issuing CA"


@pytest.mark.parametrize(
    ("alone", "fetched", "id", "confidence"),
    [
        (_ALONE, True, FindingId.TLS_CHAIN_INCOMPLETE, Confidence.HIGH),
        (_ALONE, None, FindingId.TLS_CHAIN_INCOMPLETE, Confidence.MEDIUM),
        (_ALONE, False, FindingId.TLS_CERT_UNTRUSTED, Confidence.MEDIUM),
        (_NO_URL, None, FindingId.TLS_CERT_UNTRUSTED, Confidence.MEDIUM),
    ],
)
def test_a_leaf_alone_lacks_its_intermediate_only_when_somebody_knows_where_that_is(
    alone: ChainCertificate, fetched: bool | None, id: FindingId, confidence: Confidence
) -> None:
    site = sent(alone, faults=faults(_NO_ISSUER, _NO_LEAF_ISSUER), verified_with_fetched_issuer=fetched)
    found = finding(id, site)
    assert told(site) == {id}
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.CRITICAL, confidence)


def test_an_expired_leaf_with_the_wrong_name_and_no_authority_is_three_causes() -> None:
    stranger = leaf(-100, -10, names=("x.example",))
    site = sent(stranger, INTERMEDIATE, faults=faults(_EXPIRED, _NAME, _NO_ISSUER))
    assert told(site) == {
        FindingId.TLS_CERT_EXPIRED,
        FindingId.TLS_CERT_NAME_MISMATCH,
        FindingId.TLS_CERT_UNTRUSTED,
    }


@pytest.mark.parametrize(("bits", "weak"), [(1024, True), (2047, True), (2048, False), (4096, False)])
def test_an_rsa_key_below_2048_bits_is_weak(bits: int, weak: bool) -> None:
    site = sent(certificate(HOST, "Issuing CA", key_type="RSA", key_bits=bits), INTERMEDIATE)
    assert told(site) == ({FindingId.TLS_KEY_WEAK} if weak else set())


def test_what_openssl_calls_weak_is_told_of_the_certificate_it_blames() -> None:
    sha1 = authority("Issuing CA", "Root CA", signature_algorithm="sha1WithRSAEncryption")
    site = sent(LEAF, sha1, faults=faults(68, depth=1))
    assert told(site) == {FindingId.TLS_KEY_WEAK}
    assert fact(finding(FindingId.TLS_KEY_WEAK, site), "signature") == "sha1WithRSAEncryption"


def test_a_fault_of_another_kind_makes_the_chain_untrusted() -> None:
    assert told(sent(LEAF, INTERMEDIATE, faults=faults(26))) == {FindingId.TLS_CERT_UNTRUSTED}


def test_what_makes_visitors_fail_comes_first() -> None:
    site = sent(leaf(-100, -10), INTERMEDIATE, faults=faults(_EXPIRED))
    assert judge(site).findings[0].id is FindingId.TLS_CERT_EXPIRED


_UPPER = authority("Upper CA", "Root CA")
_LOWER = authority("Issuing CA", "Upper CA")
_ROOT = authority("Root CA", "Root CA")


@pytest.mark.parametrize(
    "chain",
    [(_ALONE, _UPPER, _LOWER), (_ALONE, _ROOT, _UPPER, _LOWER), (_ALONE, _UPPER, _LOWER, _ROOT)],
)
def test_a_chain_in_another_order_than_its_signatures_is_told(chain: tuple[ChainCertificate, ...]) -> None:
    found = finding(FindingId.TLS_CHAIN_INCOMPLETE, sent(*chain))
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.HIGH)
    assert fact(found, "in_order") is False
    assert fact(found, "order") == tuple(one.subject for one in chain)


@pytest.mark.parametrize(
    "chain",
    [
        (_ALONE, _LOWER, _UPPER),
        (_ALONE, _LOWER, _UPPER, _ROOT),
        # A needless one in between is another finding, and one sent twice too.
        (_ALONE, _ROOT, _LOWER, _UPPER),
        (_ALONE, _LOWER, _ROOT, _UPPER),
        (_ALONE, _ALONE, _LOWER, _UPPER, _LOWER),
        # Cross-signed: for some clients the way goes on, for others it ends sooner.
        (_ALONE, authority("Issuing CA", "Root CA"), authority("Root CA", "Old root")),
        (_ALONE, authority("Issuing CA", "Root CA"), _LOWER, _UPPER, authority("Root CA", "Old root")),
    ],
)
def test_a_chain_whose_signatures_follow_each_other_is_in_order(chain: tuple[ChainCertificate, ...]) -> None:
    assert FindingId.TLS_CHAIN_INCOMPLETE not in told(sent(*chain))


def test_a_chain_that_is_trusted_in_another_order_is_not_untrusted_by_the_root_that_it_meets_first() -> None:
    cross = authority("Issuing CA", "Old root")
    site = sent(
        _ALONE, cross, _LOWER, authority("Old root", "Old root"), faults=faults(19), verified_with_fetched_issuer=True
    )
    assert told(site) == {FindingId.TLS_CHAIN_INCOMPLETE}


def test_a_missing_issuer_is_told_once_whatever_the_order() -> None:
    site = sent(_ALONE, _UPPER, _LOWER, faults=faults(_NO_ISSUER, depth=2), verified_with_fetched_issuer=True)
    assert fact(finding(FindingId.TLS_CHAIN_INCOMPLETE, site), "in_order") is None
