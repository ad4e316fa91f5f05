"""Servers that are slow now and then, and what only looks as if they were."""

from dataclasses import replace
from statistics import mean

import pytest

from workers.diagnosis.probe import answers, handshakes, records, transport
from workers.measurement.evidence import (
    Direction,
    ProbeEvidence,
    TcpState,
    TlsRecord,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.finding import Confidence, NotJudgedReason, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, connection, deep, probe

RULES = answers.RULES
QUICK_US, SLOW_US = 50_000, 650_000


def thinking(*thinks_us: int, body_bytes: int = 4_000) -> ProbeEvidence:
    """A connection for each of them."""
    kinds = (Trial.FULL, Trial.CLASSICAL, Trial.RESUMED, Trial.TLS12)
    return probe(
        [
            connection(Path(), Server(think_us=(think_us,), body_bytes=body_bytes), kinds[number % len(kinds)])
            for number, think_us in enumerate(thinks_us)
        ]
    )


@pytest.mark.parametrize("slow", [3, 6, 9, 12])
def test_a_server_that_is_slow_now_and_then_costs_its_share(slow: int) -> None:
    thinks = [SLOW_US] * slow + [QUICK_US] * (12 - slow)
    finding = found(RULES, thinking(*thinks))[Id.HTTP_THINK_TIME]
    assert finding.saving_us == pytest.approx(mean(thinks) - QUICK_US, rel=0.02)
    assert facts(finding)["seen"] == f"{slow} of 12"
    assert facts(finding)["slow_ms"] == pytest.approx(650, rel=0.01)
    assert finding.severity is (Severity.HIGH if slow > 6 else Severity.MEDIUM)
    assert finding.confidence is (Confidence.HIGH if slow == 12 else Confidence.MEDIUM)


def test_answers_that_are_late_now_and_then_on_a_path_that_loses_packets_prove_nothing() -> None:
    evidence = thinking(*[SLOW_US] * 4, *[QUICK_US] * 8)
    last = evidence.trials[-1]
    assert last.tcp_ended is not None
    marked = replace(last, tcp_ended=replace(last.tcp_ended, out_of_order_packets=1))
    lossy = replace(evidence, trials=(*evidence.trials[:-1], marked))
    assert Id.HTTP_THINK_TIME not in found(RULES, lossy)
    assert left_open(RULES, lossy)[Id.HTTP_THINK_TIME] is NotJudgedReason.LOSS


@pytest.mark.parametrize(("think_ms", "said"), [(300, "found"), (385, "open"), (480, "open"), (680, "found")])
def test_what_a_lost_first_packet_costs_is_no_thinking(think_ms: int, said: str) -> None:
    """It comes a round trip later, and what was behind it is read with it and has the stamp of the last."""
    server = Server(think_us=(think_ms * 1000,), body_bytes=20_000)
    evidence = deep(Path(rtt_ms=380), server)
    trials = [
        replace(one, tcp_ended=replace(one.tcp_ended, out_of_order_packets=12))
        for one in evidence.trials
        if one.tcp_ended is not None
    ]
    both = {Id.HTTP_THINK_TIME, Id.HTTP_BUFFERED_RESPONSE}
    lossy = replace(evidence, trials=tuple(trials))
    assert found(RULES, evidence).keys() & both == both
    assert found(RULES, lossy).keys() & both == (both if said == "found" else set())
    if said == "open":
        assert {left_open(RULES, lossy).get(one) for one in both} == {NotJudgedReason.LOSS}


@pytest.mark.parametrize(
    ("think_ms", "body_bytes", "lag_ms", "told"),
    [(295, 700, 46, False), (295, 700, 1, True), (295, 20_000, 46, True), (400, 700, 46, True)],
)
def test_a_small_answer_that_got_lost_alone_each_time_is_no_thinking(
    think_ms: int, body_bytes: int, lag_ms: int, told: bool
) -> None:
    """It is sent again after two round trips and 200 ms, and tells nothing of that; but others got lost on that way."""
    evidence = deep(Path(rtt_ms=45), Server(think_us=(think_ms * 1000,), body_bytes=body_bytes))
    overtaken = TcpState(out_of_order_packets=1)
    trials = [
        replace(one, tcp_secured=overtaken, tcp_ended=overtaken, scheduling_lag_us=lag_ms * 1000)
        for one in evidence.trials
    ]
    lossy = replace(evidence, trials=tuple(trials))
    assert (Id.HTTP_THINK_TIME in found(RULES, lossy)) is told
    assert told or left_open(RULES, lossy)[Id.HTTP_THINK_TIME] is NotJudgedReason.LOSS


@pytest.mark.parametrize("slow", [6, 9])
@pytest.mark.parametrize(("late_ms", "told"), [(200 + 80, False), (200 + 2 * 80, False), (650, True)])
def test_small_answers_that_come_now_and_then_as_late_as_lost_ones_are_no_thinking(
    slow: int, late_ms: int, told: bool
) -> None:
    """A packet that is lost alone leaves no trace but when it comes: by its sender's timer."""
    thinks_us = [late_ms * 1000] * slow + [QUICK_US] * (12 - slow)
    evidence = thinking(*thinks_us, body_bytes=700)
    assert (Id.HTTP_THINK_TIME in found(RULES, evidence)) is told
    assert told or left_open(RULES, evidence)[Id.HTTP_THINK_TIME] is NotJudgedReason.LOSS
    assert Id.HTTP_THINK_TIME in found(RULES, thinking(*thinks_us, body_bytes=4_000))
    assert Id.HTTP_THINK_TIME in found(RULES, thinking(*[late_ms * 1000] * 12, body_bytes=700))


@pytest.mark.parametrize("slow", [3, 4])
def test_some_small_answers_that_got_lost_on_an_unsteady_way_are_no_thinking(slow: int) -> None:
    """They are sent again after a round trip and 200 ms, and what that is the way itself does not know."""
    server = Server(handshake_bytes=1_000, tickets_bytes=0, body_bytes=700)
    for seed in range(0, 400, 20):
        way = Path(rtt_ms=380, jitter=0.2, seed=seed)
        lossy = probe(lost_in(way, server, slow, answer=1))
        assert Id.HTTP_THINK_TIME not in found(RULES, lossy)
        assert left_open(RULES, lossy)[Id.HTTP_THINK_TIME] is NotJudgedReason.LOSS


def test_what_was_sent_again_may_come_sooner_than_any_handshake_of_tcp_tells() -> None:
    """A dozen of their round trips seldom meet the way at its quickest both there and back."""
    server = Server(handshake_bytes=1_000, tickets_bytes=0, body_bytes=700)
    for seed in range(0, 400, 20):
        trials = lost_in(Path(rtt_ms=380, jitter=0.2, seed=seed), server, 4, answer=1)
        trips_us = [one.syn_rtt_us or 0 for one in trials]
        there_and_back = zip(trials, trips_us, [*trips_us[1:], trips_us[0]], strict=True)
        apart = [replace(one, syn_rtt_us=(there_us + back_us) // 2) for one, there_us, back_us in there_and_back]
        assert Id.HTTP_THINK_TIME not in found(RULES, probe(apart))


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_small_answer_that_is_held_behind_lost_tickets_is_no_thinking(rtt_ms: float) -> None:
    """Nagle's algorithm keeps it until they have come at last and that was told."""
    server = Server(handshake_bytes=1_000, body_bytes=700)
    lossy = probe(lost_in(Path(rtt_ms=rtt_ms, nagle=True), server, 4, answer=1))
    assert Id.HTTP_THINK_TIME not in found(RULES, lossy)
    assert left_open(RULES, lossy)[Id.HTTP_THINK_TIME] in {NotJudgedReason.LOSS, NotJudgedReason.UNSTEADY}


@pytest.mark.parametrize(("once", "told"), [(3, False), (1, True)])
def test_of_small_answers_that_got_lost_some_were_lost_twice(once: int, told: bool) -> None:
    """First the probe, then the timer sends them again: after two round trips and 400 ms."""
    evidence = thinking(*[280_000] * once, *[560_000] * (5 - once - once // 3), *[QUICK_US] * 8, body_bytes=700)
    assert (Id.HTTP_THINK_TIME in found(RULES, evidence)) is told


def lost_in(way: Path, server: Server, lossy: int, *, answer: int) -> list[TrialEvidence]:
    """Twelve connections that ask once; so many of them lose that segment of the server."""
    kinds = (Trial.CLASSICAL, Trial.RESUMED)
    return [
        connection(
            replace(way, seed=way.seed + number, lost=(answer,) if number < lossy else ()), server, kinds[number % 2]
        )
        for number in range(12)
    ]


@pytest.mark.parametrize("slow", [1, 2])
def test_a_slow_answer_or_two_are_chance(slow: int) -> None:
    evidence = thinking(*[SLOW_US] * slow, *[QUICK_US] * (12 - slow))
    assert left_open(RULES, evidence)[Id.HTTP_THINK_TIME] is NotJudgedReason.NOT_REPEATED


def test_a_server_that_is_slow_over_http2_alone_is_slow_for_browsers() -> None:
    quick, slow = thinking(*[QUICK_US] * 12).trials, thinking(*[SLOW_US] * 3).trials
    over_http2 = [
        replace(one, trial=Trial.HTTP2, handshake=replace(one.handshake, protocol="h2"))
        for one in slow
        if one.handshake is not None
    ]
    finding = found(RULES, probe([*quick, *over_http2]))[Id.HTTP_THINK_TIME]
    assert finding.saving_us == pytest.approx(SLOW_US - QUICK_US, rel=0.02)
    assert (facts(finding)["seen"], facts(finding)["alpn"]) == ("3 of 3", "h2")
    assert left_open(RULES, probe([*quick, *over_http2[:2]]))[Id.HTTP_THINK_TIME] is NotJudgedReason.NOT_REPEATED


@pytest.mark.parametrize("tickets_bytes", [14_400, 18_400, 33_000])
def test_an_answer_that_waits_behind_tickets_as_large_as_a_window_is_no_thinking(tickets_bytes: int) -> None:
    """As Java's are, which hold the whole chain, or such as are filled up."""
    evidence = deep(Path(rtt_ms=300), Server(tickets_bytes=tickets_bytes, body_bytes=20_000))
    assert not {Id.HTTP_THINK_TIME, Id.HTTP_BUFFERED_RESPONSE} & found(RULES, evidence).keys()


def test_a_head_that_nagle_holds_behind_early_hints_is_no_thinking() -> None:
    """They are acknowledged a round trip later, and the head may have waited for that, each time."""
    evidence = deep(Path(rtt_ms=385), Server(think_us=(385_000,)))
    hinted = replace(evidence, trials=tuple(map(behind_hints, evidence.trials)))
    assert Id.HTTP_THINK_TIME in found(RULES, evidence)
    assert Id.HTTP_THINK_TIME not in found(RULES, hinted)
    assert left_open(RULES, hinted)[Id.HTTP_THINK_TIME] is NotJudgedReason.UNSTEADY


def test_thinking_behind_early_hints_is_no_end_of_an_answer_that_waits() -> None:
    """It takes as long as clients may delay an acknowledgement; the hints have come, and nothing of the answer."""
    evidence = deep(Path(rtt_ms=10), Server(head_apart=True, body_bytes=700, think_us=(232_000,)))
    trials = [hints_first(trial, 231_000) for trial in evidence.trials]
    told = found(transport.RULES, replace(evidence, trials=tuple(trials)))
    assert Id.TCP_NAGLE_DELAYED_ACK not in told


def hints_first(trial: TrialEvidence, sooner_us: int) -> TrialEvidence:
    """Early hints come so much sooner than each answer."""
    hints = [
        Transfer(at_us=at_us - sooner_us, direction=Direction.RECEIVED, size_bytes=100)
        for one in trial.exchanges
        if (at_us := one.first_application_us) is not None
    ]
    asked = tuple(
        replace(one, interim=(103,), first_application_us=(one.first_application_us or 0) - sooner_us)
        for one in trial.exchanges
    )
    moved = tuple(sorted((*trial.transfers, *hints), key=lambda one: one.at_us))
    return replace(trial, exchanges=asked, transfers=moved)


def behind_hints(trial: TrialEvidence) -> TrialEvidence:
    return replace(trial, exchanges=tuple(replace(one, interim=(103,)) for one in trial.exchanges))


def test_records_that_grow_only_behind_the_first_hundred_kilobytes_are_not_all_tiny() -> None:
    """As those of h2o do by default."""
    evidence = deep(Path(), Server(record_bytes=1_385, body_bytes=100_000))
    assert Id.TLS_RECORD_TINY in found(records.RULES, evidence)
    before, after, *others = evidence.of(Trial.FULL)
    last = max(after.records, key=lambda one: one.at_us)
    grown = replace(after, records=(*after.records[:-1], replace(last, length_bytes=16_401)))
    evidence = replace(evidence, trials=(before, grown, *others))
    assert Id.TLS_RECORD_TINY not in found(records.RULES, evidence)


def test_records_that_are_mostly_seal_are_tiny_whatever_they_carry() -> None:
    trial = connection(Path(), Server(body_bytes=6_000))
    first = trial.exchanges[0]
    one = TlsRecord(
        at_us=first.ended_us or 0, content_type=23, length_bytes=18, end_us=first.ended_us, application=True
    )
    evidence = probe([replace(trial, records=(*trial.records[:1], *[one] * 6_000))])
    assert facts(found(records.RULES, evidence)[Id.TLS_RECORD_TINY])["record_bytes"] == 18


def test_a_sender_that_spreads_its_window_shows_none() -> None:
    """As bbr does: packets leave one by one, over most of a round trip."""
    evidence = deep(Path(rtt_ms=80, iw=4), Server(body_bytes=20_000))
    spread = replace(evidence, trials=tuple(_spread(one) for one in evidence.trials))
    assert Id.TCP_IW_SMALL in found(transport.RULES, evidence)
    assert left_open(transport.RULES, spread)[Id.TCP_IW_SMALL] is NotJudgedReason.PACED


def _spread(trial: TrialEvidence) -> TrialEvidence:
    """With ten milliseconds between the packets of each flight."""
    moved: list[Transfer] = []
    place, last_us = 0, 0
    for one in trial.transfers:
        place = place + 1 if one.direction is Direction.RECEIVED and one.at_us - last_us < 5_000 else 0
        last_us = one.at_us
        moved.append(replace(one, at_us=one.at_us + 10_000 * min(place, 3)))
    return replace(trial, transfers=tuple(moved))


@pytest.mark.parametrize("page", [Server(body_bytes=20_000), Server(body_bytes=1_000)])
def test_a_narrow_link_is_no_thinking(page: Server) -> None:
    """A full packet takes 50 kbit/s a quarter of a second."""
    narrow = Path(rate_bytes_s=6_250)
    findings = found(answers.RULES, deep(narrow, page))
    assert not {Id.HTTP_THINK_TIME, Id.HTTP_BUFFERED_RESPONSE} & set(findings)


def test_behind_a_narrow_link_a_slow_server_is_told_without_it() -> None:
    slow = Server(body_bytes=20_000, think_us=(900_000,))
    finding = found(answers.RULES, deep(Path(rate_bytes_s=6_250), slow))[Id.HTTP_THINK_TIME]
    assert finding.saving_us == pytest.approx(850_000, rel=0.15)


FAR_BEHIND = Path(rtt_ms=20, behind_us=300_000)


@pytest.mark.parametrize("trials", [DEEP, [Trial.FULL] * 4])
def test_a_server_far_behind_a_proxy_that_accepts_for_it_does_not_think(trials: list[Trial]) -> None:
    """Its handshake is as late as its answer."""
    findings = found(RULES, evidence := deep(FAR_BEHIND, Server(body_bytes=20_000), trials=trials))
    assert not findings
    assert left_open(RULES, evidence)[Id.HTTP_THINK_TIME] is NotJudgedReason.UNSTEADY


def test_what_a_server_thinks_far_behind_a_proxy_is_told_without_the_way_between() -> None:
    server = Server(body_bytes=20_000, think_us=(500_000,))
    finding = found(RULES, deep(FAR_BEHIND, server))[Id.HTTP_THINK_TIME]
    assert finding.saving_us == pytest.approx(450_000, rel=0.02)


def test_a_slow_signature_hides_no_thinking() -> None:
    server = Server(sign_us=90_000, think_us=(500_000,))
    finding = found(RULES, deep(Path(), server))[Id.HTTP_THINK_TIME]
    assert finding.saving_us == pytest.approx(450_000, rel=0.02)


def late(evidence: ProbeEvidence, lag_us: int, count: int = 99) -> ProbeEvidence:
    """With so many connections that our own process looked at so late."""
    seen = enumerate(evidence.trials)
    return replace(
        evidence, trials=tuple(replace(one, scheduling_lag_us=lag_us) if place < count else one for place, one in seen)
    )


@pytest.mark.parametrize(("lag_ms", "said"), [(50, "found"), (160, "open")])
def test_what_our_own_process_may_have_been_late_by_is_no_thinking(lag_ms: int, said: str) -> None:
    """A read has the stamp of its last packet: one that waited for us has that of what came behind it."""
    evidence = late(deep(Path(rtt_ms=20), Server(body_bytes=20_000, think_us=(300_000,))), lag_ms * 1000)
    both = {Id.HTTP_THINK_TIME, Id.HTTP_BUFFERED_RESPONSE}
    assert found(RULES, evidence).keys() & both == (both if said == "found" else set())
    if said == "open":
        assert {left_open(RULES, evidence).get(one) for one in both} == {NotJudgedReason.LATE_CLOCK}


def test_what_lay_behind_a_lost_packet_was_not_looked_at_late() -> None:
    evidence = late(deep(Path(rtt_ms=80), Server(body_bytes=20_000, think_us=(300_000,))), 160_000)
    lossy = (
        replace(one, tcp_ended=replace(one.tcp_ended, out_of_order_packets=3))
        for one in evidence.trials
        if one.tcp_ended is not None
    )
    assert Id.HTTP_THINK_TIME in found(RULES, replace(evidence, trials=tuple(lossy)))


def test_a_few_answers_that_we_may_have_read_late_leave_thinking_open() -> None:
    evidence = late(thinking(*[300_000] * 3, *[QUICK_US] * 9), 150_000, count=3)
    assert not found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.HTTP_THINK_TIME] is NotJudgedReason.LATE_CLOCK


@pytest.mark.parametrize(("lag_ms", "said"), [(20, "found"), (60, "open")])
def test_what_our_own_process_may_have_been_late_by_is_no_slow_key(lag_ms: int, said: str) -> None:
    evidence = late(deep(Path(rtt_ms=20), Server(sign_us=70_000)), lag_ms * 1000)
    assert (Id.TLS_KEY_COST in found(handshakes.RULES, evidence)) is (said == "found")
    if said == "open":
        assert left_open(handshakes.RULES, evidence)[Id.TLS_KEY_COST] is NotJudgedReason.LATE_CLOCK


def test_a_connection_that_we_looked_at_late_once_says_nothing_of_a_quick_key() -> None:
    slow, quick = (deep(Path(rtt_ms=20), Server(sign_us=sign_us)) for sign_us in (30_000, 500))
    mixed = replace(quick, trials=(*late(slow, 30_000).trials[:1], *quick.trials[1:]))
    assert Id.TLS_KEY_COST not in found(handshakes.RULES, mixed)
    assert Id.TLS_KEY_COST not in left_open(handshakes.RULES, mixed)
