"""What the held end of an answer costs."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import transport
from workers.diagnosis.probe.gaps import GapKind, answer_gaps, ruler_of
from workers.measurement.evidence import Trial, TrialEvidence
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Connection, Server, connection, deep, probe

SPLIT = Server(head_apart=True, body_bytes=700)
# What the kernel's timer counts beyond 40 ms goes by when its ticks happen to come.
SOONER_US, LATER_US = 40_500, 47_500


def asked_twice(rtt_ms: float, *late_us: int) -> TrialEvidence:
    """Acknowledgements of each answer are late by that much."""
    path = Path(rtt_ms=rtt_ms, nagle=True)
    made = Connection(path, SPLIT, Trial.DELAYED_ACK)
    handshake = made.shake()
    for number, one in enumerate(late_us):
        made.wire.path = replace(path, late_ack_us=one)
        made.ask(number)
    return made.evidence(handshake)


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
@pytest.mark.parametrize(
    "late_us",
    [
        pytest.param((SOONER_US, LATER_US), id="second answers later"),
        pytest.param((LATER_US, SOONER_US), id="first answers later"),
        pytest.param((0, SOONER_US), id="first answers acknowledged at once"),
    ],
)
def test_a_held_end_costs_what_the_first_late_acknowledgement_held_it_for(
    rtt_ms: float, late_us: tuple[int, int]
) -> None:
    quick = [connection(Path(rtt_ms=rtt_ms, nagle=True), SPLIT) for _ in range(3)]
    evidence = probe([*quick, *[asked_twice(rtt_ms, *late_us) for _ in range(3)]])
    saving_us = found(transport.RULES, evidence)[Id.TCP_NAGLE_DELAYED_ACK].saving_us
    assert saving_us == pytest.approx(rtt_ms * 1000 + (late_us[0] or late_us[1]), abs=100)


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
@pytest.mark.parametrize("grows_whole", [False, True])
@pytest.mark.parametrize(
    ("iw", "until", "body_bytes"),
    [
        pytest.param(10, 12, 68_945, id="several windows, one packet larger each"),
        pytest.param(20, 20, 138_702, id="of a larger first one"),
        pytest.param(32, 12, 149_151, id="of one that never grew fast"),
        pytest.param(32, 12, 47_558, id="one window, and a third answer in one go"),
    ],
)
def test_a_window_that_grows_by_a_packet_a_round_trip_holds_no_end(
    rtt_ms: float, grows_whole: bool, iw: int, until: int, body_bytes: int
) -> None:
    """What is left for another window is small by chance."""
    path = Path(rtt_ms=rtt_ms, iw=iw, slow_start_until=until, grows_whole=grows_whole)
    for more_bytes in range(0, 1_448, 181):
        evidence = deep(path, Server(body_bytes=body_bytes + more_bytes))
        assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, evidence)


PIECES = Server(record_bytes=1_400, body_bytes=20_000, trickle=(500, 45_000))


def test_whole_records_that_come_a_round_trip_apart_may_be_pieces_of_the_server() -> None:
    """Nagle's algorithm holds them back as well; but the server rests between them for as long."""
    evidence = deep(Path(rtt_ms=45, nagle=True), PIECES)
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, evidence)
    assert left_open(transport.RULES, evidence)[Id.TCP_NAGLE_DELAYED_ACK] is NotJudgedReason.UNSTEADY


def test_ends_that_come_at_once_where_we_acknowledge_at_once_leave_nothing_open() -> None:
    """Whatever those may be that came late where we do not."""
    way = Path(rtt_ms=45)
    quick = [connection(way, replace(PIECES, trickle=None)) for _ in range(3)]
    late = [connection(replace(way, nagle=True), PIECES, Trial.DELAYED_ACK) for _ in range(3)]
    evidence = probe([*quick, *late])
    assert Id.TCP_NAGLE_DELAYED_ACK not in {*found(transport.RULES, evidence), *left_open(transport.RULES, evidence)}


LARGE = Server(head_apart=True, body_bytes=59_000, record_bytes=16_384)


def asked_again(path: Path, kind: Trial, first: Server) -> TrialEvidence:
    """A window that is full grows, and rests take it back: as of Linux."""
    made = Connection(replace(path, grows_whole=True, delayed_ack=kind is Trial.DELAYED_ACK), first, kind)
    handshake = made.shake()
    for number, server in enumerate((first, LARGE)):
        made.server = server
        made.ask(number)
    return made.evidence(handshake)


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_ends_that_had_room_in_the_window_before_prove_that_those_of_larger_flights_are_held_too(rtt_ms: float) -> None:
    """The JDK's server: its last write comes while the small end of the one before it is under way. The second answer
    goes in one flight but for its end, which the window might have stopped."""
    late = replace(LARGE, body_stall=(57_000, round(2_000 * rtt_ms) + 100))
    kinds = [*[Trial.FULL] * 3, Trial.CLASSICAL, *[Trial.DELAYED_ACK] * 3]
    held = [asked_again(Path(rtt_ms=rtt_ms, nagle=True), kind, late) for kind in kinds]
    free = [asked_again(Path(rtt_ms=rtt_ms), kind, late) for kind in kinds]
    finding = found(transport.RULES, probe(held))[Id.TCP_NAGLE_DELAYED_ACK]
    assert finding.saving_us == pytest.approx(cost(probe(held), "again") - cost(probe(free), "again"), rel=0.1)
    assert Id.TCP_NAGLE_DELAYED_ACK not in {
        *found(transport.RULES, probe(free)),
        *left_open(transport.RULES, probe(free)),
    }


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_an_end_behind_a_flight_that_may_have_filled_the_window_is_not_judged(rtt_ms: float) -> None:
    kinds = [*[Trial.FULL] * 3, *[Trial.DELAYED_ACK] * 3]
    held = probe([asked_again(Path(rtt_ms=rtt_ms, nagle=True), kind, LARGE) for kind in kinds])
    free = probe([asked_again(Path(rtt_ms=rtt_ms), kind, LARGE) for kind in kinds])
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(transport.RULES, held)
    assert left_open(transport.RULES, held)[Id.TCP_NAGLE_DELAYED_ACK] is NotJudgedReason.UNSTEADY
    assert Id.TCP_NAGLE_DELAYED_ACK not in {*found(transport.RULES, free), *left_open(transport.RULES, free)}


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(Server(stops=((14_000, 0), *[(1_600, 0)] * 4), body_bytes=21_750), id="small records fill it"),
        pytest.param(Server(body_bytes=28_200), id="more came than the window before had"),
    ],
)
def test_an_end_that_had_no_room_is_held_by_nothing_but_the_window(server: Server) -> None:
    """It grows by a packet a round trip, and counts packets, however small."""
    path = Path(slow_start_until=10, grows_whole=True)
    one = connection(path, replace(server, record_bytes=16_384))
    known = answer_gaps(one, one.exchanges[0], ruler_of(one))
    assert (known[-1].gap.bytes_after < path.mss, known[-1].kind) == (True, GapKind.WINDOW)
