"""What the held end of an answer costs."""

from dataclasses import replace

import pytest

from workers.diagnosis import transport
from workers.measurement.evidence import Trial, TrialEvidence
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Connection, Server, connection, probe

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
