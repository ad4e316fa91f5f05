"""What is told to do about a failed run is right for each way in which its kind comes about."""

import re

import pytest

from workers.diagnosis.catalogue.failures import Door, advice_on
from workers.measurement.failure import FailureKind, Stage, failure


def tls_advice(evidence: str, stage: Stage = Stage.TLS) -> str:
    return advice_on(failure(FailureKind.TLS_FAILED, evidence, stage=stage))


@pytest.mark.parametrize("evidence", ["ERR_SSL_VERSION_OR_CIPHER_MISMATCH", "unsupported protocol"])
def test_versions_and_ciphers_are_looked_at_where_they_are_the_matter(evidence: str) -> None:
    assert tls_advice(evidence) == "Look which versions of TLS and which ciphers the server offers."


@pytest.mark.parametrize(
    "evidence",
    ["ERR_SSL_PROTOCOL_ERROR", "more than 262144 bytes", "bad record type", "QUIC with code 0x1", "dh key too small"],
)
def test_what_may_be_anything_of_tls_is_no_quarrel_about_ciphers(evidence: str) -> None:
    advice = tls_advice(evidence)
    assert "cipher" not in advice
    assert "TLS settings" in advice
    assert "sends" in advice


def test_after_the_handshake_no_setting_of_tls_is_the_matter() -> None:
    advice = tls_advice("decryption failed or bad record mac", Stage.WAIT)
    assert "settings" not in advice
    assert "after the handshake" in advice


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_has_advice_at_both_doors(kind: FailureKind) -> None:
    for door in Door:
        advice = advice_on(failure(kind), door)
        assert advice.endswith(".")
        assert not re.search("[{}]|  ", advice)


@pytest.mark.parametrize("kind", FailureKind)
def test_at_a_terminal_nothing_is_told_of_the_service(kind: FailureKind) -> None:
    failed = failure(kind)
    assert not re.search("region|agent", failed.detail)
    assert not re.search("region|agent|monitor|FIRSTBYTE_", advice_on(failed, Door.TERMINAL))
