"""Servers that are late with the first word of each handshake, whether or not they sign in it."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.case import Case
from workers.diagnosis.probe import answers, handshakes
from workers.diagnosis.probe.late_begins import up_us_per_byte
from workers.measurement.evidence import Direction, ProbeEvidence, TcpState, Transfer, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, deep, plain

RULES = (*handshakes.RULES, *answers.RULES)
LATE_US = 60_000
LATE = Server(begin_us=LATE_US, body_bytes=20_000)
ANYWHERE = pytest.mark.parametrize("rtt_ms", [5, 20, 80, 380])
ANEW = [kind for kind in DEEP if kind not in {Trial.RESUMED, Trial.TLS12_TICKET}]
VERSIONS = pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])


@ANYWHERE
@VERSIONS
@pytest.mark.parametrize("jitter", [0, 0.05])
def test_who_is_late_with_handshakes_that_continue_a_session_is_not_slow_by_its_key(
    rtt_ms: float, version: str, jitter: float
) -> None:
    told = found(RULES, with_plain(Path(rtt_ms=rtt_ms, jitter=jitter), replace(LATE, version=version)))
    assert told.keys() == {Id.TLS_HANDSHAKE_STALL}
    stall = told[Id.TLS_HANDSHAKE_STALL]
    assert stall.saving_us == pytest.approx(LATE_US, rel=0.1, abs=jitter * rtt_ms * 1000)
    assert facts(stall)["bytes_before"] == 0


@ANYWHERE
@VERSIONS
def test_of_a_late_server_the_key_costs_what_it_takes_besides(rtt_ms: float, version: str) -> None:
    server = replace(LATE, sign_us=30_000, version=version)
    told = found(RULES, with_plain(Path(rtt_ms=rtt_ms), server))
    assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(30_000, rel=0.05)
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(LATE_US, rel=0.05)


@ANYWHERE
def test_what_a_large_key_costs_is_not_what_all_handshakes_wait_for(rtt_ms: float) -> None:
    server = replace(LATE, sign_us=6_000, key_bits=4096)
    told = found(RULES, deep(Path(rtt_ms=rtt_ms), server))
    assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(6_000, rel=0.1)


@ANYWHERE
def test_a_signature_that_takes_as_long_is_the_keys(rtt_ms: float) -> None:
    told = found(RULES, deep(Path(rtt_ms=rtt_ms), Server(sign_us=LATE_US)))
    assert told.keys() == {Id.TLS_KEY_COST}
    assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(LATE_US, rel=0.05)


@pytest.mark.parametrize("rtt_ms", [20, 80])
def test_a_server_far_behind_a_proxy_near_us_is_not_late_with_handshakes(rtt_ms: float) -> None:
    assert not found(RULES, deep(Path(rtt_ms=rtt_ms, behind_us=LATE_US), Server()))


@ANYWHERE
@VERSIONS
@pytest.mark.parametrize("kinds", [DEEP, ANEW])
def test_what_connections_without_tls_wait_for_too_is_not_the_handshakes(
    rtt_ms: float, version: str, kinds: list[Trial]
) -> None:
    """As behind a firewall that looks into what is said first, with sessions to continue and without."""
    path, server = Path(rtt_ms=rtt_ms, looked_into_us=LATE_US), Server(body_bytes=20_000, version=version)
    assert not found(RULES, with_plain(path, server, trials=kinds))


@ANYWHERE
@pytest.mark.parametrize("late_us", [5_000, 14_600])
@pytest.mark.parametrize("kinds", [DEEP, ANEW])
def test_what_is_hardly_any_by_itself_is_no_part_of_a_slow_key_either(
    rtt_ms: float, late_us: int, kinds: list[Trial]
) -> None:
    quick, slow = (Server(sign_us=sign_us, think_us=(100,)) for sign_us in (1_500, 40_000))
    path = Path(rtt_ms=rtt_ms, looked_into_us=late_us)
    assert not found(RULES, with_plain(path, quick, trials=kinds))
    told = found(RULES, with_plain(path, slow, trials=kinds))
    assert told[Id.TLS_KEY_COST].saving_us == pytest.approx(40_000, abs=1_500)


def test_a_late_begin_is_left_open_where_connections_without_tls_are_as_late() -> None:
    path = Path(looked_into_us=LATE_US)
    assert left_open(RULES, with_plain(path, Server()))[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.WITHOUT_TLS_TOO
    evidence = deep(path, Server())
    prompt = replace(evidence, trials=(*evidence.trials, plain(Path(), Server())))
    assert Id.TLS_HANDSHAKE_STALL in found(RULES, prompt)


@ANYWHERE
@VERSIONS
def test_a_late_begin_is_left_open_where_nothing_without_tls_was_answered(rtt_ms: float, version: str) -> None:
    """A firewall that looks into each connection makes it as late as the server would."""
    alone = deep(Path(rtt_ms=rtt_ms, looked_into_us=LATE_US), Server(version=version))
    assert Id.TLS_HANDSHAKE_STALL not in found(RULES, alone)
    assert left_open(RULES, alone)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.ONLY_WITH_TLS


@ANYWHERE
@VERSIONS
def test_of_a_late_begin_that_part_is_told_which_connections_without_tls_do_not_wait_for(
    rtt_ms: float, version: str
) -> None:
    told = found(RULES, with_plain(Path(rtt_ms=rtt_ms, looked_into_us=LATE_US), replace(LATE, version=version)))
    assert told[Id.TLS_HANDSHAKE_STALL].saving_us == pytest.approx(LATE_US, rel=0.05)


@ANYWHERE
def test_a_slow_signature_is_left_open_where_nothing_without_it_was_answered(rtt_ms: float) -> None:
    """Neither a session was continued nor a connection without TLS answered: a firewall may have made it late."""
    server = Server(body_bytes=20_000)
    alone = deep(Path(rtt_ms=rtt_ms, looked_into_us=LATE_US), server, trials=ANEW)
    assert not found(RULES, alone)
    assert left_open(RULES, alone)[Id.TLS_KEY_COST] is NotJudgedReason.ONLY_WITH_TLS
    large = deep(Path(rtt_ms=rtt_ms, looked_into_us=LATE_US), replace(server, key_bits=4096), trials=ANEW)
    assert found(RULES, large)[Id.TLS_KEY_COST].saving_us is None


def test_on_a_way_as_unsteady_a_late_begin_is_left_open() -> None:
    evidence = with_plain(Path(), LATE)
    *others, last = evidence.trials
    unsteady = replace(evidence, trials=(*others, replace(last, syn_rtt_us=130_000)))
    assert left_open(RULES, unsteady)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


def test_a_slow_signature_is_left_open_where_the_way_made_the_plain_answer_later() -> None:
    """As behind a radio that repeats packets: how long that answer was thought about is not known."""
    evidence = deep(Path(), Server(sign_us=71_000, body_bytes=20_000))
    *others, last = evidence.trials
    repeated = (replace(last, syn_rtt_us=230_000), plain(Path(looked_into_us=150_000), Server()))
    unsteady = replace(evidence, trials=(*others, *repeated))
    assert left_open(RULES, unsteady)[Id.TLS_KEY_COST] is NotJudgedReason.UNSTEADY


def test_a_slow_signature_is_left_open_where_a_connection_took_as_much_longer_to_be_made() -> None:
    """Its longer round trip hides what the server took."""
    evidence = deep(Path(), Server(sign_us=71_000, body_bytes=20_000))
    (full, *others) = evidence.trials
    longer = replace(full, syn_rtt_us=230_000, tcp_connected=None, tcp_secured=None, tcp_ended=None)
    unsteady = replace(evidence, trials=(longer, *others))
    assert left_open(RULES, unsteady)[Id.TLS_KEY_COST] is NotJudgedReason.UNSTEADY


def test_a_connection_that_lost_packets_does_not_make_the_way_narrow() -> None:
    """What was sent again comes far behind other packets: nobody waits for each as long as that."""
    evidence = with_plain(Path(), replace(LATE, tickets_bytes=0, body_bytes=300))
    [place] = [number for number, one in enumerate(evidence.trials) if one.trial is Trial.RESUMED]
    trial = evidence.trials[place]
    again = [
        Transfer(at_us=(trial.ended_us or 0) + late_us, direction=Direction.RECEIVED, size_bytes=1_448)
        for late_us in (160_000, 600_000)
    ]
    ended = replace(trial.tcp_ended or TcpState(), out_of_order_packets=1)
    lossy = replace(trial, transfers=(*trial.transfers, *again), tcp_ended=ended)
    told = found(RULES, replace(evidence, trials=(*evidence.trials[:place], lossy, *evidence.trials[place + 1 :])))
    assert told.keys() & {Id.TLS_HANDSHAKE_STALL, Id.TLS_KEY_COST} == {Id.TLS_HANDSHAKE_STALL}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rtt_ms", [80, 230])
def test_what_a_way_differs_by_is_no_narrow_link_to_the_server(rtt_ms: float, seed: int) -> None:
    """The larger hello was answered later by chance."""
    assert up_us_per_byte(Case(evidence=deep(Path(rtt_ms=rtt_ms, jitter=0.2, seed=seed), Server()))) == 0
    narrow = Path(rtt_ms=rtt_ms, jitter=0.01, seed=seed, up_bytes_s=16_000)
    assert up_us_per_byte(Case(evidence=deep(narrow, Server()))) == pytest.approx(1e6 / 16_000, rel=0.06)


def test_one_handshake_that_began_at_once_says_that_not_each_is_late() -> None:
    late, prompt = (deep(Path(), replace(LATE, begin_us=begin_us)) for begin_us in (LATE_US, 0))
    mixed = replace(late, trials=(prompt.trials[0], *late.trials[1:]))
    assert Id.TLS_HANDSHAKE_STALL not in found(RULES, mixed)


def test_a_first_word_that_is_late_takes_nothing_from_what_the_server_thinks_now_and_then() -> None:
    """Where it answers at once for once, the way to it is no longer than that says."""
    late, prompt = (found(RULES, mixed(begin_us))[Id.HTTP_THINK_TIME].saving_us or 0 for begin_us in (LATE_US, 0))
    assert late == pytest.approx(prompt, rel=0.01)


def with_plain(path: Path, server: Server, **changes: Any) -> ProbeEvidence:
    """A deep probe of who answers without TLS too."""
    evidence = deep(path, server, **changes)
    return replace(evidence, trials=(*evidence.trials, plain(path, server)))


def mixed(begin_us: int) -> ProbeEvidence:
    """Of a server that thinks about every second connection's answers."""
    slow, quick = (deep(Path(), replace(LATE, begin_us=begin_us, think_us=(us,))) for us in (300_000, 300))
    return replace(slow, trials=(*slow.trials, *quick.trials))
