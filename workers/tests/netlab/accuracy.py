"""How far a probe's phases are from the truth: the packets at the same end of the same network, by the kernel's stamps.

Each probe goes to an address of its own, by which its packets are found again.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from itertools import groupby
from math import ceil
from pathlib import Path
from threading import Event
from typing import NamedTuple

import trustme

from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.measurement.timing import Span
from workers.shaping import netlink
from workers.shaping.cable import INTERFACE
from workers.shaping.packets import SYN, TCP
from workers.tests.netlab.capture import Seen
from workers.tests.netlab.lab import Lab
from workers.tests.nginx_frame import framed

RTT_MS = 380.0
_ADDRESSES = "10.78.{}.{}"
_NETWORK = "10.78.0.0/16"
# An answer is larger than what a server sends of its own accord after a handshake.
_BODY_BYTES = 600
_LEAST_ANSWER_BYTES = 400
_SITE = """\
  ssl_protocols TLSv1.3;
  ssl_certificate {folder}/server.pem;
  ssl_certificate_key {folder}/server.key;
  server {{
    listen 443 ssl backlog=1024;
    location / {{ return 200 '{body}'; }}
  }}
"""


class Lengths(NamedTuple):
    """Of one probe, in microseconds."""

    connect: int
    tls: int
    wait: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Errors by phase in us, sorted; `lost` counts probes whose packets or phases were not all there."""

    in_flight: int
    connect: tuple[int, ...]
    tls: tuple[int, ...]
    wait: tuple[int, ...]
    lost: int

    def quantile_us(self, phase: str, share: float) -> int:
        """As `nearest_rank`."""
        return nearest_rank(getattr(self, phase), share)


def nearest_rank(ascending: Sequence[int], share: float) -> int:
    """The least of the values that so large a share of all do not exceed."""
    return ascending[max(0, ceil(len(ascending) * share) - 1)]


@contextmanager
def accuracy_lab(folder: Path, *, addresses: int, rtt_ms: float = RTT_MS) -> Iterator[Lab]:
    """A lab whose server answers over TLS at so many addresses."""
    leaf = trustme.CA().issue_cert("www.lab.test")
    leaf.private_key_pem.write_to_path(str(folder / "server.key"))
    for part in leaf.cert_chain_pems:
        part.write_to_path(str(folder / "server.pem"), append=True)
    configuration = folder / "nginx.conf"
    configuration.write_text(framed(folder, _SITE.format(folder=folder, body="x" * _BODY_BYTES)))
    with Lab(rtt_ms=rtt_ms) as lab:
        lab.configure(allowed=parse_networks(_NETWORK))
        lab.server.call(lambda: _add_addresses(addresses))
        lab.client.call(lambda: netlink.add_route(INTERFACE, _NETWORK))
        lab.run_server(
            ["/usr/sbin/nginx", "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(configuration)]
        )
        lab.wait_for_port(443)
        yield lab


def measure_accuracy(lab: Lab, *, in_flight: int, probes: int) -> Accuracy:
    """Probes one address after the other, so many at once, spread over the time that one takes."""
    with lab.capture() as capture:
        measured = _probe_all(lab, in_flight, probes)
        packets = capture.packets()
    truths = _truths(packets)
    pairs = [(measured[key], truths[key]) for key in measured.keys() & truths.keys()]
    errors = {
        phase: tuple(sorted(abs(getattr(seen, phase) - getattr(truth, phase)) for seen, truth in pairs))
        for phase in Lengths._fields
    }
    return Accuracy(in_flight=in_flight, lost=probes - len(pairs), **errors)


def _address(number: int) -> str:
    return _ADDRESSES.format(number // 250, number % 250 + 1)


def _add_addresses(count: int) -> None:
    for number in range(count):
        netlink.add_address(INTERFACE, ip_interface(f"{_address(number)}/32"))


def _probe_all(lab: Lab, in_flight: int, probes: int) -> dict[bytes, Lengths]:
    never = Event()
    apart_s = 3 * RTT_MS / 1000 / in_flight
    found: dict[bytes, Lengths] = {}

    def probe(number: int) -> None:
        if number < in_flight:
            never.wait(number * apart_s)
        address = _address(number)
        outcome = lab.probe(f"https://{address}/", ignore_certificate_errors=True)
        lengths = lengths_of(outcome.measurement) if isinstance(outcome, Measured) else None
        if lengths is not None:
            found[ip_address(address).packed] = lengths

    with ThreadPoolExecutor(in_flight) as pool:
        list(pool.map(probe, range(probes)))
    return found


def lengths_of(measurement: object) -> Lengths | None:
    """What a probe says of them; None where it did not come so far."""
    if not isinstance(measurement, ProbeMeasurement) or measurement.tls_network_us is None:
        return None
    timing = measurement.hops[0].timing
    if timing.connect is None or timing.wait is None:
        return None
    return Lengths(_length(timing.connect), measurement.tls_network_us, _length(timing.wait))


def _length(span: Span) -> int:
    return span.end_us - span.start_us


def _truths(packets: Iterable[Seen]) -> dict[bytes, Lengths]:
    """By the server's address. A connection with a packet sent twice tells nothing about clocks."""
    connections: dict[bytes, list[Seen]] = {}
    for seen in packets:
        if seen.packet.protocol == TCP:
            end = seen.packet.destination if seen.sent else seen.packet.source
            connections.setdefault(end[0], []).append(seen)
    found = {key: _truth(connection) for key, connection in connections.items()}
    return {key: truth for key, truth in found.items() if truth is not None}


def _truth(packets: list[Seen]) -> Lengths | None:
    """The handshake is what the server's answers took, from the first packet of ours that asked for each."""
    opening = [seen for seen in packets if seen.packet.flags & SYN]
    data = [seen for seen in packets if seen.packet.payload_bytes]
    again = len({(seen.sent, seen.packet.sequence) for seen in data}) < len(data)
    turns = [list(turn) for _, turn in groupby(data, key=lambda seen: seen.sent)]
    if len(opening) != 2 or again or len(turns) < 4 or not turns[0][0].sent:
        return None
    asked, answered = turns[0::2], turns[1::2]
    sizes = (seen for seen in answered[-1] if seen.packet.payload_bytes >= _LEAST_ANSWER_BYTES)
    answer = next(sizes, answered[-1][0])
    handshake_ns = sum(
        server[-1].at_ns - ours[0].at_ns for ours, server in zip(asked[:-1], answered[:-1], strict=False)
    )
    return Lengths(
        connect=(opening[1].at_ns - opening[0].at_ns) // 1000,
        tls=handshake_ns // 1000,
        wait=(answer.at_ns - asked[len(answered) - 1][-1].at_ns) // 1000,
    )
