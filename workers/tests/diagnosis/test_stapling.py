"""What comes along with the certificate must vouch for it: else some browsers take it for nothing, or break off."""

from datetime import timedelta

import pytest

from workers.measurement.evidence import ProbeEvidence, StapleWord, Trial
from workers.measurement.finding import Answer, CheckColumn, Confidence, FindingId, NotJudgedReason, Severity
from workers.tests.diagnosis.sites import (
    HOST,
    INTERMEDIATE,
    LEAF,
    NOW,
    certificate,
    check,
    fact,
    finding,
    left_open,
    sent,
    shaken,
)

_WITH_RESPONDER = certificate(HOST, "Issuing CA", ocsp_urls=("http://ocsp.example.net",))


def saying(word: StapleWord, begins_days: float = -1, *, responder: bool = True) -> ProbeEvidence:
    begins = NOW + timedelta(days=begins_days)
    leaf = _WITH_RESPONDER if responder else LEAF
    ends = begins + timedelta(days=7)
    return sent(leaf, INTERMEDIATE, stapled=True, staple_word=word, staple_begins=begins, staple_ends=ends)


@pytest.mark.parametrize("word", [StapleWord.REVOKED, StapleWord.UNKNOWN, StapleWord.INVALID])
@pytest.mark.parametrize("responder", [True, False])
def test_a_staple_for_which_firefox_breaks_off_makes_visitors_fail(word: StapleWord, responder: bool) -> None:
    site = saying(word, responder=responder)
    found = finding(FindingId.TLS_OCSP, site)
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert (fact(found, "staple_says"), fact(found, "seen")) == (word, "5 of 5")
    told = check(CheckColumn.OCSP_STAPLING, site)
    assert (told.answer, told.detail) == (Answer.NO, f"stapled, but {word}")


def test_a_revocation_that_comes_sometimes_is_told_with_less_certainty() -> None:
    found = finding(FindingId.TLS_OCSP, shaken(saying(StapleWord.REVOKED), (Trial.HTTP2,), staple_word=StapleWord.GOOD))
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.MEDIUM)
    assert fact(found, "seen") == "4 of 5"


@pytest.mark.parametrize(("begins_days", "refused"), [(-1, False), (0.5, False), (2, True)])
def test_a_staple_of_the_day_after_tomorrow_is_refused(begins_days: float, refused: bool) -> None:
    found = finding(FindingId.TLS_OCSP, saying(StapleWord.GOOD, begins_days))
    assert (found is not None) is refused
    assert not refused or fact(found, "staple_says") == "not valid yet"


@pytest.mark.parametrize(
    ("word", "why"),
    [(StapleWord.NOTHING, "nothing of this certificate"), (StapleWord.UNSIGNED, "signed by nobody entitled")],
)
def test_a_staple_that_browsers_pass_over_is_none(word: StapleWord, why: str) -> None:
    found = finding(FindingId.TLS_OCSP, saying(word))
    assert found is not None
    assert found.severity is Severity.LOW
    assert fact(found, "staple_says") == why
    assert finding(FindingId.TLS_OCSP, saying(word, responder=False)) is None
    told = check(CheckColumn.OCSP_STAPLING, saying(word))
    assert (told.answer, told.detail) == (Answer.NO, f"stapled, but {why}")


def test_of_a_staple_whose_signer_is_not_known_nothing_is_said() -> None:
    site = saying(StapleWord.UNVERIFIED)
    assert finding(FindingId.TLS_OCSP, site) is None
    assert left_open(FindingId.TLS_OCSP, site) is NotJudgedReason.NOT_MEASURED
    assert check(CheckColumn.OCSP_STAPLING, site).answer is Answer.UNKNOWN


def test_a_good_staple_of_a_certificate_without_responder_is_stapled() -> None:
    assert check(CheckColumn.OCSP_STAPLING, saying(StapleWord.GOOD, responder=False)).answer is Answer.YES
