"""The hybrid key exchange: supported, missing, or deadly."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe.key_exchange import RULES
from workers.measurement.evidence import Depth, ProbeEvidence, TcpState, Trial
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import Finding, FindingId, Severity
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.judging import left_open as open_questions
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, probe
from workers.tests.diagnosis.sites import (
    CLASSICAL_HELLO_BYTES,
    deep_site,
    fact,
    finding,
    handshake,
    judge,
    left_open,
    light_site,
    shaken,
    trial,
    without,
)

_PQ = FindingId.TLS_PQ
_BROWSERS = (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2)


def broken(times: int, kind: FailureKind = FailureKind.CONNECTION_RESET) -> ProbeEvidence:
    """The hybrid hello dies that often; all else is asked with classical groups."""
    dead = handshake(Trial.FULL, version=None, ended_us=None, group=None, chain=())
    died = trial(Trial.FULL, handshake=dead, exchanges=(), failure=failure(kind))
    rest = shaken(without(deep_site(), Trial.FULL), _BROWSERS, hello_bytes=CLASSICAL_HELLO_BYTES, group="X25519")
    return replace(rest, trials=(*[died] * times, *rest.trials))


def test_a_server_that_knows_it_is_left_alone() -> None:
    assert finding(_PQ, deep_site()) is None
    assert finding(_PQ, light_site()) is None


def test_a_server_that_does_without_is_worth_a_remark() -> None:
    for site in (deep_site(), light_site()):
        found = finding(_PQ, shaken(site, _BROWSERS, group="X25519"))
        assert found is not None
        assert found.severity is Severity.INFO
        assert fact(found, "group") == "X25519"


def test_a_server_that_dies_of_it_each_time_shuts_browsers_out() -> None:
    for kind in (FailureKind.CONNECTION_RESET, FailureKind.TLS_TIMEOUT, FailureKind.TLS_ALERT):
        found = finding(_PQ, broken(3, kind))
        assert found is not None
        assert (found.severity, found.saving_us) == (Severity.CRITICAL, None)
        assert fact(found, "hybrid") == "fails 3 of 3"
        assert judge(broken(3, kind)).findings[0].id is _PQ


def test_twice_is_not_each_time() -> None:
    assert finding(_PQ, broken(2)) is None
    assert left_open(_PQ, broken(2)) == "not_repeated"
    assert left_open(_PQ, replace(broken(1), depth=Depth.LIGHT)) == "needs_deep_probe"


def test_one_hybrid_handshake_that_works_acquits() -> None:
    mixed = replace(broken(3), trials=(*broken(3).trials, trial(Trial.FULL)))
    assert finding(_PQ, mixed) is None


def test_a_server_that_refuses_every_hello_is_not_blamed_for_this_one() -> None:
    dead = without(broken(3), *(set(Trial) - {Trial.FULL}))
    assert finding(_PQ, dead) is None


def test_a_connection_that_was_never_made_says_nothing_of_hellos() -> None:
    assert finding(_PQ, broken(3, FailureKind.CONNECT_REFUSED)) is None


def test_a_hello_without_it_proves_nothing() -> None:
    site = shaken(deep_site(), _BROWSERS, hello_bytes=CLASSICAL_HELLO_BYTES, group="X25519")
    assert finding(_PQ, site) is None
    assert left_open(_PQ, site) == "not_measured"


def waiting(browsers_us: int, classical_us: int, times: int = 3) -> ProbeEvidence:
    """How long a server 80 ms away does nothing when it has a hybrid hello, and a classical one."""
    kinds = {Trial.FULL: browsers_us, Trial.CLASSICAL: classical_us}
    made = [connection(Path(), Server(sign_us=us), kind) for kind, us in kinds.items() for _ in range(times)]
    return probe(made)


def waits(evidence: ProbeEvidence) -> Finding | None:
    """Only what costs time: a server of these does without the exchange too."""
    said = found(RULES, evidence).get(_PQ)
    return said if said is not None and said.saving_us else None


@pytest.mark.parametrize(("wait_us", "severity"), [(80_000, Severity.HIGH), (60_000, Severity.MEDIUM)])
def test_a_server_that_waits_before_it_reads_the_larger_hello_makes_browsers_wait(
    wait_us: int, severity: Severity
) -> None:
    said = waits(waiting(wait_us + 500, 500))
    assert said is not None
    assert said.severity is severity
    assert said.saving_us == pytest.approx(wait_us, abs=10)
    assert fact(said, "hybrid_ms") == pytest.approx(0.5 + wait_us / 1000, abs=0.1)
    assert fact(said, "classical_ms") == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("browsers_us", "classical_us"), [(80_000, 80_000), (20_000, 500), (500, 80_000), (96_000, 19_000)]
)
def test_what_either_hello_waits_for_or_a_narrow_way_takes_is_no_wait_for_the_larger(
    browsers_us: int, classical_us: int
) -> None:
    assert waits(waiting(browsers_us, classical_us)) is None
    assert _PQ not in open_questions(RULES, waiting(browsers_us, classical_us))


def test_a_wait_that_was_not_seen_often_enough_is_left_open() -> None:
    assert waits(waiting(80_000, 500, 2)) is None
    assert open_questions(RULES, waiting(80_000, 500, 2))[_PQ] == "not_repeated"


def test_a_wait_for_another_hello_is_told_as_that() -> None:
    assert waits(shaken(waiting(80_000, 500), (Trial.FULL,), hello_retry=True)) is None


def test_an_answer_that_the_larger_key_makes_too_long_for_the_window_is_no_wait_for_the_hello() -> None:
    long = [connection(Path(), Server(handshake_bytes=15_000), Trial.FULL) for _ in range(3)]
    short = [connection(Path(), Server(handshake_bytes=14_000), Trial.CLASSICAL) for _ in range(3)]
    assert waits(probe([*long, *short])) is None


def test_an_answer_too_long_for_the_way_is_told_from_a_hello_that_nobody_can_read() -> None:
    site = broken(3, FailureKind.TLS_TIMEOUT)
    stuck = TcpState(min_rtt_us=80_000, rcv_mss_bytes=881, adv_mss_bytes=1448, out_of_order_packets=1)
    trials = [replace(one, tcp_ended=stuck, ended_us=5_000_000) if one.failure else one for one in site.trials]
    assert fact(finding(_PQ, replace(site, trials=tuple(trials))), "full_packets_vanish") is True
    assert fact(finding(_PQ, site), "full_packets_vanish") is None
