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


@pytest.mark.parametrize(("began_us", "length_us"), [(0, 40_000), (1500, 40_000), (9000, None)])
def test_the_packets_of_a_lookup_tell_nothing_of_one_that_joined_it(began_us: int, length_us: int | None) -> None:
    ours, theirs = (b"\n\0\0\1", 5000), (b"\n\0\0\2", 53)
    asked = Seen(0, True, Packet(UDP, ours, theirs, payload_bytes=30))
    answered = Seen(40_000_000, False, Packet(UDP, theirs, ours, payload_bytes=60))
    span = Span(start_us=began_us, end_us=40_500)
    assert Packets([asked, answered], offset_ns=0).length_us("dns", span, zero_us=0) == length_us
