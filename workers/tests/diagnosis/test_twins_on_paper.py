"""Every cause that flights show, with and without it, on simulated paths, without a network."""

from dataclasses import dataclass, replace

import pytest

from workers.diagnosis.probe import answers, handshakes, path, records, transport
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import Confidence, Finding, NotJudgedReason, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, asked_twice, deep, light, probe

RULES = (*path.RULES, *transport.RULES, *handshakes.RULES, *records.RULES, *answers.RULES)
RTTS_MS = (20, 80, 380)
PAGE = Server(body_bytes=20_000)
SMALL = Server()
PLAIN_PATH = Path()


@dataclass(frozen=True, kw_only=True)
class Twin:
    """`cost` is what of a connection the repair shortens."""

    id: Id
    bad: Server
    good: Server
    bad_path: Path = PLAIN_PATH
    good_path: Path = PLAIN_PATH
    with_it: frozenset[Id] = frozenset()
    cost: str = ""


LONG = replace(SMALL, handshake_bytes=5954, flush_bytes=4096)
SPLIT = replace(SMALL, head_apart=True, body_bytes=700)
NAGLE = Path(nagle=True)
TWINS = {
    "16 KB records": Twin(
        id=Id.TLS_RECORD_OVERFLOW, bad=replace(PAGE, record_bytes=16384), good=PAGE, cost="first byte"
    ),
    "16 KB records over TLS 1.2": Twin(
        id=Id.TLS_RECORD_OVERFLOW,
        bad=replace(PAGE, record_bytes=16384, version="TLSv1.2"),
        good=replace(PAGE, version="TLSv1.2"),
        cost="first byte",
    ),
    "tiny records": Twin(
        id=Id.TLS_RECORD_TINY,
        bad=replace(PAGE, record_bytes=1300, body_bytes=150_000),
        good=replace(PAGE, body_bytes=150_000),
    ),
    "a window of 4": Twin(id=Id.TCP_IW_SMALL, bad=PAGE, good=PAGE, bad_path=Path(iw=4), cost="whole"),
    "a window of 2": Twin(id=Id.TCP_IW_SMALL, bad=PAGE, good=PAGE, bad_path=Path(iw=2), cost="page"),
    "a window of 3 over TLS 1.2": Twin(
        id=Id.TCP_IW_SMALL,
        bad=replace(PAGE, version="TLSv1.2"),
        good=replace(PAGE, version="TLSv1.2"),
        bad_path=Path(iw=3),
    ),
    "idle restart": Twin(
        id=Id.TCP_IDLE_RESTART, bad=PAGE, good=PAGE, bad_path=Path(idle_restart=True), cost="after idle"
    ),
    "idle restart of a large page": Twin(
        id=Id.TCP_IDLE_RESTART,
        bad=replace(PAGE, body_bytes=200_000),
        good=replace(PAGE, body_bytes=200_000),
        bad_path=Path(idle_restart=True, grows_whole=True),
        good_path=Path(grows_whole=True),
        cost="after idle",
    ),
    "Nagle": Twin(id=Id.TCP_NAGLE_DELAYED_ACK, bad=SPLIT, good=SPLIT, bad_path=NAGLE),
    "Nagle over TLS 1.2": Twin(
        id=Id.TCP_NAGLE_DELAYED_ACK,
        bad=replace(SPLIT, version="TLSv1.2"),
        good=replace(SPLIT, version="TLSv1.2"),
        bad_path=NAGLE,
    ),
    "a flushed certificate": Twin(id=Id.TLS_CERT_FLUSH_STALL, bad=LONG, good=LONG, bad_path=NAGLE, cost="handshake"),
    "a flushed certificate over TLS 1.2": Twin(
        id=Id.TLS_CERT_FLUSH_STALL,
        bad=replace(LONG, version="TLSv1.2"),
        good=replace(LONG, version="TLSv1.2"),
        bad_path=NAGLE,
        cost="handshake",
    ),
    "a long chain": Twin(
        id=Id.TLS_CHAIN_EXCEEDS_IW, bad=replace(PAGE, handshake_bytes=18_500), good=PAGE, cost="handshake"
    ),
    "a chain that stops a window of 3 again and again": Twin(
        id=Id.TLS_CHAIN_EXCEEDS_IW,
        bad=replace(SMALL, handshake_bytes=32_000, flush_bytes=4096),
        good=SMALL,
        bad_path=Path(iw=3),
        good_path=Path(iw=3),
        cost="handshake",
    ),
    "a chain too long for a window of 4": Twin(
        id=Id.TLS_CHAIN_EXCEEDS_IW,
        bad=replace(SMALL, handshake_bytes=9000),
        good=SMALL,
        bad_path=Path(iw=4),
        good_path=Path(iw=4),
        cost="handshake",
    ),
    "a stall in the handshake": Twin(
        id=Id.TLS_HANDSHAKE_STALL, bad=replace(SMALL, stall=(700, 270_000)), good=SMALL, cost="handshake"
    ),
    "a slow signature": Twin(id=Id.TLS_KEY_COST, bad=replace(SMALL, sign_us=70_000), good=SMALL, cost="handshake"),
    "a large key": Twin(id=Id.TLS_KEY_COST, bad=replace(SMALL, sign_us=6_000, key_bits=4096), good=SMALL),
    "no keep-alive": Twin(id=Id.HTTP_KEEPALIVE_OFF, bad=replace(SMALL, keeps=False), good=SMALL),
    "thinking": Twin(
        id=Id.HTTP_THINK_TIME,
        bad=replace(SMALL, think_us=(300_000,)),
        good=replace(SMALL, think_us=(50_000,)),
        cost="first byte",
    ),
    "thinking long": Twin(
        id=Id.HTTP_THINK_TIME,
        bad=replace(SMALL, think_us=(800_000,)),
        good=replace(SMALL, think_us=(50_000,)),
        cost="first byte",
    ),
    "a stall in the body": Twin(
        id=Id.HTTP_BODY_STALL, bad=replace(PAGE, body_stall=(5000, 500_000)), good=PAGE, cost="whole"
    ),
    "a buffered page": Twin(
        id=Id.HTTP_BUFFERED_RESPONSE,
        bad=replace(PAGE, think_us=(180_000,)),
        good=replace(PAGE, think_us=(300,)),
        cost="first byte",
    ),
    "a slow and buffered page": Twin(
        id=Id.HTTP_BUFFERED_RESPONSE,
        bad=replace(PAGE, think_us=(300_000,)),
        good=replace(PAGE, think_us=(300,)),
        with_it=frozenset({Id.HTTP_THINK_TIME}),
    ),
}
EVERY = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS.keys())
ANYWHERE = pytest.mark.parametrize("rtt_ms", RTTS_MS)


def bad(twin: Twin, rtt_ms: float, *, lost: tuple[int, ...] = (), lossy: int = 0) -> ProbeEvidence:
    return deep(replace(twin.bad_path, rtt_ms=rtt_ms, lost=lost), twin.bad, lossy=lossy)


def good(twin: Twin, rtt_ms: float) -> ProbeEvidence:
    return deep(replace(twin.good_path, rtt_ms=rtt_ms), twin.good)


def causes(evidence: ProbeEvidence) -> set[Id]:
    return found(RULES, evidence).keys() - {Id.TCP_RTT_HIGH}


@EVERY
@ANYWHERE
def test_each_cause_is_found_and_no_other(twin: Twin, rtt_ms: float) -> None:
    assert causes(bad(twin, rtt_ms)) == {twin.id} | twin.with_it


@EVERY
@ANYWHERE
def test_the_repaired_server_has_no_finding(twin: Twin, rtt_ms: float) -> None:
    assert causes(good(twin, rtt_ms)) == set()


@EVERY
@ANYWHERE
def test_a_finding_claims_what_the_repair_saves(twin: Twin, rtt_ms: float) -> None:
    if not twin.cost:
        return
    finding = found(RULES, bad(twin, rtt_ms))[twin.id]
    saved = cost(bad(twin, rtt_ms), twin.cost) - cost(good(twin, rtt_ms), twin.cost)
    assert finding.saving_us == pytest.approx(saved, rel=0.1, abs=2_000)


@EVERY
@ANYWHERE
def test_a_packet_lost_in_one_connection_adds_no_cause(twin: Twin, rtt_ms: float) -> None:
    for number in range(0, 12, 2):
        evidence = bad(twin, rtt_ms, lost=(number,), lossy=1)
        named = causes(evidence)
        assert named <= {twin.id} | twin.with_it
        assert twin.id in named or twin.id in left_open(RULES, evidence)


@ANYWHERE
def test_loss_in_every_connection_is_blamed_on_the_path_alone(rtt_ms: float) -> None:
    for number in range(1, 12):
        evidence = deep(Path(rtt_ms=rtt_ms, lost=(number,)), PAGE, lossy=99)
        allowed = {Id.TCP_LOSS, Id.TCP_RTT_HIGH}
        assert found(RULES, evidence).keys() <= allowed, f"segment {number} lost"


@ANYWHERE
def test_a_flight_of_one_packet_that_is_lost_in_every_connection_is_no_slow_key(rtt_ms: float) -> None:
    """The second one of TLS 1.2: nothing behind it tells of its loss, but on the same way others got lost."""
    old = replace(PAGE, version="TLSv1.2")
    evidence = deep(Path(rtt_ms=rtt_ms, lost=(3,)), old, lossy=99)
    assert Id.TLS_KEY_COST not in found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.TLS_KEY_COST] is NotJudgedReason.LOSS


@ANYWHERE
def test_a_stall_that_loss_imitates_is_left_open(rtt_ms: float) -> None:
    evidence = deep(Path(rtt_ms=rtt_ms, lost=(1,)), SMALL, lossy=99)
    assert left_open(RULES, evidence)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.LOSS


@EVERY
def test_a_short_way_shows_no_round_trips(twin: Twin) -> None:
    counted = {
        Id.TLS_RECORD_OVERFLOW,
        Id.TCP_IW_SMALL,
        Id.TCP_IDLE_RESTART,
        Id.TLS_CERT_FLUSH_STALL,
        Id.TLS_CHAIN_EXCEEDS_IW,
    }
    evidence = bad(twin, 4)
    assert not causes(evidence) & counted
    if twin.id in counted:
        assert left_open(RULES, evidence)[twin.id] is NotJudgedReason.RTT_SHORT


@EVERY
def test_a_short_way_hides_nothing_that_is_no_round_trip(twin: Twin) -> None:
    seen_anywhere = {
        Id.HTTP_THINK_TIME,
        Id.HTTP_BODY_STALL,
        Id.HTTP_KEEPALIVE_OFF,
        Id.TLS_KEY_COST,
        Id.TLS_HANDSHAKE_STALL,
        Id.TCP_NAGLE_DELAYED_ACK,
        Id.HTTP_BUFFERED_RESPONSE,
    }
    if twin.id in seen_anywhere:
        assert causes(bad(twin, 2)) == {twin.id} | twin.with_it


@EVERY
@ANYWHERE
def test_one_connection_proves_no_pause(twin: Twin, rtt_ms: float) -> None:
    evidence = light(replace(twin.bad_path, rtt_ms=rtt_ms), twin.bad)
    provable = (
        {Id.TLS_RECORD_TINY, Id.TLS_KEY_COST} if twin.bad.key_bits > 256 or twin.bad.record_bytes < 2000 else set()
    )
    named = causes(evidence)
    assert named <= provable
    if twin.id not in named:
        assert twin.id in left_open(RULES, evidence)


@EVERY
def test_between_eight_and_twenty_milliseconds_nobody_is_quite_sure(twin: Twin) -> None:
    timed = {Id.TLS_RECORD_OVERFLOW, Id.TCP_IW_SMALL, Id.TLS_CHAIN_EXCEEDS_IW, Id.TLS_HANDSHAKE_STALL}
    if twin.id in timed:
        assert found(RULES, bad(twin, 10))[twin.id].confidence is Confidence.MEDIUM
        assert found(RULES, bad(twin, 80))[twin.id].confidence is Confidence.HIGH


@EVERY
def test_two_of_three_is_chance(twin: Twin) -> None:
    ill, well = bad(twin, 80), good(twin, 80)
    mixed = replace(ill, trials=(*ill.trials[:2], *well.trials[2:]), certificates=well.certificates)
    if twin.id is not Id.TLS_RECORD_TINY:
        assert causes(mixed) == set()


def test_findings_of_a_round_trip_are_high() -> None:
    ranks: dict[Id, Finding] = {}
    for twin in TWINS.values():
        ranks |= {twin.id: found(RULES, bad(twin, 80))[twin.id]}
    high = {id for id, one in ranks.items() if one.severity is Severity.HIGH}
    assert high - {Id.HTTP_THINK_TIME} == {
        Id.TLS_RECORD_OVERFLOW,
        Id.TCP_IW_SMALL,
        Id.TCP_NAGLE_DELAYED_ACK,
        Id.TLS_CERT_FLUSH_STALL,
        Id.TLS_CHAIN_EXCEEDS_IW,
        Id.HTTP_KEEPALIVE_OFF,
    }


@ANYWHERE
@pytest.mark.parametrize("body_bytes", [1500, 3000, 9000])
def test_nagle_behind_full_packets_costs_a_round_trip_although_nobody_delays(rtt_ms: float, body_bytes: int) -> None:
    server = replace(SPLIT, body_bytes=body_bytes)
    held, free = deep(replace(NAGLE, rtt_ms=rtt_ms), server), deep(Path(rtt_ms=rtt_ms), server)
    assert causes(held) == {Id.TCP_NAGLE_DELAYED_ACK}
    assert causes(free) == set()
    finding = found(RULES, held)[Id.TCP_NAGLE_DELAYED_ACK]
    assert finding.saving_us == pytest.approx(cost(held, "whole") - cost(free, "whole"), rel=0.1)


@ANYWHERE
@pytest.mark.parametrize(("iw", "body_bytes"), [(8, 12_000), (10, 12_000), (10, 16_000), (32, 12_000), (32, 30_000)])
def test_nagle_behind_as_much_as_fills_a_window_shows_when_it_is_asked_again(
    rtt_ms: float, iw: int, body_bytes: int
) -> None:
    """The first answer stops at its window; by the second that has grown, and only the end is held back."""
    server = replace(SPLIT, body_bytes=body_bytes)
    held, free = deep(replace(NAGLE, rtt_ms=rtt_ms, iw=iw), server), deep(Path(rtt_ms=rtt_ms, iw=iw), server)
    assert causes(held) == {Id.TCP_NAGLE_DELAYED_ACK}
    assert causes(free) == set()
    finding = found(RULES, held)[Id.TCP_NAGLE_DELAYED_ACK]
    assert finding.saving_us == pytest.approx(cost(held, "again") - cost(free, "again"), rel=0.1)


@ANYWHERE
def test_nagle_shows_by_second_answers_of_connections_with_late_acknowledgements_too(rtt_ms: float) -> None:
    """The journey's own connection asks once, so that only two of those with quick ones have a second."""
    path, server = replace(NAGLE, rtt_ms=rtt_ms), replace(SPLIT, body_bytes=16_000)
    journey, *others = deep(path, server, trials=[Trial.FULL] * 3).trials
    once = replace(journey, exchanges=journey.exchanges[:1])
    evidence = probe([once, *others, *[asked_twice(path, server)] * 3], server)
    assert causes(evidence) == {Id.TCP_NAGLE_DELAYED_ACK}
    assert causes(probe([once, *others], server)) == set()


@ANYWHERE
def test_a_window_that_is_taken_back_while_the_server_thinks_is_not_nagle(rtt_ms: float) -> None:
    """Each answer stops behind the same ten packets, and what is left is small."""
    thinking = replace(SPLIT, body_bytes=12_500, think_us=(250_000,))
    restarting = deep(Path(rtt_ms=rtt_ms, iw=9, idle_restart=True), thinking)
    assert cost(restarting, "again") > 1.9 * rtt_ms * 1000
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, restarting)


@ANYWHERE
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_connection_that_must_be_opened_again_continues_its_session(rtt_ms: float, version: str) -> None:
    evidence = deep(Path(rtt_ms=rtt_ms), replace(SMALL, keeps=False, version=version))
    assert found(RULES, evidence)[Id.HTTP_KEEPALIVE_OFF].saving_us == pytest.approx(2_000 * rtt_ms, rel=0.05)


@ANYWHERE
def test_without_sessions_it_costs_a_full_handshake_of_tls12(rtt_ms: float) -> None:
    server = replace(SMALL, keeps=False, version="TLSv1.2")
    evidence = deep(Path(rtt_ms=rtt_ms), server, trials=[Trial.FULL] * 3)
    assert found(RULES, evidence)[Id.HTTP_KEEPALIVE_OFF].saving_us == pytest.approx(3_000 * rtt_ms, rel=0.1)


def test_a_window_of_three_that_stops_the_first_answer_alone_is_not_nagle() -> None:
    evidence = deep(Path(rtt_ms=80, iw=3), replace(SPLIT, body_bytes=3000))
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, evidence)


def test_a_pause_that_is_a_round_trip_by_and_large_is_not_nagle() -> None:
    evidence = deep(Path(rtt_ms=80), replace(SMALL, body_stall=(3000, 84_000)))
    assert left_open(RULES, evidence)[Id.TCP_NAGLE_DELAYED_ACK] is NotJudgedReason.UNSTEADY


@ANYWHERE
@pytest.mark.parametrize("packets", [2, 4])
def test_what_the_way_keeps_from_some_packet_on_is_no_stall_of_the_server(rtt_ms: float, packets: int) -> None:
    """A server that stops has sent all that it had: only something behind it parts its bytes where a packet ends."""
    way = Path(rtt_ms=rtt_ms, kept=(packets, 170_000))
    kept = deep(way, replace(SMALL, handshake_bytes=9400))
    assert not causes(kept)
    assert left_open(RULES, kept)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


@ANYWHERE
@pytest.mark.parametrize("record_bytes", [4096, 1448 - 22])
def test_a_page_that_the_way_keeps_from_some_packet_on_is_no_stall_of_it(rtt_ms: float, record_bytes: int) -> None:
    """Three packets of handshake and one of tickets come before it."""
    kept = deep(Path(rtt_ms=rtt_ms, kept=(8, 170_000)), replace(PAGE, record_bytes=record_bytes))
    assert not causes(kept)
    assert left_open(RULES, kept)[Id.HTTP_BODY_STALL] is NotJudgedReason.UNSTEADY


@ANYWHERE
def test_a_server_that_rests_for_exactly_a_round_trip_before_a_small_end_is_not_named_nagle(rtt_ms: float) -> None:
    """Behind two full packets nobody delays an acknowledgement, so that the pair says nothing of it."""
    resting = replace(SMALL, body_stall=(3000, round(rtt_ms * 1000)))
    evidence = deep(Path(rtt_ms=rtt_ms), resting)
    assert not causes(evidence)
    assert left_open(RULES, evidence)[Id.TCP_NAGLE_DELAYED_ACK] is NotJudgedReason.UNSTEADY
