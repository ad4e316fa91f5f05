"""How much of certificates is sent: found where it is too much, silent where it is needed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from workers.measurement.evidence import (
    CertificateCompression,
    ChainCertificate,
    Direction,
    ProbeEvidence,
    Transfer,
    Trial,
)
from workers.measurement.finding import Answer, CheckColumn, Confidence, FindingId, Severity
from workers.tests.diagnosis.sites import (
    HOST,
    INTERMEDIATE,
    LEAF,
    NOW,
    RTT_US,
    authority,
    certificate,
    changed,
    check,
    deep_site,
    fact,
    finding,
    judge,
    left_open,
    light_site,
    sent,
    shaken,
    trial,
    without,
)

_LARGE, _NEEDLESS, _OCSP = FindingId.TLS_CHAIN_LARGE, FindingId.TLS_CHAIN_NEEDLESS, FindingId.TLS_OCSP
_ROOT = authority("Root CA", "Root CA", der_bytes=700)


def of_size(size: int) -> ProbeEvidence:
    return sent(certificate(HOST, "Issuing CA", der_bytes=size - 1_000), INTERMEDIATE)


def quic(
    evidence: ProbeEvidence, *received: tuple[float, int], hello: int = 2, answered: float = 1.02
) -> ProbeEvidence:
    """With datagrams that come in after so many round trips, and one more of ours. Our hello takes so many."""
    came = [
        Transfer(at_us=round(rtts * RTT_US), direction=Direction.RECEIVED, size_bytes=size) for rtts, size in received
    ]
    said = (*[0.0] * hello, answered)
    ours = [Transfer(at_us=round(rtts * RTT_US), direction=Direction.SENT, size_bytes=1_200) for rtts in said]
    transfers = tuple(sorted((*came, *ours), key=lambda one: one.at_us))
    ended = shaken(evidence, (Trial.HTTP3,), started_us=0, ended_us=came[-1].at_us)
    return changed(ended, (Trial.HTTP3,), lambda one: replace(one, transfers=transfers))


def slow_quic(evidence: ProbeEvidence, *, hello: int = 2) -> ProbeEvidence:
    """Three datagrams for each of ours, then one round trip of silence."""
    first = [(1 + place / 1000, 1_200) for place in range(3 * hello)]
    return quic(evidence, *first, (2.05, 1_200), (2.051, 800), hello=hello)


def quick_quic(evidence: ProbeEvidence) -> ProbeEvidence:
    """All at once, whatever the rule says, then a server that takes its time over the last datagram."""
    return quic(evidence, *[(1 + place / 1000, 1_200) for place in range(7)], (1.9, 800))


@pytest.mark.parametrize(("size", "large"), [(2_000, False), (4_096, False), (4_097, True), (9_400, True)])
def test_a_chain_above_four_kilobytes_is_worth_a_remark(size: int, large: bool) -> None:
    found = finding(_LARGE, without(of_size(size), Trial.HTTP3))
    assert (found is not None) is large
    if found is not None:
        assert (found.severity, found.saving_us) == (Severity.INFO, None)
        assert fact(found, "chain_bytes") == size


@pytest.mark.parametrize("size", [7_300, 9_400])
@pytest.mark.parametrize("hello", [1, 2])
def test_a_chain_above_what_quic_may_send_costs_its_visitors_a_round_trip(size: int, hello: int) -> None:
    found = finding(_LARGE, slow_quic(of_size(size), hello=hello))
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, RTT_US)


@pytest.mark.parametrize("size", [3_700, 5_500, 7_200])
def test_what_stops_a_hello_of_one_datagram_alone_costs_no_browser_anything(size: int) -> None:
    """Theirs takes two, so that a server may send twice as much."""
    found = finding(_LARGE, slow_quic(of_size(size), hello=1))
    assert (found is not None) is (size > 4_096)
    if found is not None:
        assert (found.severity, found.saving_us) == (Severity.INFO, None)


def test_a_server_that_stops_once_it_has_sent_as_much_as_it_may_is_stopped_by_that() -> None:
    """quic-go, which Caddy and others have, begins a datagram as long as there is room for any of it."""
    over = quic(of_size(8_000), *[(1 + place / 1000, 1_252) for place in range(6)], (2.04, 1_252), (2.041, 448))
    found = finding(_LARGE, over)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, RTT_US)
    assert fact(found, "http3_first_flight_bytes") == 6 * 1_252


def test_a_server_that_got_half_of_the_hello_at_first_is_stopped_all_the_same() -> None:
    """As one of quic-go's that was still making the connection: it acknowledges the one half, and we say the other
    again."""
    half = [(1.01, 45), *[(4.05 + place / 1000, 1_252) for place in range(6)], (5.08, 1_252), (5.081, 318)]
    evidence = quic(of_size(9_400), *half, answered=3.02)
    found = finding(_LARGE, evidence)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, RTT_US)
    assert fact(found, "http3_first_flight_bytes") == 6 * 1_252


def test_the_cause_of_amplification_is_the_chain_and_told_once() -> None:
    ids = [one.id for one in judge(slow_quic(of_size(9_000))).findings]
    assert ids.count(_LARGE) == 1
    assert FindingId.HTTP_H3 not in ids


def test_a_long_chain_that_costs_quic_nothing_is_a_remark() -> None:
    found = finding(_LARGE, quick_quic(of_size(8_500)))
    assert found is not None
    assert found.severity is Severity.INFO


def test_a_chain_of_http_3_alone_is_told_with_its_own_size() -> None:
    """Another server, or another key: what the server sends over TCP is not what HTTP/3 waits for."""
    other = certificate(HOST, "Issuing CA", der_bytes=8_000, issued_by=1)
    site = of_size(2_000)
    evidence = shaken(replace(site, certificates=(*site.certificates, other)), (Trial.HTTP3,), chain=(2, 1))
    told = finding(_LARGE, slow_quic(evidence))
    assert (fact(told, "chain_bytes"), fact(told, "tcp_chain_bytes")) == (9_000, 2_000)
    assert fact(finding(_LARGE, slow_quic(of_size(9_000))), "tcp_chain_bytes") is None


def test_a_slow_quic_handshake_with_a_short_chain_has_another_cause() -> None:
    assert finding(_LARGE, slow_quic(of_size(2_000))) is None


def offered(evidence: ProbeEvidence, *answers: CertificateCompression | None) -> ProbeEvidence:
    """With so many connections that offer compression, and what the server did."""
    made = []
    for answer in answers:
        one = trial(Trial.COMPRESSED, exchanges=())
        assert one.handshake is not None
        shaken_hands = replace(
            one.handshake,
            chain=(),
            certificate_message_bytes=5_100 if answer is None else 1_500,
            certificate_compression=answer,
            certificate_inflated_bytes=None if answer is None else 5_100,
        )
        made.append(replace(one, handshake=shaken_hands))
    return replace(evidence, trials=(*evidence.trials, *made))


_COMPRESSION, _BROTLI = FindingId.TLS_CERT_COMPRESSION, CertificateCompression.BROTLI


@pytest.mark.parametrize(("times", "confidence"), [(1, Confidence.MEDIUM), (3, Confidence.HIGH)])
def test_a_long_chain_that_is_never_compressed_is_a_small_fault(times: int, confidence: Confidence) -> None:
    found = finding(_COMPRESSION, offered(without(of_size(5_000), Trial.HTTP3), *[None] * times))
    assert found is not None
    assert (found.severity, found.confidence, found.saving_us) == (Severity.LOW, confidence, None)
    assert fact(found, "offered") == ("zlib", "brotli", "zstd")
    assert (fact(found, "refused"), fact(found, "saves_round_trip")) == (f"{times} of {times}", False)


def test_a_chain_that_is_compressed_is_none() -> None:
    for answers in ((_BROTLI,), (None, _BROTLI, None)):
        site = offered(of_size(5_000), *answers)
        assert finding(_COMPRESSION, site) is None
        assert left_open(_COMPRESSION, site) is None


def test_where_compression_was_not_offered_nothing_is_said_of_it() -> None:
    assert left_open(_COMPRESSION, of_size(5_000)) == "not_measured"
    assert left_open(_COMPRESSION, of_size(2_000)) is None
    light = light_site(certificates=of_size(5_000).certificates)
    assert left_open(_COMPRESSION, light) == "needs_deep_probe"
    broken = offered(of_size(5_000), None)
    failed = changed(broken, (Trial.COMPRESSED,), lambda one: replace(one, handshake=None))
    assert left_open(_COMPRESSION, failed) == "not_measured"


def test_http_3_gains_from_less() -> None:
    site = offered(of_size(3_700), None)
    assert finding(_COMPRESSION, site) is not None
    assert finding(_COMPRESSION, without(site, Trial.HTTP3)) is None


@pytest.mark.parametrize(
    ("how", "spared", "severity"),
    [
        (_BROTLI, ("Chrome", "Firefox"), Severity.INFO),
        (CertificateCompression.ZLIB, ("Safari", "Firefox"), Severity.MEDIUM),
        (None, None, Severity.MEDIUM),
    ],
)
def test_compression_that_ends_the_amplification_for_most_leaves_a_remark(
    how: CertificateCompression | None, spared: tuple[str, ...] | None, severity: Severity
) -> None:
    found = finding(_LARGE, offered(slow_quic(of_size(9_000)), how))
    assert found is not None
    assert (found.severity, fact(found, "compressed_for")) == (severity, spared)
    assert (found.saving_us is None) is (severity is Severity.INFO)


def test_compression_that_would_end_the_amplification_matters_more_and_is_not_counted_twice() -> None:
    site = offered(slow_quic(of_size(9_000)), *[None] * 3)
    found = finding(_COMPRESSION, site)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, None)
    assert (fact(found, "saves_round_trip"), fact(found, "http3_late_bytes")) == (True, 2_000)
    assert sum(one.saving_us == RTT_US for one in judge(site).findings) == 1
    little = shaken(site, (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2), chain_zlib_bytes=8_500)
    found = finding(_COMPRESSION, little)
    assert found is not None
    assert found.severity is Severity.LOW


@pytest.mark.parametrize(
    ("site", "answer", "detail"),
    [
        (offered(of_size(5_000), _BROTLI), Answer.YES, "brotli: 5.1 kB sent as 1.5 kB"),
        (offered(of_size(5_000), None), Answer.NO, "zlib would make 5.0 kB 1.5 kB"),
        (of_size(2_000), Answer.NOT_APPLICABLE, "2.0 kB need no compression"),
        (of_size(5_000), Answer.UNKNOWN, "not measured; zlib would make 5.0 kB 1.5 kB"),
        (light_site(certificates=of_size(5_000).certificates), Answer.UNKNOWN, "needs a deep probe"),
    ],
)
def test_the_checklist_says_whether_certificates_are_compressed(
    site: ProbeEvidence, answer: Answer, detail: str
) -> None:
    told = check(CheckColumn.CERTIFICATE_COMPRESSION, site)
    assert (told.answer, told.detail) == (answer, detail)


@pytest.mark.parametrize(
    ("chain", "needless"),
    [
        ((LEAF, INTERMEDIATE), None),
        ((LEAF, INTERMEDIATE, _ROOT), ("CN=Root CA",)),
        ((LEAF, LEAF, INTERMEDIATE), (f"CN={HOST}",)),
        ((LEAF, INTERMEDIATE, INTERMEDIATE), ("CN=Issuing CA",)),
        ((LEAF, INTERMEDIATE, authority("Stranger", "Elsewhere")), ("CN=Stranger",)),
        # In another order they are all needed.
        ((LEAF, authority("Upper CA", "Root CA"), authority("Issuing CA", "Upper CA")), None),
        # Cross-signed for old clients: two ways up.
        ((LEAF, INTERMEDIATE, authority("Issuing CA", "Old Root CA")), None),
        ((LEAF, INTERMEDIATE, authority("Root CA", "Old Root CA")), None),
        ((certificate(HOST, HOST),), None),
        ((LEAF,), None),
    ],
)
def test_what_leads_nowhere_is_needless(chain: tuple[ChainCertificate, ...], needless: tuple[str, ...] | None) -> None:
    found = finding(_NEEDLESS, sent(*chain))
    assert (None if found is None else fact(found, "needless")) == needless
    assert found is None or found.severity is Severity.LOW


def test_certificates_that_sign_each_other_come_to_an_end() -> None:
    loop = (LEAF, authority("Issuing CA", "Other CA"), authority("Other CA", "Issuing CA"))
    assert finding(_NEEDLESS, sent(*loop)) is None


def with_responder(*, must_staple: bool = False) -> ChainCertificate:
    return certificate(HOST, "Issuing CA", ocsp_urls=("http://ocsp.example.net",), must_staple=must_staple)


@pytest.mark.parametrize(
    ("leaf", "stapled", "severity"),
    [
        (LEAF, False, None),
        (with_responder(), True, None),
        (with_responder(), False, Severity.LOW),
        (with_responder(must_staple=True), False, Severity.CRITICAL),
        (with_responder(must_staple=True), True, None),
        (certificate(HOST, "Issuing CA", must_staple=True), False, Severity.CRITICAL),
        (with_responder(), None, None),
    ],
)
def test_a_staple_is_missed_where_there_could_be_one(
    leaf: ChainCertificate, stapled: bool | None, severity: Severity | None
) -> None:
    found = finding(_OCSP, sent(leaf, INTERMEDIATE, stapled=stapled))
    assert (None if found is None else found.severity) is severity


def test_a_server_that_staples_from_the_second_connection_on_staples() -> None:
    first_without = shaken(sent(with_responder(), INTERMEDIATE, stapled=True), (Trial.HTTP2,), stapled=False)
    assert finding(_OCSP, first_without) is None
    demanded = shaken(sent(with_responder(must_staple=True), INTERMEDIATE, stapled=True), (Trial.HTTP2,), stapled=False)
    assert fact(finding(_OCSP, demanded), "without_staple") == "1 of 5"


@pytest.mark.parametrize(
    ("must_staple", "ends_hours", "severity"),
    [(False, 1, None), (False, -1, Severity.LOW), (True, 1, None), (True, -240, Severity.CRITICAL), (True, None, None)],
)
def test_a_staple_that_has_run_out_is_none(
    must_staple: bool, ends_hours: int | None, severity: Severity | None
) -> None:
    ends = None if ends_hours is None else NOW + timedelta(hours=ends_hours)
    site = sent(with_responder(must_staple=must_staple), INTERMEDIATE, stapled=True, staple_ends=ends)
    found = finding(_OCSP, site)
    assert (None if found is None else found.severity) is severity
    stapling = check(CheckColumn.OCSP_STAPLING, site)
    assert (stapling.answer is Answer.NO) is (severity is not None)
    if found is not None and ends is not None:
        assert fact(found, "staple_ended") == ends.isoformat()
        assert stapling.detail.endswith("stapled too long ago")


def test_the_faultless_site_has_none_of_these() -> None:
    assert not judge(deep_site()).findings
