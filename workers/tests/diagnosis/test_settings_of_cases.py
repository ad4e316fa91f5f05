"""The settings of a finding are those of its case, in the terminal and in documents alike."""

from typing import Any

import pytest

from workers.diagnosis.catalogue import advice_of, entry, settings_of
from workers.diagnosis.diagnosis_document import diagnosis_parts
from workers.diagnosis.finding_drawing import Detail, draw_finding
from workers.measurement.canvas import Canvas
from workers.measurement.finding import Confidence, Diagnosis, Fact, Finding, FindingId, Severity


def found(id: FindingId, severity: Severity = Severity.MEDIUM, **facts: Any) -> Finding:
    evidence = tuple(Fact(name=name, value=value) for name, value in facts.items())
    return Finding(id=id, severity=severity, confidence=Confidence.HIGH, evidence=evidence)


USUAL = (
    found(FindingId.HTTP_H2_MISSING, alpn="http/1.1"),
    found(FindingId.HTTP_H3, Severity.INFO, announced=False),
    found(FindingId.HTTP_REDIRECT_COST, hsts="absent"),
    found(FindingId.HTTP_REDIRECT_COST, hsts="short"),
    found(FindingId.TLS_PQ, Severity.INFO, supported=False),
    found(FindingId.TLS_KEY_COST, key_type="RSA", key_bits=4096),
    found(FindingId.TLS_CHAIN_LARGE, key_type="RSA"),
    found(FindingId.IPV6_BROKEN_OR_SLOW, Severity.HIGH, failure="connect_refused"),
    found(FindingId.TLS_OCSP, Severity.LOW, must_staple=False),
    found(FindingId.TLS_RECORD_OVERFLOW),
)
OTHER = (
    found(FindingId.HTTP_H2_MISSING, Severity.CRITICAL, alpn="h2", answers="0 of 3"),
    found(FindingId.HTTP_H3, announced=True, answers="0 of 3"),
    found(FindingId.HTTP_REDIRECT_COST, urls=("https://example.org/", "https://example.org/en")),
    found(FindingId.HTTP_REDIRECT_COST, hsts="present"),
    found(FindingId.TLS_PQ, Severity.CRITICAL, hybrid="fails 3 of 3"),
    found(FindingId.TLS_PQ, Severity.HIGH, hybrid_ms=300.0),
    found(FindingId.TLS_KEY_COST, key_type="EC", key_bits=256),
    found(FindingId.TLS_KEY_COST, key_type="RSA", key_bits=2048),
    found(FindingId.TLS_CHAIN_LARGE, key_type="EC"),
    found(FindingId.IPV6_BROKEN_OR_SLOW, ipv6_rtt_ms=200.0, ipv4_rtt_ms=20.0),
    found(FindingId.IPV6_BROKEN_OR_SLOW, Severity.HIGH, failure="connect_timeout"),
    found(FindingId.TLS_OCSP, Severity.CRITICAL, staple_says="revoked"),
    found(FindingId.TLS_OCSP, Severity.LOW, staple_ended="2026-01-01T00:00:00+00:00"),
)


@pytest.mark.parametrize("finding", USUAL)
def test_what_lacks_is_told_how_to_switch_it_on(finding: Finding) -> None:
    assert settings_of(finding) == entry(finding.id).settings


@pytest.mark.parametrize("finding", OTHER)
def test_where_it_is_on_already_or_would_not_help_no_setting_is_told(finding: Finding) -> None:
    (document,) = diagnosis_parts(Diagnosis(findings=(finding,)))["findings"]
    advice = " ".join(advice_of(finding.id, finding.severity).split())
    drawn = " ".join(" ".join(draw_finding(finding, Canvas(width=100), "nginx", Detail.WHOLE)).split())

    assert settings_of(finding) == ()
    assert document["settings"] == []
    assert drawn.endswith(advice)


def test_a_chain_of_ecdsa_already_can_still_be_compressed() -> None:
    rsa, ecdsa = (found(FindingId.TLS_CHAIN_EXCEEDS_IW, key_type=key_type) for key_type in ("RSA", "EC"))

    assert [one.server for one in settings_of(rsa)] == ["certbot", "Caddy", "nginx"]
    assert [one.server for one in settings_of(ecdsa)] == ["nginx"]


def test_what_speaks_no_tls_1_3_cannot_compress_its_certificates() -> None:
    old = [found(FindingId.TLS_CHAIN_EXCEEDS_IW, key_type=key_type, version="TLSv1.2") for key_type in ("RSA", "EC")]
    new = found(FindingId.TLS_CHAIN_EXCEEDS_IW, key_type="EC", version="TLSv1.3")

    assert [[one.server for one in settings_of(finding)] for finding in (*old, new)] == [
        ["certbot", "Caddy"],
        [],
        ["nginx"],
    ]
