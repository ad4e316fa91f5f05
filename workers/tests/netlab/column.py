"""One column of the matrix: every site of the twins probed at one round trip, side by side, over one kind of link."""

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.evidence import Depth
from workers.measurement.finding import Diagnosis, FindingId
from workers.measurement.messages import ProbeMeasurement
from workers.shaping.settings import Direction, Drop
from workers.tests.netlab import ahead as way
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.conduct import Conduct, Refusal
from workers.tests.netlab.estate import Estate
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import Network, Served
from workers.tests.netlab.twin import Twin

# The second full packet of a connection: inside the first flight of a long handshake, otherwise inside the answer. It
# has others behind it, so that the client sees the gap; where nothing is as long nothing is lost.
LOSS = (Drop(direction=Direction.DOWN, nth=2, least_bytes=1400, port=443),)
# On short paths a queue at a processor weighs more, so that fewer are under way at a time. Those that begin together
# stay together, and what they then compute at once is a delay for each: so one begins after the other.
_AT_ONCE = {20: 8, 80: 40, 380: 150}
_APART_S = 0.25
# What a connection may take: its pauses and the server's, and round trips, lost packets included.
_CALM_S, _TRIPS = 5.0, 15

Measurements = Mapping[Served, ProbeMeasurement]


def sites_of(twins: Iterable[Twin]) -> list[Served]:
    """Each site once, however many twins share it."""
    return list(dict.fromkeys(site for twin in twins for site in (twin.positive, twin.repaired)))


def measure(
    sites: Iterable[Served],
    *,
    rtt_ms: int,
    vault: Vault,
    folder: Path,
    depth: Depth = Depth.DEEP,
    **link: Any,
) -> Measurements:
    """One probe of each, over a link by the keywords of LabNetwork."""

    def ask(number: int, where: tuple[Lab, str], site: Served) -> ProbeMeasurement:
        time.sleep(max(0.0, begun_s + number * _APART_S - time.monotonic()))
        calm_s, trips = (_CALM_S / 2, _TRIPS / 2) if _is_silent(site) else (_CALM_S, _TRIPS)
        return probe(*where, Asking(depth=depth, timeout_s=calm_s + trips * rtt_ms / 1000))

    with (
        way.ahead(way.MATRIX),
        _open(sites, link | {"rtt_ms": rtt_ms}, vault=vault, folder=folder) as places,
        ThreadPoolExecutor(_AT_ONCE[rtt_ms]) as pool,
    ):
        begun_s = time.monotonic()
        # An engine believes that a server's QUIC is blocked only once it knows that its own is not.
        ordered = sorted(places, key=lambda site: (not site.quic, _blocks_quic(site)))
        asked = pool.map(lambda number, site: ask(number, places[site], site), count(), ordered)
        return dict(zip(ordered, asked, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How deep a probe looks, and what each of its connections may take."""

    depth: Depth = Depth.DEEP
    timeout_s: float = 10.0


def _blocks_quic(site: Served) -> bool:
    announced = isinstance(site.conduct, NginxConduct) and any(name == "Alt-Svc" for name, _ in site.conduct.headers)
    return announced and not site.quic


def _is_silent(site: Served) -> bool:
    """Whether every second connection to it is a matter of patience alone, however short."""
    conduct = site.conduct
    return isinstance(conduct, Conduct) and conduct.refusal is Refusal.SILENCE and not conduct.breaks_sessions


@contextmanager
def _open(
    sites: Iterable[Served], link: Mapping[str, Any], *, vault: Vault, folder: Path
) -> Iterator[dict[Served, tuple[Lab, str]]]:
    """A lab for each kind of network, and in it the sites that want it."""
    by_network: dict[Network, list[Served]] = {}
    for site in sites:
        by_network.setdefault(site.network, []).append(site)
    urls: dict[Served, tuple[Lab, str]] = {}
    with ExitStack() as stack:
        for number, (network, same) in enumerate(by_network.items()):
            lab = stack.enter_context(open_lab(network, **link))
            place = folder / f"lab{number}"
            place.mkdir()
            named = {f"site{index}": site for index, site in enumerate(same)}
            estate = Estate(lab, vault, place, named)
            urls |= {site: (lab, estate.url(name)) for name, site in named.items()}
        yield urls


@contextmanager
def open_lab(network: Network, rtt_ms: float, **link: Any) -> Iterator[Lab]:
    """A lab of that kind; its link by the keywords of LabNetwork."""
    with Lab(rtt_ms=rtt_ms, server_iw=network.server_iw, delayed_ack_ms=network.delayed_ack_ms, **link) as lab:
        lab.server.sysctl("net.ipv4.tcp_slow_start_after_idle", int(network.idle_restart))
        if network.delayed_ack_ms is not None:
            # Servers of the time of such clients did not send what Nagle holds back as a probe for a lost tail.
            lab.server.sysctl("net.ipv4.tcp_early_retrans", 0)
        yield lab


def probe(lab: Lab, url: str, asking: Asking | None = None) -> ProbeMeasurement:
    """What a probe saw, whether or not it came to its end."""
    asking = asking or Asking()
    timeout_us = round(asking.timeout_s * 1_000_000)
    outcome = lab.probe(url, depth=asking.depth, timeout_us=timeout_us, ignore_certificate_errors=True)
    measurement = outcome.measurement
    assert isinstance(measurement, ProbeMeasurement), (url, outcome)
    return measurement


def diagnosis_of(measurement: ProbeMeasurement) -> Diagnosis:
    """By today's rules; one that raises fails the test."""
    assert measurement.evidence is not None

    def on_fault(_: object, error: Exception) -> None:
        raise error

    return diagnose(measurement.evidence, measurement.hops, on_fault=on_fault)


def ids(diagnosis: Diagnosis) -> frozenset[FindingId]:
    return frozenset(finding.id for finding in diagnosis.findings)
