"""The other address family: broken, slow, or nothing to compare."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.case import Case
from workers.diagnosis.probe import path
from workers.measurement.evidence import Depth, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import Confidence, NotJudgedReason, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, name, probe

BOTH = name(addresses=("192.0.2.1", "2001:db8::1"))
SIX = "2001:db8::1"


def other(**changes: Any) -> TrialEvidence:
    return replace(connection(Path(), Server()), trial=Trial.OTHER_FAMILY, address=SIX, exchanges=(), **changes)


def both(*others: TrialEvidence, **changes: Any) -> ProbeEvidence:
    main = [connection(Path(), Server()) for _ in range(3)]
    return probe([*main, *others], names=(BOTH,), **changes)


def test_an_address_that_refuses_each_time_is_broken() -> None:
    refused = other(failure=failure(FailureKind.CONNECT_REFUSED), handshake=None)
    finding = found(path.RULES, both(refused, refused, refused))[Id.IPV6_BROKEN_OR_SLOW]
    assert finding.severity is Severity.HIGH
    assert finding.saving_us == 80_000


def test_an_address_that_is_silent_costs_what_browsers_wait() -> None:
    silent = other(failure=failure(FailureKind.CONNECT_TIMEOUT), handshake=None, syn_rtt_us=None, tcp_ended=None)
    evidence = both(silent, silent, silent, ipv6_passes=True)
    finding = found(path.RULES, evidence)[Id.IPV6_BROKEN_OR_SLOW]
    assert finding.saving_us == 250_000
    assert finding.confidence is Confidence.MEDIUM
    # Until somebody was reached, it may be our own network that has no IPv6.
    unknown = replace(evidence, ipv6_passes=False)
    assert left_open(path.RULES, unknown)[Id.IPV6_BROKEN_OR_SLOW] is NotJudgedReason.NOT_MEASURED


def test_a_failure_seen_once_is_no_finding() -> None:
    refused = other(failure=failure(FailureKind.CONNECT_REFUSED), handshake=None)
    assert left_open(path.RULES, both(refused))[Id.IPV6_BROKEN_OR_SLOW] is NotJudgedReason.NOT_REPEATED


def test_a_machine_without_ipv6_says_nothing_of_the_site() -> None:
    unreachable = other(failure=failure(FailureKind.CONNECT_UNREACHABLE), handshake=None)
    evidence = both(unreachable, unreachable, unreachable)
    assert left_open(path.RULES, evidence)[Id.IPV6_BROKEN_OR_SLOW] is NotJudgedReason.NOT_MEASURED


@pytest.mark.parametrize(("ipv6_us", "slow"), [(121_000, True), (119_000, False), (90_000, False)])
def test_slower_means_half_as_much_again_and_thirty_milliseconds(ipv6_us: int, slow: bool) -> None:
    six = other(syn_rtt_us=ipv6_us, tcp_connected=None, tcp_ended=None)
    findings = found(path.RULES, both(six, six, six))
    assert (Id.IPV6_BROKEN_OR_SLOW in findings) is slow
    if slow:
        assert findings[Id.IPV6_BROKEN_OR_SLOW].saving_us == 3 * (ipv6_us - 80_000)


def by_turns(*trips_ms: int) -> ProbeEvidence:
    """Three connections over IPv4, and then by turns over IPv6 and IPv4 with such round trips."""
    made = [connection(Path(), Server()) if turn % 2 else other() for turn in range(len(trips_ms))]
    turns = [
        replace(trial, syn_rtt_us=1000 * trip_ms, tcp_connected=None, tcp_ended=None)
        for trial, trip_ms in zip(made, trips_ms, strict=True)
    ]
    main = [connection(Path(), Server()) for _ in range(3)]
    timed = [replace(trial, started_us=1_000_000 * number) for number, trial in enumerate((*main, *turns))]
    return probe(timed, names=(BOTH,))


def test_a_queue_that_fills_for_a_while_makes_no_family_slower() -> None:
    """Connections over IPv4 right before and after are as slow."""
    assert Id.IPV6_BROKEN_OR_SLOW not in found(path.RULES, by_turns(190, 195, 200, 190, 180))
    assert Id.IPV6_BROKEN_OR_SLOW not in found(path.RULES, by_turns(190, 80, 190, 180, 170)), "full again"


def test_a_slower_family_is_as_slow_when_asked_by_turns() -> None:
    finding = found(path.RULES, by_turns(165, 82, 160, 80, 164))[Id.IPV6_BROKEN_OR_SLOW]
    assert finding.saving_us == 3 * (160_000 - 82_000)


def test_a_way_so_far_that_browsers_take_the_other_costs_what_they_wait() -> None:
    six = other(syn_rtt_us=340_000, tcp_connected=None, tcp_ended=None)
    assert found(path.RULES, both(six, six, six))[Id.IPV6_BROKEN_OR_SLOW].saving_us == 250_000


def test_the_other_family_does_not_make_this_one_nearer() -> None:
    six = other(syn_rtt_us=20_000, tcp_connected=None, tcp_ended=None)
    assert Case(evidence=both(six)).rtt_us == Case(evidence=both()).rtt_us


def test_a_site_of_one_family_has_nothing_to_compare() -> None:
    assert Id.IPV6_BROKEN_OR_SLOW not in left_open(path.RULES, probe([connection(Path(), Server())]))


def test_a_light_probe_leaves_the_other_family_open() -> None:
    evidence = both(depth=Depth.LIGHT)
    assert left_open(path.RULES, evidence)[Id.IPV6_BROKEN_OR_SLOW] is NotJudgedReason.NEEDS_DEEP_PROBE
