"""When an answer of HTTP/1.1 began, as the log tells of the socket that carries one at a time."""

import pytest

from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket, Stretch

_URL = "http://shop.test/"


def first_byte(
    sent_ms: int, head_ms: int, *, asks: list[int], turns: list[int], sent_by_ms: int | None = None
) -> int | None:
    socket = NetSocket(5, 90, asks=asks, turns=turns)
    send = Stretch(sent_ms, sent_ms if sent_by_ms is None else sent_by_ms)
    hop = NetHop(1, _URL, "GET", 95, send=send, head_ms=head_ms, link=5, protocol="http/1.1")
    return NetworkLog(sockets={5: socket}).first_byte_of(hop)


@pytest.mark.parametrize(
    ("sent_ms", "head_ms", "first_ms"),
    [(100, 140, 130), (140, 190, 180)],
)
def test_it_began_when_the_server_spoke_for_the_first_time_after_it_was_sent(
    sent_ms: int, head_ms: int, first_ms: int
) -> None:
    assert first_byte(sent_ms, head_ms, asks=[100, 140], turns=[130, 180]) == first_ms


def test_what_came_in_the_millisecond_in_which_it_was_sent_may_be_the_answer_before() -> None:
    assert first_byte(130, 190, asks=[100, 130], turns=[130, 180]) == 180
    assert first_byte(100, 130, asks=[100, 130], turns=[130, 180]) == 130


def test_of_two_that_were_sent_in_one_millisecond_only_the_heads_tell() -> None:
    asks, turns = [100, 100], [100, 150]
    assert first_byte(100, 100, asks=asks, turns=turns) == 100
    assert first_byte(100, 155, asks=asks, turns=turns) == 155


def test_of_two_that_were_sent_while_it_was_sent_only_the_heads_tell() -> None:
    """One was sent and answered within a millisecond; the next began in that one and was sent in the next."""
    asks, turns = [100, 101], [100, 151]
    assert first_byte(100, 155, asks=asks, turns=turns, sent_by_ms=101) == 155
    assert first_byte(100, 100, asks=asks, turns=turns) == 100


def test_what_was_sent_slowly_is_still_told_from_what_came_after() -> None:
    assert first_byte(100, 155, asks=[103, 160], turns=[150, 190], sent_by_ms=110) == 150


def test_an_answer_of_which_the_socket_tells_nothing_began_with_its_head() -> None:
    assert first_byte(100, 140, asks=[], turns=[]) == 140
    assert first_byte(100, 140, asks=[100], turns=[]) == 140
