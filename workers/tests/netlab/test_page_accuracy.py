"""Chromium's phases by our reader beside the packets of its own network, over each protocol and kind of connection.

The strict figures are those of `./dev bench page-accuracy` on a quiet machine. Here other work may take the processor
from the browser between a packet and its stamp: the middle must hold, and nothing may be missing.
"""

from collections.abc import Iterator

import pytest

from workers.tests.netlab.page_accuracy import PHASES, RTT_MS, SITES, measure
from workers.tests.shapes.browsing import ShapeLab, shape_lab

# What needs a browser of its own for each load is loaded once.
_LOADS = {True: 1, False: 2}
# QUIC has no connect of its own.
_SEEN = {name: set(PHASES) - ({"connect"} if name == "h3" else set()) for name in SITES}


@pytest.fixture(scope="module")
def lab() -> Iterator[ShapeLab]:
    with shape_lab(RTT_MS) as lab:
        yield lab


@pytest.mark.parametrize("name", SITES)
def test_phases_of_a_page_are_those_of_the_packets(name: str, lab: ShapeLab) -> None:
    errors = measure(lab, name, _LOADS[SITES[name].full])
    assert {error.phase for error in errors} == _SEEN[name]
    for phase in _SEEN[name]:
        found = [error for error in errors if error.phase == phase]
        assert sum(error.met for error in found) * 2 >= len(found), found
    assert sum(error.truth_us is None for error in errors) * 4 <= len(errors), errors
