"""Which TLS is spoken: found where it costs, silent where it does not."""

import pytest

from workers.diagnosis.probe.tls_visits import false_start_possible
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import Answer, CheckColumn, Confidence, FindingId, NotJudgedReason, Severity
from workers.tests.diagnosis.sites import (
    RTT_US,
    check,
    deep_site,
    fact,
    finding,
    handshake,
    judge,
    left_open,
    light_site,
    shaken,
    trial,
)

_VISITS = (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2, Trial.CLASSICAL)
_OLD_ID, _LATE_ID, _RETRY_ID = FindingId.TLS_VERSION_OLD, FindingId.TLS_NO_FALSE_START, FindingId.TLS_HELLO_RETRY


def old_site(evidence: ProbeEvidence, *, cipher: str = "ECDHE-RSA-AES128-GCM-SHA256") -> ProbeEvidence:
    return shaken(evidence, _VISITS, version="TLSv1.2", cipher=cipher, group="X25519", max_early_data_bytes=None)


def test_a_server_with_tls_1_3_is_left_alone() -> None:
    ids = {one.id for one in judge(deep_site()).findings}
    assert not ids & {_OLD_ID, _LATE_ID, _RETRY_ID}


@pytest.mark.parametrize("site", [deep_site(), light_site()])
def test_tls_1_2_alone_is_old_but_costs_browsers_that_false_start_nothing(site: ProbeEvidence) -> None:
    found = finding(_OLD_ID, old_site(site))
    assert found is not None
    assert (found.severity, found.confidence, found.saving_us) == (Severity.MEDIUM, Confidence.HIGH, 0)
    assert fact(found, "version") == "TLSv1.2"
    assert finding(_LATE_ID, old_site(site)) is None


@pytest.mark.parametrize(
    "cipher", ["AES128-SHA256", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"]
)
def test_without_forward_secrecy_and_aead_the_round_trip_is_told_once(cipher: str) -> None:
    diagnosis = judge(old_site(deep_site(), cipher=cipher))
    late = next(one for one in diagnosis.findings if one.id is _LATE_ID)
    old = next(one for one in diagnosis.findings if one.id is _OLD_ID)
    assert (late.severity, late.saving_us) == (Severity.HIGH, RTT_US)
    assert (old.severity, old.saving_us) == (Severity.HIGH, 0)
    assert fact(late, "cipher") == cipher


def test_without_alpn_no_browser_starts_early() -> None:
    site = shaken(old_site(deep_site()), _VISITS, protocol=None)
    late = finding(_LATE_ID, site)
    assert fact(late, "alpn") == "none"


def test_a_server_that_agrees_on_http2_or_on_nothing_lets_browsers_start_early() -> None:
    """As Tomcat does: probes offer HTTP/1.1 alone, browsers HTTP/2 too."""
    nothing = (Trial.FULL, Trial.DELAYED_ACK, Trial.CLASSICAL)
    site = shaken(old_site(deep_site()), nothing, protocol=None)
    assert finding(_LATE_ID, site) is None
    old = finding(_OLD_ID, site)
    assert old is not None
    assert (old.severity, fact(old, "false_start_possible")) == (Severity.MEDIUM, True)


def test_one_connection_that_offered_http_1_1_alone_does_not_show_that_nothing_is_agreed_on() -> None:
    site = shaken(old_site(light_site()), _VISITS, protocol=None)
    assert finding(_LATE_ID, site) is None
    assert left_open(_LATE_ID, site) is NotJudgedReason.NEEDS_DEEP_PROBE
    old = finding(_OLD_ID, site)
    assert old is not None
    assert (old.severity, fact(old, "false_start_possible")) == (Severity.MEDIUM, None)
    assert check(CheckColumn.ALPN, site).answer is Answer.UNKNOWN
    rsa = shaken(site, _VISITS, cipher="AES128-SHA256")
    assert finding(_LATE_ID, rsa) is not None


@pytest.mark.parametrize(
    ("cipher", "protocol", "possible"),
    [
        ("ECDHE-ECDSA-CHACHA20-POLY1305", "h2", True),
        ("ECDHE-RSA-AES256-GCM-SHA384", "http/1.1", True),
        ("ECDHE-RSA-AES256-GCM-SHA384", None, False),
        ("ECDHE-ECDSA-AES128-CCM", "h2", False),
        (None, "h2", False),
    ],
)
def test_false_start_needs_alpn_and_a_fresh_key_with_aead(
    cipher: str | None, protocol: str | None, possible: bool
) -> None:
    assert false_start_possible(handshake(Trial.TLS12, cipher=cipher, protocol=protocol)) is possible


def test_what_browsers_refuse_altogether_is_critical() -> None:
    site = shaken(deep_site(), _VISITS, version="TLSv1.1", cipher="ECDHE-RSA-AES128-SHA")
    found = finding(_OLD_ID, site)
    assert found is not None
    assert found.severity is Severity.CRITICAL


def test_an_old_server_among_new_ones_is_said_with_less_confidence() -> None:
    some = shaken(deep_site(), (Trial.DELAYED_ACK,), version="TLSv1.2", cipher="ECDHE-RSA-AES128-GCM-SHA256")
    found = finding(_OLD_ID, some)
    assert found is not None
    assert found.confidence is Confidence.MEDIUM
    assert fact(found, "seen") == "1 of 5"
    assert finding(_LATE_ID, shaken(some, (Trial.DELAYED_ACK,), protocol=None)) is None


def test_what_needs_tls_1_3_is_hidden_by_its_absence() -> None:
    site = old_site(deep_site())
    assert left_open(FindingId.TLS_PQ, site) == "hidden"
    assert left_open(FindingId.TLS_ZERO_RTT, site) == "hidden"
    assert all(one.hidden_by is _OLD_ID for one in judge(site).not_judged if one.reason == "hidden")


def test_a_second_hello_costs_a_round_trip() -> None:
    site = shaken(deep_site(), (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2), hello_retry=True, group="secp384r1")
    found = finding(_RETRY_ID, site)
    assert found is not None
    assert (found.severity, found.confidence, found.saving_us) == (Severity.HIGH, Confidence.HIGH, RTT_US)
    assert fact(found, "group") == "secp384r1"


def test_a_second_hello_now_and_then_costs_its_share() -> None:
    found = finding(_RETRY_ID, shaken(deep_site(), (Trial.HTTP2,), hello_retry=True))
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.MEDIUM)
    assert found.saving_us == RTT_US // 5


def test_a_second_hello_that_only_classical_clients_see_is_none_of_browsers() -> None:
    assert finding(_RETRY_ID, shaken(deep_site(), (Trial.CLASSICAL,), hello_retry=True)) is None


def test_a_server_that_nobody_shook_hands_with_is_not_called_old() -> None:
    dead = light_site(trials=(trial(Trial.FULL, handshake=None, exchanges=()),))
    assert not judge(dead).findings
