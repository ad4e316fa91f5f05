"""The phases of servers that speak HTTP/2 alone beside the packets of their connections."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from uuid import UUID

import pytest

from workers.measurement.messages import Kind, PairMeasurement, ProbeMeasurement
from workers.measurement.pair import Leg, PairTarget, Protocols
from workers.measurement.timing import phases_of
from workers.pairs import PairEngine
from workers.shaping.packets import SYN, TCP, Packet
from workers.tests.builders import build_request
from workers.tests.netlab.accuracy import Lengths, lengths_of
from workers.tests.netlab.capture import Seen
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import open_lab
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.served import Network, Served
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 80
PROBES = 5
# Of the middle, in microseconds.
LIMITS = Lengths(connect=50, tls=100, wait=1000)
# Settings, tickets and heads are shorter than the first packet of a page.
_PAGE_BYTES = 1000
_SECURE = 443


@undisturbed
def test_phases_are_those_of_the_packets(tmp_path: Path) -> None:
    """Those of the connection that was refused before are in none of them."""
    folder = Path(mkdtemp(dir=tmp_path))
    site = Served(conduct=Conduct(protocols=("h2",), body_bytes=20_000))
    with open_lab(Network(), RTT_MS) as lab:
        estate = Estate(lab, Vault(folder), folder, {"site": site})
        with lab.capture() as capture:
            measured = [lab.probe(estate.url("site")).measurement for _ in range(PROBES)]
            packets = capture.packets()
    truths = [truth for connection in connections(packets) if (truth := truth_of(connection)) is not None]
    assert len(truths) == PROBES
    for phase, limit_us in LIMITS._asdict().items():
        seen = [getattr(lengths_of(one), phase) for one in measured]
        errors = [abs(one - getattr(truth, phase)) for one, truth in zip(seen, truths, strict=True)]
        assert median(errors) <= limit_us, (phase, errors)
    for one in measured:
        assert isinstance(one, ProbeMeasurement)
        (connection,) = one.connections
        assert (connection.protocol, connection.tls_round_trips) == ("h2", 1)


@undisturbed
def test_phases_of_a_pair_are_those_of_the_packets(tmp_path: Path) -> None:
    """On both legs, over new connections and over the same again; where servers are met first, that is in none."""
    folder = Path(mkdtemp(dir=tmp_path))
    sites = {
        "cdn": Served(conduct=Conduct(protocols=("h2",), body_bytes=20_000)),
        "origin": Served(conduct=Conduct(protocols=("h2",), body_bytes=20_000, think_s=(0.03,))),
    }
    with open_lab(Network(), RTT_MS) as lab:
        estate = Estate(lab, Vault(folder), folder, sites)
        request = build_request(
            kind=Kind.PAIR,
            run_id=UUID(int=0),
            url=estate.url("cdn"),
            other=PairTarget(url=estate.url("origin")),
            timeout_us=30_000_000,
        )
        with PairEngine(lab.settings, enter=lab.client.enter) as engine, lab.capture() as capture:
            measured = [engine.pair(request).measurement for _ in range(PROBES)]
            packets = capture.packets()
    made = [connection for connection in connections(packets) if truth_of(connection) is not None]
    assert len(made) == len(Leg) * PROBES
    errors: dict[str, list[int]] = {}
    for number, one in enumerate(measured):
        assert isinstance(one, PairMeasurement)
        assert (one.protocols, one.not_kept) == (Protocols.SAME, ())
        for at, leg in enumerate(Leg):
            seen, truth = made[len(Leg) * number + at], truth_of(made[len(Leg) * number + at])
            cold, reused = (phases_of(each.timing) for each in one.exchanges if each.leg is leg)
            assert truth is not None
            errors.setdefault("connect", []).append(abs((cold.connect_us or 0) - truth.connect))
            errors.setdefault("wait", []).append(abs((cold.wait_us or 0) - truth.wait))
            errors.setdefault("reused", []).append(abs((reused.wait_us or 0) - last_wait_us(seen)))
            # Our own cryptography is in the phase and in no packet.
            assert truth.tls - LIMITS.tls <= (cold.tls_us or 0) <= truth.tls + RTT_MS * 500
    limits = {"connect": LIMITS.connect, "wait": LIMITS.wait, "reused": LIMITS.wait}
    assert {phase: median(found) for phase, found in errors.items() if median(found) > limits[phase]} == {}


def test_connections_from_one_port_are_told_apart_by_where_they_lead() -> None:
    ours, cdn, origin = (b"\n\x4d\0\2", 40_000), (b"\n\x4d\0\x14", _SECURE), (b"\n\x4d\0\x15", _SECURE)
    ways = [(ours, cdn), (ours, origin), (cdn, ours), (origin, ours)]
    packets = [Seen(at, way[0] == ours, Packet(TCP, *way, payload_bytes=0)) for at, way in enumerate(ways)]
    assert connections(packets) == [packets[0::2], packets[1::2]]


def last_wait_us(packets: list[Seen]) -> int:
    """From the last request to the first packet of its page."""
    data = [seen for seen in packets if seen.packet.payload_bytes]
    asked = max(seen.at_ns for seen in data if seen.sent)
    page = next(one.at_ns for one in data if one.at_ns > asked and one.packet.payload_bytes >= _PAGE_BYTES)
    return (page - asked) // 1000


def connections(packets: Sequence[Seen]) -> list[list[Seen]]:
    """Each to the server's port, in the order in which they were made."""
    found: dict[object, list[Seen]] = {}
    for seen in packets:
        own, other = seen.packet.source, seen.packet.destination
        own, other = (own, other) if seen.sent else (other, own)
        if seen.packet.protocol == TCP and other[1] == _SECURE:
            # The kernel gives the same port to connections that lead to different addresses.
            found.setdefault((own, other), []).append(seen)
    return list(found.values())


def truth_of(packets: list[Seen]) -> Lengths | None:
    """From the ClientHello to the end of the server's flight; from the request to the first packet of the page. None
    for one that was refused."""
    opening = [seen for seen in packets if seen.packet.flags & SYN]
    data = [seen for seen in packets if seen.packet.payload_bytes]
    turns = [list(turn) for _, turn in groupby(data, key=lambda seen: seen.sent)]
    if len(opening) != 2 or len(turns) < 4:
        return None
    hello, shaken, request = turns[0][0].at_ns, turns[1][-1].at_ns, turns[2][-1].at_ns
    page = next(
        seen.at_ns
        for seen in data
        if not seen.sent and seen.at_ns > request and seen.packet.payload_bytes >= _PAGE_BYTES
    )
    return Lengths(
        connect=(opening[1].at_ns - opening[0].at_ns) // 1000,
        tls=(shaken - hello) // 1000,
        wait=(page - request) // 1000,
    )
