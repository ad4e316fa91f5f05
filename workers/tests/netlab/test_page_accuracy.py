"""Chromium's phases by our reader beside the packets of its own network, over each protocol and kind of connection.

The strict figures are those of `./dev bench page-accuracy` on a quiet machine. Here other work may take the processor
from the browser between a packet and its stamp, and then a phase really lasts longer than its packets. So a page is
loaded until each phase of each row was met once, which one that is read wrongly never is.
"""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from workers.browser.faults import BrowserError
from workers.measurement.timing import Span
from workers.shaping.packets import UDP, Packet
from workers.tests.netlab.capture import Seen
from workers.tests.netlab.page_accuracy import GRAIN_US, PHASES, RTT_MS, SITES, Error, Packets, load
from workers.tests.second_tries import measured_again
from workers.tests.shapes.browsing import ShapeLab, shape_lab

_MOST_LOADS = 20
# The others come when all is quiet.
_LOADS_AT_ONCE = 4
# QUIC has no connect of its own.
_SEEN = {name: set(PHASES) - ({"connect"} if name == "h3" else set()) for name in SITES}


@pytest.fixture(scope="module")
def lab() -> Iterator[ShapeLab]:
    with shape_lab(RTT_MS) as lab:
        yield lab


@pytest.mark.parametrize("name", SITES)
def test_phases_of_a_page_are_those_of_the_packets(name: str, lab: ShapeLab) -> None:
    found: list[Error] = []
    with lab.serving(SITES[name]):
        for number in range(1, _MOST_LOADS + 1):
            # A browser that does not come up, or that our own page finds wanting, measures nothing, as in an agent:
            # another one is started.
            with suppress(BrowserError):
                found += load(lab, name)
            if not _missed(found) and _told(found) == _SEEN[name]:
                break
            why = f"not met yet: {sorted(_missed(found))}, not seen: {sorted(_SEEN[name] - _told(found))}"
            measured_again(why, at_once=number < _LOADS_AT_ONCE)
    assert {error.phase for error in found} == _SEEN[name]
    assert _told(found) == _SEEN[name], found
    assert _missed(found) == set(), found
    assert [error for error in found if _is_short(error)] == []


def _told(errors: list[Error]) -> set[str]:
    """Phases of which the packets tell."""
    return {error.phase for error in errors if error.truth_us is not None}


def _missed(errors: list[Error]) -> set[tuple[int, str]]:
    """Phases of rows of which the packets tell and that were never as they say."""
    places = {(error.row, error.phase) for error in errors if error.truth_us is not None}
    return places - {(error.row, error.phase) for error in errors if error.met}


def _is_short(error: Error) -> bool:
    """Whether a phase took less than its packets, which no processor is too busy for.

    Where two of a kind follow each other (a handshake's last word, the request) the packets do not tell so well.
    """
    known = error.phase in ("dns", "connect") and error.truth_us is not None
    return known and error.ours_us < (error.truth_us or 0) - GRAIN_US


_OURS, _THEIRS = (b"\n\0\0\1", 5000), (b"\n\0\0\2", 53)


def _question(at_ms: int, port: int = 5000) -> Seen:
    return Seen(at_ms * 1_000_000, True, Packet(UDP, (_OURS[0], port), _THEIRS, payload_bytes=30))


def _answer(at_ms: int, port: int = 5000) -> Seen:
    return Seen(at_ms * 1_000_000, False, Packet(UDP, _THEIRS, (_OURS[0], port), payload_bytes=60))


@pytest.mark.parametrize(("began_us", "length_us"), [(0, 40_000), (1500, 40_000), (9000, None)])
def test_the_packets_of_a_lookup_tell_nothing_of_one_that_joined_it(began_us: int, length_us: int | None) -> None:
    packets = Packets([_question(0), _answer(40)], offset_ns=0)
    assert packets.length_us("dns", Span(start_us=began_us, end_us=40_500), zero_us=0) == length_us


@pytest.mark.parametrize(
    ("answers_ms", "end_us", "length_us"),
    [
        pytest.param((40, 53), 48_500, 40_000, id="not waited for"),
        pytest.param((40, 47), 47_500, 47_000, id="waited for"),
        pytest.param((44, 53), 40_000, 44_000, id="a phase that ended before any answer"),
    ],
)
def test_an_answer_that_the_browser_did_not_wait_for_ended_no_lookup(
    answers_ms: tuple[int, int], end_us: int, length_us: int
) -> None:
    addresses, service = answers_ms
    seen = [_question(0), _question(0, port=5001), _answer(addresses), _answer(service, port=5001)]
    assert Packets(seen, offset_ns=0).length_us("dns", Span(start_us=0, end_us=end_us), zero_us=0) == length_us
