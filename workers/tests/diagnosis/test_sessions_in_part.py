"""What is said of sessions where attempts are few, differ, or came to nothing for another reason."""

from dataclasses import replace

import pytest

from workers.measurement.evidence import EarlyData, Handshake, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, Stage, failure
from workers.measurement.finding import FindingId
from workers.tests.diagnosis.sites import (
    RTT_US,
    changed,
    deep_site,
    fact,
    finding,
    left_open,
    light_site,
    shaken,
    without,
)
from workers.tests.diagnosis.test_resumption import attempts, broken_off, elsewhere, never, old

_MISSING, _FLAKY, _ZERO = FindingId.TLS_RESUMPTION_MISSING, FindingId.TLS_RESUMPTION_FLAKY, FindingId.TLS_ZERO_RTT
_BROKEN = FindingId.TLS_RESUMPTION_BROKEN
_PSK = (Trial.RESUMED, Trial.EARLY_DATA)
_FIRST = (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2)


def with_tickets(*tickets: int) -> ProbeEvidence:
    """First visits that were given so many each; with none of them a session was tried to continue."""
    full = deep_site().of(Trial.FULL)[0]
    shake = full.handshake
    assert shake is not None
    made = (replace(full, handshake=replace(shake, tickets=one, max_early_data_bytes=None)) for one in tickets)
    return replace(deep_site(), trials=(*without(deep_site(), *_FIRST, *_PSK).trials, *made))


@pytest.mark.parametrize(
    ("tickets", "none"), [((0, 0, 0), True), ((0, 0), False), ((0, 0, 2), False), ((2, 2, 2), False)]
)
def test_that_no_tickets_are_given_is_known_of_three_connections_without_any(
    tickets: tuple[int, ...], none: bool
) -> None:
    site = with_tickets(*tickets)
    found = finding(_MISSING, site)
    assert (found is not None) is none
    assert left_open(_ZERO, site) == ("hidden" if none else "not_measured")
    assert none or left_open(_MISSING, site) == "not_measured"
    assert found is None or fact(found, "psk") is None, "nothing was tried"


def test_with_tls_1_2_either_way_is_enough_and_both_have_to_be_tried_for_none() -> None:
    ways = (Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
    site = without(old(deep_site()), *_PSK)
    for way, other in (ways, ways[::-1]):
        one = never(attempts(site, other, *[True] * 3), way)
        assert (finding(_MISSING, one), left_open(_MISSING, one)) == (None, None)
        few = never(never(site, way), other, times=4)
        assert (finding(_MISSING, few), left_open(_MISSING, few)) == (None, "not_repeated")


def test_whether_browsers_could_start_early_is_told_of_tls_1_2_alone() -> None:
    site = never(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED)
    assert fact(finding(_MISSING, site), "false_start_possible") is None
    older = never(without(old(deep_site()), *_PSK), Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
    assert fact(finding(_MISSING, older), "false_start_possible") is not None


def test_an_address_that_continued_a_session_once_shares_them() -> None:
    site = elsewhere(deep_site(), a=(True, False, False, False, False))
    assert finding(_FLAKY, site) is None


def test_with_tls_1_2_each_address_that_shares_none_costs_its_part() -> None:
    found = finding(_FLAKY, old(elsewhere(deep_site(), a=(False,) * 5, b=(False,) * 5)))
    assert found is not None
    assert found.saving_us == round(RTT_US * 2 / 3)


def test_sessions_that_are_continued_sometimes_cost_no_round_trip_with_tls_1_3_and_are_told_once() -> None:
    site = attempts(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED, *[True, False] * 5)
    site = elsewhere(site, a=(False,))
    found = finding(_FLAKY, site)
    assert found is not None
    assert found.saving_us is None
    assert left_open(_FLAKY, site) is None


def test_a_life_of_no_seconds_is_none_that_a_server_tells() -> None:
    site = attempts(without(deep_site(), Trial.EARLY_DATA), Trial.RESUMED, *[True, False] * 5)
    mixed = shaken(shaken(site, _FIRST, ticket_lifetime_s=0), (Trial.HTTP2,), ticket_lifetime_s=7_200)
    assert fact(finding(_FLAKY, mixed), "ticket_lifetime_s") == 7_200


def test_what_a_deep_probe_could_not_try_is_not_promised_of_one() -> None:
    assert left_open(_FLAKY, without(deep_site(), *_PSK)) is None
    unanswered = light_site(trials=())
    assert (left_open(_FLAKY, unanswered), left_open(_MISSING, unanswered)) == (None, None)


def ended(evidence: ProbeEvidence, kinds: tuple[Trial, ...], *, shook: bool) -> ProbeEvidence:
    """These were reset: behind a handshake that came to its end, or in it."""

    def change(one: TrialEvidence) -> TrialEvidence:
        shake: Handshake | None = one.handshake
        if shake is not None and not shook:
            shake = replace(shake, ended_us=None, network_us=None, version=None, resumed=None)
        stage = Stage.WAIT if shook else Stage.TLS
        return replace(one, handshake=shake, exchanges=(), failure=failure(FailureKind.CONNECTION_RESET, stage=stage))

    spread = tuple(replace(one, started_us=1_000_000 * place) for place, one in enumerate(evidence.trials))
    return changed(replace(evidence, trials=spread), kinds, change)


def test_a_connection_that_is_reset_behind_its_handshake_breaks_no_session() -> None:
    assert finding(_BROKEN, ended(deep_site(), (Trial.RESUMED,), shook=False)) is not None
    reset = ended(deep_site(), (Trial.RESUMED,), shook=True)
    assert (finding(_BROKEN, reset), left_open(_BROKEN, reset)) == (None, None)


def test_where_a_session_was_continued_once_or_none_was_tried_none_are_said_to_be_broken_off() -> None:
    assert left_open(_BROKEN, broken_off(deep_site(), of=2)) is None
    assert left_open(_BROKEN, without(deep_site(), Trial.RESUMED)) is None


@pytest.mark.parametrize(
    ("dead", "reason"),
    [
        ((Trial.FULL,), "not_repeated"),
        ((Trial.CLASSICAL, *_FIRST[1:]), "not_repeated"),
        ((Trial.CLASSICAL, *_FIRST), None),
    ],
)
def test_sessions_are_broken_only_where_those_who_began_anew_were_served_before_and_after(
    dead: tuple[Trial, ...], reason: str | None
) -> None:
    """A server that breaks off all has no fault with sessions."""
    site = ended(deep_site(), (Trial.RESUMED, *dead), shook=False)
    assert finding(_BROKEN, site) is None
    assert left_open(_BROKEN, site) == reason


def test_where_some_tickets_allow_early_data_or_some_of_it_was_accepted_it_is_offered() -> None:
    assert left_open(_ZERO, deep_site()) is None
    some = shaken(deep_site(), (Trial.HTTP2,), max_early_data_bytes=0)
    assert finding(_ZERO, some) is None
    first = deep_site().of(Trial.EARLY_DATA)[0]
    shake = first.handshake
    assert shake is not None
    answers = (EarlyData.REJECTED, EarlyData.REJECTED, EarlyData.ACCEPTED)
    made = (replace(first, handshake=replace(shake, early_data=one)) for one in answers)
    mixed = without(deep_site(), Trial.EARLY_DATA)
    assert finding(_ZERO, replace(mixed, trials=(*mixed.trials, *made))) is None
