"""A server that rests before a small end for as long as clients may delay an acknowledgement, and one that waits for
one that comes so late on its way."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import transport
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

RULES = transport.RULES
ANYWHERE = pytest.mark.parametrize("rtt_ms", [10, 20, 80, 380])


@ANYWHERE
@pytest.mark.parametrize("beyond_ms", [185, 200, 230])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_rest_that_is_as_long_with_quick_acknowledgements_waits_for_none(
    rtt_ms: float, beyond_ms: int, version: str
) -> None:
    """Application and records end together: the pair of connections says nothing of the kernel."""
    rest_us = round((rtt_ms + beyond_ms) * 1000)
    for written, left in ((100, 200), (300, 700), (3_000, 1_000)):
        resting = Server(version=version, body_bytes=written + left, body_stall=(written, rest_us))
        for server in (resting, replace(resting, head_apart=True)):
            evidence = deep(Path(rtt_ms=rtt_ms), server)
            assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, evidence)
            assert left_open(RULES, evidence)[Id.TCP_NAGLE_DELAYED_ACK] is NotJudgedReason.UNSTEADY


@ANYWHERE
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_nagle_on_a_way_that_delays_each_acknowledgement_shows_by_a_record_that_it_cuts(
    rtt_ms: float, version: str
) -> None:
    server = Server(version=version, head_apart=True, body_bytes=2_000)
    held, free = (deep(Path(rtt_ms=rtt_ms, late_ack_us=200_000, nagle=one), server) for one in (True, False))
    saving_us = found(RULES, held)[Id.TCP_NAGLE_DELAYED_ACK].saving_us
    assert saving_us == pytest.approx(cost(held, "again") - cost(free, "again"), rel=0.1)
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, free)


@pytest.mark.parametrize(("rest_ms", "jitter", "left"), [(412, 0.3, 1_200), (428, 0.3, 1_200), (405, 0.2, 400)])
def test_rests_that_differ_among_connections_with_quick_acknowledgements_as_much_wait_for_none(
    rest_ms: int, jitter: float, left: int
) -> None:
    """Some are longer than the shortest of the others by what an acknowledgement may be late."""
    resting = Server(version="TLSv1.2", body_bytes=800 + left, body_stall=(800, rest_ms * 1000))
    for seed in range(0, 1_000, 25):
        evidence = deep(Path(rtt_ms=380, jitter=jitter, seed=seed), resting)
        assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, evidence)
