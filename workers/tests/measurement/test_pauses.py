"""When nothing came over a connection while an answer was on its way, by what was read of it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket, Stretch, Wait
from workers.measurement.compute.netlog.pauses import MAX_PAUSES, Answer, note_pauses, pauses_of
from workers.measurement.compute.page.page import compute_page
from workers.tests.measurement.recorded import page_of
from workers.tests.shapes import golden

instants = st.integers(0, 3_000)


def alone(*answers: tuple[int, int]) -> list[Answer]:
    """Answers by their first and last byte, each of which could not have come sooner."""
    return [(first_ms, first_ms, ended_ms) for first_ms, ended_ms in answers]


def packets(*flights: tuple[int, int], every_ms: int = 5) -> list[int]:
    """When each packet of flights came that begin at an instant and hold so many."""
    return [begin_ms + every_ms * number for begin_ms, count in flights for number in range(count)]


def test_a_full_window_is_a_pause_and_what_lies_between_its_packets_is_none() -> None:
    assert pauses_of(packets((100, 10), (220, 20)), alone((100, 315))) == ((145, 220),)


@pytest.mark.parametrize(("gap_ms", "is_pause"), [(39, False), (40, True)])
def test_what_a_narrow_line_takes_for_three_packets_is_no_pause(gap_ms: int, is_pause: bool) -> None:
    """Another connection's may have come between."""
    reads = packets((100, 10), (190 + gap_ms, 10), every_ms=10)
    assert bool(pauses_of(reads, alone((100, 500)))) is is_pause


@pytest.mark.parametrize(("gap_ms", "is_pause"), [(4, False), (5, True)])
def test_a_few_milliseconds_may_be_the_browsers_own(gap_ms: int, is_pause: bool) -> None:
    reads = packets((100, 10), (109 + gap_ms, 10), every_ms=1)
    assert bool(pauses_of(reads, alone((100, 500)))) is is_pause


@pytest.mark.parametrize(
    ("capture", "behind"), [("lossy", [8_688, 7_240]), ("lossy-narrow", [13_032]), ("six-connections", [])]
)
def test_packets_that_a_loss_held_back_come_at_once_behind_a_pause(capture: str, behind: list[int]) -> None:
    """Recorded with 3 % of loss. Behind a full window comes a packet, and the next one as the line brings it."""
    pauses = [one for connection in page_of(capture).waterfall.connections for one in connection.pauses or ()]
    assert [one.behind_bytes for one in pauses if one.behind_bytes > 2 * 1_448] == behind


def test_what_passes_before_an_answer_and_between_two_is_no_pause() -> None:
    reads = packets((50, 1), (200, 10), (400, 10))
    assert pauses_of(reads, alone((200, 250), (400, 450))) == ()
    assert pauses_of(reads, alone((200, 450))) == ((245, 400),)


def test_between_an_answer_and_one_that_was_due_behind_it_is_a_pause() -> None:
    """Its record could not be read before 400, and its server sent nothing of it for a while."""
    reads = packets((100, 10), (300, 10), (350, 10))
    assert pauses_of(reads, [(100, 100, 145), (120, 395, 400)]) == ((145, 300),)
    assert pauses_of(reads, [(100, 100, 145), (146, 395, 400)]) == ()


def test_what_comes_packet_by_packet_behind_an_answer_is_no_pause() -> None:
    assert pauses_of(packets((100, 60)), [(100, 100, 145), (120, 395, 400)]) == ()


def test_of_answers_that_come_together_one_on_its_way_is_enough() -> None:
    reads = packets((100, 10), (300, 10))
    assert pauses_of(reads, alone((300, 345), (100, 200), (150, 320))) == ((145, 300),)


def test_a_head_may_be_told_a_tick_after_it_was_read() -> None:
    reads = [100, *packets((190, 8))]
    assert pauses_of(reads, alone((101, 230))) == ((100, 190),)
    assert pauses_of(reads, alone((102, 230))) == ()


def test_nothing_was_awaited_and_nothing_came() -> None:
    assert pauses_of([], alone((0, 100))) == pauses_of([1, 90], alone()) == pauses_of([5], alone((0, 100))) == ()


@pytest.mark.parametrize(("between_flights_ms", "is_pause"), [(None, False), (75, True), (151, False)])
def test_a_flight_that_came_in_one_tick_tells_of_no_packets(between_flights_ms: int | None, is_pause: bool) -> None:
    """Whatever lies between its packets, half a round trip is longer."""
    assert bool(pauses_of([100, 250], alone((100, 250)), between_flights_ms)) is is_pause


@given(st.sets(instants, max_size=300), st.lists(st.tuples(instants, st.integers(0, 800)), max_size=20))
def test_pauses_are_gaps_in_order_and_never_too_many(reads: set[int], lengths: list[tuple[int, int]]) -> None:
    answers = [(first_ms, first_ms + length_ms) for first_ms, length_ms in lengths]
    found = pauses_of(reads, alone(*answers))
    assert len(found) <= MAX_PAUSES
    assert set(found) <= set(pairwise(sorted(reads)))
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(found))
    assert all(any(first_ms - 1 <= one[0] < ended_ms for first_ms, ended_ms in answers) for one in found)


def test_a_server_that_thinks_between_pieces_makes_pauses_too() -> None:
    """A real one: four pieces with 100 ms before each."""
    (connection,) = compute_page(golden.load("streaming")).measurement.waterfall.connections
    assert [round(pause.span.duration_us, -4) for pause in connection.pauses or ()] == [100_000] * 3


FLIGHT_BYTES = 14_480


def read(reads: dict[int, int], connect_ms: int = 150) -> tuple[Wait, ...]:
    """The pauses of a connection with one answer, asked for at 0 ms, whose first byte could be read at 300 ms."""
    socket = NetSocket(source=1, opened_ms=-300, connect=Stretch(-300, connect_ms - 300), reads=reads)
    hop = NetHop(source=2, url="", method="GET", started_ms=0, link=1, send=Stretch(0, 0), head_ms=300, ended_ms=301)
    note_pauses(NetworkLog(sockets={1: socket}), [hop])
    return tuple(pause for pause, _ in socket.pauses or ())


def test_an_answer_is_on_its_way_from_the_first_of_a_record_on() -> None:
    """Which can be read when it is whole: a first flight brought the most of it. A handshake may take a bit longer than
    a round trip."""
    flights = {150: FLIGHT_BYTES, 300: 5_800}
    assert read(flights) == read(flights, connect_ms=170) == ((150, 300),)


def test_bursts_of_a_radio_or_of_a_server_that_is_paced_are_no_pauses() -> None:
    assert read(dict.fromkeys(range(150, 302, 10), 4_000), connect_ms=20) == ()


@pytest.mark.parametrize("reads", [{150: 3_999, 300: 20_000}, {100: FLIGHT_BYTES, 300: 5_800}, {300: 20_000}])
def test_what_a_server_says_beside_an_answer_or_before_it_was_due_is_none_of_it(reads: dict[int, int]) -> None:
    assert read(reads) == ()


def test_nobody_looked_where_no_answer_came_over_tcp() -> None:
    connections = compute_page(golden.load("alt-svc-h3")).measurement.waterfall.connections
    assert [one.pauses is None for one in connections if one.protocol == "h3"] == [True]
