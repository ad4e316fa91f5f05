"""HTTP/2 and HTTP/3: spoken, announced, reachable."""

from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime

import pytest

from workers.measurement.connection import Header
from workers.measurement.evidence import CertificateFault, HttpsRecord, ProbeEvidence, Question, Trial
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import Answer, CheckColumn, Confidence, FindingId, Severity
from workers.tests.diagnosis.sites import (
    HSTS,
    RTT_US,
    answer,
    answered,
    changed,
    check,
    deep_site,
    fact,
    finding,
    left_open,
    light_site,
    repeated,
    shaken,
    trial,
    without,
)

_H2, _H3 = FindingId.HTTP_H2_MISSING, FindingId.HTTP_H3


def unannounced(evidence: ProbeEvidence, *, code: str | None = "NOERROR") -> ProbeEvidence:
    """By no header, and by no record that the name server told of."""
    asked = Question(record_type="HTTPS", took_us=None if code is None else 9_000, code=code)
    names = tuple(replace(name, https=None, questions=(*name.questions, asked)) for name in evidence.names)
    return replace(answered(evidence, set(Trial) - {Trial.PLAIN}, headers=(HSTS,)), names=names)


def blocked(evidence: ProbeEvidence, times: int, kind: FailureKind = FailureKind.CONNECT_REFUSED) -> ProbeEvidence:
    dead = trial(Trial.HTTP3, handshake=None, exchanges=(), failure=failure(kind))
    return repeated(changed(evidence, (Trial.HTTP3,), lambda _: dead), Trial.HTTP3, times)


def test_a_site_that_speaks_both_is_left_alone() -> None:
    for id in (_H2, _H3):
        assert finding(id, deep_site()) is None
        assert left_open(id, deep_site()) is None


def test_http2_that_was_offered_and_not_taken_up_is_missing() -> None:
    for protocol in ("http/1.1", None):
        found = finding(_H2, shaken(deep_site(), (Trial.HTTP2,), protocol=protocol))
        assert found is not None
        assert found.severity is Severity.MEDIUM
        assert fact(found, "alpn") == (protocol or "none")


def broken_over_http2(times: int, kind: FailureKind = FailureKind.CONNECTION_RESET) -> ProbeEvidence:
    """It is agreed on, and then no answer comes."""
    dead = trial(Trial.HTTP2, exchanges=(answer(status=None, ended_us=None),), failure=failure(kind))
    return repeated(changed(deep_site(), (Trial.HTTP2,), lambda _: dead), Trial.HTTP2, times)


def test_http2_that_is_agreed_on_and_breaks_each_time_shuts_browsers_out() -> None:
    evidence = broken_over_http2(3)
    found = finding(_H2, evidence)
    assert found is not None
    assert (found.severity, found.confidence, found.saving_us) == (Severity.CRITICAL, Confidence.HIGH, None)
    assert [fact(found, name) for name in ("alpn", "answers", "failure")] == ["h2", "0 of 3", "connection_reset"]
    assert check(CheckColumn.HTTP2, evidence).answer is Answer.NO


def test_answers_over_http2_that_only_we_cannot_read_are_told_with_less_confidence() -> None:
    found = finding(_H2, broken_over_http2(3, FailureKind.RESPONSE_INVALID))
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.MEDIUM)


def test_http2_that_broke_once_may_be_chance() -> None:
    for times in (1, 2):
        assert finding(_H2, broken_over_http2(times)) is None
        assert left_open(_H2, broken_over_http2(times)) == "not_repeated"
    whole = deep_site()
    some = replace(whole, trials=(*broken_over_http2(3).trials, *whole.of(Trial.HTTP2)))
    assert finding(_H2, some) is None
    assert left_open(_H2, some) is None


def test_a_server_that_answers_in_no_protocol_is_not_one_that_breaks_on_http2() -> None:
    evidence = broken_over_http2(3)
    dead = replace(
        evidence,
        trials=tuple(replace(one, failure=failure(FailureKind.CONNECTION_RESET)) for one in evidence.trials),
    )
    assert finding(_H2, dead) is None


def test_http2_that_was_not_offered_is_not_judged() -> None:
    assert left_open(_H2, light_site()) == "needs_deep_probe"
    assert left_open(_H2, without(deep_site(), Trial.HTTP2)) == "not_measured"


def test_silence_over_udp_counts_only_where_somebody_was_reached_over_it() -> None:
    for kind in (FailureKind.CONNECT_TIMEOUT, FailureKind.CONNECT_UNREACHABLE):
        silent = blocked(deep_site(), 3, kind)
        assert finding(_H3, silent) is None
        assert left_open(_H3, silent) == "not_measured"
        assert finding(_H3, replace(silent, quic_passes=True)) is not None
    assert finding(_H3, blocked(deep_site(), 3, FailureKind.TLS_TIMEOUT)) is not None


def test_http3_that_nothing_announces_is_a_remark() -> None:
    found = finding(_H3, unannounced(deep_site()))
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.INFO, RTT_US)
    assert fact(found, "answers") is True


def test_an_announcement_that_leads_nowhere_is_a_fault_when_it_fails_each_time() -> None:
    found = finding(_H3, blocked(deep_site(), 3))
    assert found is not None
    assert (found.severity, fact(found, "answers")) == (Severity.MEDIUM, "0 of 3")
    assert finding(_H3, blocked(deep_site(), 2)) is None
    assert left_open(_H3, blocked(deep_site(), 2)) == "not_repeated"


def distrusted(evidence: ProbeEvidence, code: int, *kinds: Trial) -> ProbeEvidence:
    return shaken(evidence, kinds or (Trial.HTTP3,), faults=(CertificateFault(code=code, depth=0, text="no good"),))


@pytest.mark.parametrize("code", [9, 10, 18, 62])
def test_an_announcement_that_leads_to_a_certificate_that_browsers_refuse_is_a_fault(code: int) -> None:
    site = distrusted(deep_site(), code)
    found = finding(_H3, site)
    assert found is not None
    assert (found.severity, fact(found, "answers"), fact(found, "openssl")) == (Severity.MEDIUM, "0 of 1", "no good")
    assert check(CheckColumn.HTTP3, site).answer is Answer.NO


def test_a_certificate_that_is_no_good_over_tcp_either_is_told_once() -> None:
    assert finding(_H3, distrusted(deep_site(), 10, *Trial)) is None


def test_an_issuer_over_quic_that_browsers_may_find_elsewhere_is_no_fault() -> None:
    assert finding(_H3, distrusted(deep_site(), 20)) is None


def test_a_certificate_over_quic_that_has_run_out_by_our_clock_alone_is_no_fault() -> None:
    """By the server's it is valid."""
    site = distrusted(deep_site(), 10)
    later = replace(site, measured_at=site.measured_at + timedelta(days=3650))
    told = answered(later, set(Trial), headers=(Header(name="Date", value=format_datetime(site.measured_at, True)),))
    assert finding(_H3, told) is None


def test_udp_that_is_blocked_where_nothing_is_announced_is_no_fault() -> None:
    found = finding(_H3, blocked(unannounced(deep_site()), 3))
    assert found is not None
    assert found.severity is Severity.INFO


def test_an_https_record_announces_as_well() -> None:
    silent = unannounced(deep_site())
    names = tuple(replace(name, https=HttpsRecord(protocols=("h3",))) for name in silent.names)
    assert finding(_H3, replace(silent, names=names)) is None


@pytest.mark.parametrize("code", [None, "SERVFAIL", "NOTIMP"])
def test_a_name_whose_https_record_nobody_told_of_may_announce_http3(code: str | None) -> None:
    site = without(unannounced(deep_site(), code=code), Trial.HTTP3)
    assert finding(_H3, site) is None
    assert left_open(_H3, site) == "not_measured"
    assert [check(column, site).answer for column in (CheckColumn.HTTP3, CheckColumn.ECH)] == [Answer.UNKNOWN] * 2


def test_an_address_has_no_https_record() -> None:
    site = replace(without(unannounced(deep_site(), code=None), Trial.HTTP3), host="192.0.2.1")
    assert finding(_H3, site) is not None
    assert check(CheckColumn.HTTP3, site).answer is Answer.NO


def test_one_connection_cannot_show_whether_udp_answers() -> None:
    assert left_open(_H3, light_site()) == "needs_deep_probe"
    assert left_open(_H3, unannounced(light_site())) == "needs_deep_probe"
