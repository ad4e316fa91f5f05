"""Returning visitors: sessions that are continued always, never, or sometimes."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe.thinking import THOUGHTFUL
from workers.measurement.evidence import EarlyData, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, Stage, failure
from workers.measurement.finding import Answer, CheckColumn, FindingId, Severity
from workers.tests.diagnosis.sites import (
    RTT_US,
    answered,
    case,
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

_MISSING, _FLAKY, _ZERO = FindingId.TLS_RESUMPTION_MISSING, FindingId.TLS_RESUMPTION_FLAKY, FindingId.TLS_ZERO_RTT
_PSK = (Trial.RESUMED, Trial.EARLY_DATA)
_NONE = {"max_early_data_bytes": 0}
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


def test_servers_that_take_turns_may_have_met_all_attempts_of_one_kind() -> None:
    """Of both ways together each was continued, of either alone none."""
    site = never(attempts(old(deep_site()), Trial.RESUMED, *[True] * 3), *_OLD_WAYS)
    found = finding(_FLAKY, without(site, Trial.EARLY_DATA))
    assert found is not None
    assert fact(found, "resumed") == "3 of 13"
    assert found.saving_us == pytest.approx(RTT_US * 10 / 13, rel=0.01)


@pytest.mark.parametrize("takes_turns", [True, False])
def test_servers_that_take_turns_may_have_met_strangers_alone_with_tls_1_2(takes_turns: bool) -> None:
    site = never(without(deep_site(), Trial.EARLY_DATA), *_OLD_WAYS)
    site = attempts(site, Trial.RESUMED, *[True, not takes_turns] * 5)
    assert (finding(_MISSING, site) is None) is takes_turns


def test_sessions_that_live_for_seconds_are_told_with_their_life() -> None:
    site = attempts(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED, *[True, False] * 5)
    brief = finding(_FLAKY, shaken(site, (Trial.FULL, Trial.CLASSICAL), ticket_lifetime_s=1))
    assert brief is not None
    assert fact(brief, "ticket_lifetime_s") == 1


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


def no_early_data(think_us: int = 2_000) -> ProbeEvidence:
    """A site that thinks so long about its answers."""
    site = shaken(without(deep_site(), Trial.EARLY_DATA), (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2), **_NONE)
    begun_us = 3 * RTT_US + 1_050 + think_us
    site = answered(site, THOUGHTFUL, first_application_us=begun_us, first_readable_us=begun_us)
    return changed(site, THOUGHTFUL, lambda one: replace(one, records=()))


def spared_us(site: ProbeEvidence) -> int | None:
    found = finding(_ZERO, site)
    assert found is not None
    return found.saving_us


def test_early_data_would_spare_the_way_to_a_server_far_behind_whoever_accepts_its_connections() -> None:
    far = RTT_US + 100_000
    site = shaken(no_early_data(103_000), (Trial.FULL, Trial.CLASSICAL, Trial.RESUMED), network_us=far)
    assert spared_us(site) == far


def test_early_data_does_not_spare_what_the_server_computes_for_the_hello() -> None:
    """An answer that needs none of that came sooner."""
    site = shaken(no_early_data(), (Trial.FULL, Trial.CLASSICAL, Trial.RESUMED), network_us=RTT_US + 50_000)
    assert spared_us(site) == RTT_US + 2_000


def test_early_data_does_not_spare_what_a_hello_takes_to_leave_by_a_narrow_link() -> None:
    """The larger one was answered 50 ms later; the page itself took long."""
    site = shaken(no_early_data(500_000), (Trial.FULL, Trial.RESUMED), network_us=RTT_US + 62_000)
    site = shaken(site, (Trial.CLASSICAL,), network_us=RTT_US + 12_000)
    assert spared_us(site) == RTT_US
    assert spared_us(without(site, Trial.CLASSICAL)) == RTT_US


def test_early_data_does_not_spare_the_round_trip_of_a_hello_that_is_asked_for_again() -> None:
    assert spared_us(shaken(no_early_data(), (Trial.RESUMED,), network_us=2 * RTT_US, hello_retry=True)) == RTT_US


def test_early_data_that_is_allowed_and_always_rejected_is_not_offered() -> None:
    rejected = shaken(deep_site(), (Trial.EARLY_DATA,), early_data=EarlyData.REJECTED)
    assert finding(_ZERO, rejected) is None
    assert fact(finding(_ZERO, repeated(rejected, Trial.EARLY_DATA, 3)), "rejected") == "3 of 3"


def test_nothing_is_said_of_early_data_where_no_ticket_was_seen() -> None:
    site = light_site(trials=(trial(Trial.FULL),))
    unseen = shaken(site, (Trial.FULL,), tickets=None, max_early_data_bytes=None)
    assert left_open(_ZERO, unseen) == "needs_deep_probe"


def elsewhere(evidence: ProbeEvidence, **addresses: tuple[bool, ...]) -> ProbeEvidence:
    """With attempts at further addresses of the name, `a` at 192.0.2.10 and so on."""
    made = []
    for name, resumed in addresses.items():
        for one in resumed:
            there = trial(Trial.RESUMED_ELSEWHERE, exchanges=(), address=address_of(name))
            assert there.handshake is not None
            made.append(replace(there, handshake=replace(there.handshake, resumed=one, chain=())))
    (name_of,) = evidence.names
    named = replace(name_of, addresses=("192.0.2.1", *map(address_of, addresses)))
    return replace(evidence, names=(named,), trials=(*evidence.trials, *made))


def address_of(name: str) -> str:
    return f"192.0.2.{int(name, 16)}"


def test_sessions_that_no_other_address_knows_are_told_with_the_addresses() -> None:
    found = finding(_FLAKY, elsewhere(deep_site(), a=(False,) * 5))
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, None)
    assert (fact(found, "addresses"), fact(found, "resumed")) == (("192.0.2.10",), "0 of 5")
    assert fact(found, "session_of") == "192.0.2.1"


@pytest.mark.parametrize(("others", "share"), [({"a": False}, 1 / 2), ({"a": False, "b": True}, 1 / 3)])
def test_with_tls_1_2_it_costs_those_a_round_trip_who_get_another_address(
    others: dict[str, bool], share: float
) -> None:
    tried = {name: (shared,) if shared else (False,) * 5 for name, shared in others.items()}
    found = finding(_FLAKY, old(elsewhere(deep_site(), **tried)))
    assert found is not None
    assert found.saving_us == round(share * RTT_US)


def test_sessions_that_every_address_knows_are_fine() -> None:
    site = elsewhere(deep_site(), a=(True,), b=(True,))
    assert finding(_FLAKY, site) is None
    assert left_open(_FLAKY, site) is None
    told = check(CheckColumn.RESUMPTION_EVERYWHERE, site)
    assert (told.answer, told.detail) == (Answer.YES, "at 192.0.2.10, 192.0.2.11 as well")


def test_one_attempt_at_another_address_proves_nothing() -> None:
    site = elsewhere(deep_site(), a=(False,))
    assert finding(_FLAKY, site) is None
    assert left_open(_FLAKY, site) == "not_repeated"
    assert check(CheckColumn.RESUMPTION_EVERYWHERE, site).answer is Answer.UNKNOWN


def test_a_site_that_continues_no_session_anywhere_has_another_fault() -> None:
    site = elsewhere(never(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED), a=(False,) * 5)
    assert finding(_FLAKY, site) is None
    assert finding(_MISSING, site) is not None


def test_the_checklist_names_the_addresses_that_do_not_share() -> None:
    told = check(CheckColumn.RESUMPTION_EVERYWHERE, elsewhere(deep_site(), a=(False,) * 5, b=(True,)))
    assert (told.answer, told.detail) == (Answer.NO, "not at 192.0.2.10")


def test_a_nearer_address_is_not_the_round_trip_of_the_target() -> None:
    site = elsewhere(deep_site(), a=(True,))
    near = changed(site, (Trial.RESUMED_ELSEWHERE,), lambda one: replace(one, syn_rtt_us=500, tcp_ended=None))
    assert case(near).rtt_us == RTT_US


def broken_off(evidence: ProbeEvidence, *, of: int = 3, kind: FailureKind = FailureKind.TLS_ALERT) -> ProbeEvidence:
    """Those who come back come to nothing, that many of three times; in the order in which they were asked."""
    died = iter(range(of))

    def change(one: TrialEvidence) -> TrialEvidence:
        assert one.handshake is not None
        if next(died, None) is None:
            return one
        begun = replace(one.handshake, ended_us=None, network_us=None, version=None, resumed=None)
        return replace(one, handshake=begun, exchanges=(), failure=failure(kind, stage=Stage.TLS))

    spread = tuple(replace(one, started_us=1_000_000 * place) for place, one in enumerate(evidence.trials))
    return changed(replace(evidence, trials=spread), (Trial.RESUMED,), change)


def test_a_server_that_breaks_off_whoever_comes_back_shuts_them_out() -> None:
    for site in (deep_site(), old(deep_site())):
        found = finding(FindingId.TLS_RESUMPTION_BROKEN, broken_off(site))
        assert found is not None
        assert (found.severity, fact(found, "resumed")) == (Severity.CRITICAL, "fails 3 of 3")


def silent(evidence: ProbeEvidence, *, seconds: float) -> ProbeEvidence:
    """Those who come back hear nothing for so long, and give up."""

    def change(one: TrialEvidence) -> TrialEvidence:
        assert one.handshake is not None
        said_us = one.handshake.started_us
        said = tuple(each for each in one.transfers if each.at_us <= said_us)
        return replace(one, transfers=said, ended_us=said_us + round(seconds * 1_000_000))

    return changed(broken_off(evidence, kind=FailureKind.TLS_TIMEOUT), (Trial.RESUMED,), change)


def test_a_server_that_never_says_a_word_to_whoever_comes_back_shuts_them_out() -> None:
    found = finding(FindingId.TLS_RESUMPTION_BROKEN, silent(deep_site(), seconds=5))
    assert found is not None
    assert (fact(found, "resumed"), fact(found, "failure")) == ("fails 3 of 3", "tls_timeout")


def test_what_came_to_nothing_sometimes_or_after_a_short_silence_is_not_said_to_break_sessions() -> None:
    id = FindingId.TLS_RESUMPTION_BROKEN
    assert finding(id, broken_off(deep_site(), of=2)) is None
    # A packet may have been lost.
    assert finding(id, silent(deep_site(), seconds=1)) is None
    rarely = tuple(one for place, one in enumerate(deep_site().trials) if place not in (3, 4))
    assert left_open(id, broken_off(replace(deep_site(), trials=rarely))) == "not_repeated"


def test_a_server_that_has_had_enough_of_us_breaks_no_sessions() -> None:
    """After those who come back nobody was served any more."""
    late = (Trial.CLASSICAL, Trial.DELAYED_ACK, Trial.HTTP2)
    site = without(broken_off(deep_site()), *late)
    assert finding(FindingId.TLS_RESUMPTION_BROKEN, site) is None
    assert left_open(FindingId.TLS_RESUMPTION_BROKEN, site) == "not_repeated"
