"""Servers with windows of every size that pause within their pages: what is told for certain is what mending gains."""

from dataclasses import replace

import pytest

from workers.diagnosis.case import Case
from workers.diagnosis.probe import answers, handshakes
from workers.diagnosis.probe.windows import exact_window, known_window
from workers.measurement.finding import Confidence
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

RULES = answers.RULES
OLD = Server(version="TLSv1.2")
NEW = Server(handshake_bytes=1_300)

PAUSING = [
    # Behind the pause only two flights show; without it a window of 7 needs three, one of 10 two.
    (Path(rtt_ms=380, iw=7, mss=1_220), replace(OLD, body_bytes=30_178, stops=((3_381, 317_000),))),
    # Tickets, a head and a piece have filled the window: the second pause is a wait for the acknowledgement of all.
    (
        Path(rtt_ms=380, iw=4),
        replace(NEW, record_bytes=1_300, head_bytes=602, body_bytes=5_781, stops=((36, 171_740), (2_350, 59_358))),
    ),
    # What the acknowledgement of the first piece let the window grow to shows, and not what it was.
    (Path(iw=5), replace(OLD, body_bytes=112_000, stops=((3_876, 428_000), (34_000, 428_000)))),
    (Path(iw=7, mss=1_220), replace(OLD, body_bytes=99_000, stops=((3_200, 367_000), (29_600, 211_000)))),
    # One that is known from shorter handshakes, but has grown by this one.
    (
        Path(iw=2, mss=1_220),
        replace(NEW, body_bytes=126_900, stops=((92_800, 77_000), (4_600, 384_000), (11_000, 394_000))),
    ),
    (Path(iw=2), Server(handshake_bytes=9_819, body_bytes=137_600, stops=((44_900, 286_000), (52_200, 251_000)))),
    (
        Path(iw=7, mss=536),
        replace(OLD, handshake_bytes=4_500, body_bytes=35_687, stops=((25_428, 59_770), (1_270, 285_000))),
    ),
    # One that a long handshake has opened, but less than the usual.
    (
        Path(iw=4),
        Server(
            handshake_bytes=10_317,
            record_bytes=1_300,
            head_bytes=795,
            body_bytes=34_993,
            stops=((7_881, 176_494), (6_356, 176_494), (1_473, 176_494)),
        ),
    ),
    (
        Path(iw=8, mss=536),
        replace(OLD, handshake_bytes=4_500, body_bytes=137_000, stops=((15_000, 301_000), (23_000, 301_000))),
    ),
    # Pauses that lie behind full windows in part: there is more to gain than what shows of them.
    (
        Path(iw=6, mss=536),
        replace(
            NEW,
            tickets_bytes=1_825,
            head_bytes=673,
            body_bytes=130_911,
            stops=((8_457, 233_512), (57_459, 335_030), (47_651, 486_742)),
        ),
    ),
    (
        Path(rtt_ms=380, iw=32),
        replace(OLD, body_bytes=35_800, stops=((7_163, 460_000), (16_750, 363_000), (3_972, 239_000))),
    ),
    # A piece that fills less than three segments of a window of two.
    (
        Path(rtt_ms=380, iw=2),
        Server(handshake_bytes=2_300, tickets_bytes=0, body_bytes=3_737, stops=((2_461, 285_941),)),
    ),
    (
        Path(rtt_ms=380, iw=2, mss=536),
        replace(OLD, record_bytes=1_300, body_bytes=3_583, stops=((395, 277_000), (312, 334_000))),
    ),
]


@pytest.mark.parametrize(("way", "server"), PAUSING)
def test_what_a_pause_costs_is_certain_only_where_no_window_that_the_server_may_have_makes_it_another(
    way: Path, server: Server
) -> None:
    told = found(RULES, deep(way, server)).get(Id.HTTP_BODY_STALL)
    if told is not None and told.confidence is Confidence.HIGH:
        real_us = cost(deep(way, server), "whole") - cost(deep(way, replace(server, stops=())), "whole")
        assert told.saving_us == pytest.approx(real_us, rel=0.1, abs=2_000)


def test_an_answer_that_nothing_stopped_shows_no_small_window_where_packets_are_large() -> None:
    """Three packets carry all of it."""
    way, server = Path(mss=8_948), Server(handshake_bytes=35_000, body_bytes=20_000, stall=(3_000, 300_000))
    stalled = deep(way, server)
    assert known_window(Case(evidence=stalled)) is None
    told = found(handshakes.RULES, stalled)[Id.TLS_HANDSHAKE_STALL]
    real_us = cost(stalled, "handshake") - cost(deep(way, replace(server, stall=None)), "handshake")
    assert told.saving_us == pytest.approx(real_us, rel=0.03)


def test_what_a_window_was_at_least_is_not_what_stops_an_answer() -> None:
    case = Case(evidence=deep(Path(iw=32), replace(OLD, body_bytes=28_000)))
    assert known_window(case) == pytest.approx(19.7, abs=0.2)
    assert exact_window(case) is None
