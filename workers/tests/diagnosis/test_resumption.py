"""Returning visitors: sessions that are continued always, never, or sometimes."""

from dataclasses import replace

import pytest

from workers.measurement.evidence import EarlyData, ProbeEvidence, Trial
from workers.measurement.finding import FindingId, Severity
from workers.tests.diagnosis.sites import (
    RTT_US,
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

_MISSING, _FLAKY, _ZERO = FindingId.TLS_RESUMPTION_MISSING, FindingId.TLS_RESUMPTION_FLAKY, FindingId.TLS_ZERO_RTT
_PSK = (Trial.RESUMED, Trial.EARLY_DATA)
_OLD_WAYS = (Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)


def old(evidence: ProbeEvidence) -> ProbeEvidence:
    """Nothing newer than TLS 1.2."""
    kinds = (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2, Trial.CLASSICAL, *_PSK)
    cipher = "ECDHE-RSA-AES128-GCM-SHA256"
    return shaken(evidence, kinds, version="TLSv1.2", cipher=cipher, group="X25519", max_early_data_bytes=None)


def attempts(evidence: ProbeEvidence, kind: Trial, *resumed: bool) -> ProbeEvidence:
    """With exactly these attempts of a kind."""
    first = evidence.of(kind)[0]
    assert first.handshake is not None
    made = tuple(replace(first, handshake=replace(first.handshake, resumed=one)) for one in resumed)
    return replace(evidence, trials=(*without(evidence, kind).trials, *made))


def never(evidence: ProbeEvidence, *kinds: Trial, times: int = 5) -> ProbeEvidence:
    for kind in kinds:
        evidence = attempts(evidence, kind, *[False] * times)
    return evidence


def test_sessions_that_are_always_continued_are_fine() -> None:
    for site in (deep_site(), old(deep_site())):
        assert finding(_MISSING, site) is None
        assert finding(_FLAKY, site) is None
        assert left_open(_MISSING, site) is None


def test_no_session_with_tls_1_3_costs_bytes_and_computing() -> None:
    site = never(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED)
    found = finding(_MISSING, site)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.LOW, None)
    assert (fact(found, "versions"), fact(found, "psk")) == (("TLSv1.3",), "0 of 5")


def test_no_session_with_tls_1_2_costs_a_round_trip() -> None:
    site = never(without(old(deep_site()), *_PSK), *_OLD_WAYS)
    found = finding(_MISSING, site)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.HIGH, RTT_US)
    assert (fact(found, "ticket"), fact(found, "session_id")) == ("0 of 5", "0 of 5")


def test_one_of_both_ways_is_enough() -> None:
    for way in _OLD_WAYS:
        assert finding(_MISSING, never(old(deep_site()), way)) is None


def test_too_few_attempts_prove_nothing() -> None:
    site = never(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED, times=4)
    assert finding(_MISSING, site) is None
    assert left_open(_MISSING, site) == "not_repeated"


def test_a_server_that_gives_no_ticket_cannot_continue_anything() -> None:
    site = shaken(without(deep_site(), *_PSK), (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2), tickets=0)
    assert fact(finding(_MISSING, site), "versions") == ("TLSv1.3",)
    assert left_open(_ZERO, site) == "hidden"


def test_one_connection_cannot_show_it() -> None:
    assert left_open(_MISSING, light_site()) == "needs_deep_probe"
    assert left_open(_FLAKY, light_site()) == "needs_deep_probe"


@pytest.mark.parametrize(
    ("successes", "tried", "found", "open_for"),
    [
        (5, 10, True, None),
        (8, 10, True, None),
        (9, 10, False, None),
        (10, 10, False, None),
        (3, 5, False, "not_repeated"),
        (0, 10, False, None),
    ],
)
def test_sometimes_needs_ten_attempts(successes: int, tried: int, found: bool, open_for: str | None) -> None:
    site = attempts(
        without(deep_site(), Trial.EARLY_DATA),
        Trial.RESUMED,
        *[True] * successes,
        *[False] * (tried - successes),
    )
    assert (finding(_FLAKY, site) is not None) is found
    assert left_open(_FLAKY, site) == open_for


def test_what_is_continued_sometimes_costs_its_share_of_a_round_trip_with_tls_1_2() -> None:
    site = attempts(without(old(deep_site()), *_PSK), Trial.TLS12_TICKET, *[True, False] * 5)
    found = finding(_FLAKY, site)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, RTT_US // 2)
    assert fact(found, "resumed") == "5 of 10"


def test_never_and_sometimes_are_never_both_told() -> None:
    for successes in range(11):
        site = attempts(
            without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED, *[True] * successes, *[False] * (10 - successes)
        )
        assert not (finding(_MISSING, site) and finding(_FLAKY, site))


def test_tickets_that_allow_no_early_data_are_a_remark() -> None:
    site = shaken(
        without(deep_site(), Trial.EARLY_DATA), (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2), max_early_data_bytes=0
    )
    found = finding(_ZERO, site)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.INFO, RTT_US)


def test_early_data_that_is_allowed_and_always_rejected_is_not_offered() -> None:
    rejected = shaken(deep_site(), (Trial.EARLY_DATA,), early_data=EarlyData.REJECTED)
    assert finding(_ZERO, rejected) is None
    assert fact(finding(_ZERO, repeated(rejected, Trial.EARLY_DATA, 3)), "rejected") == "3 of 3"


def test_nothing_is_said_of_early_data_where_no_ticket_was_seen() -> None:
    site = light_site(trials=(trial(Trial.FULL),))
    unseen = shaken(site, (Trial.FULL,), tickets=None, max_early_data_bytes=None)
    assert left_open(_ZERO, unseen) == "needs_deep_probe"
