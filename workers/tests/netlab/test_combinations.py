"""Servers with several faults at once: each fault is told, nothing else is, and each saves what its own repair does."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import Measurements, measure
from workers.tests.netlab.conduct import Conduct, Stall
from workers.tests.netlab.costs import UnseenError, cost_us
from workers.tests.netlab.names import Naming
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import ChainWish, Served
from workers.tests.netlab.twin import Cost, background
from workers.tests.second_tries import measured_again

_RTT_MS = 80
_TRIES = 8
_SHARE, _FLOOR_US = 0.1, 5_000

_SHAKING = Stall(after_bytes=700, pause_s=0.5)
_PAUSING = Stall(after_bytes=5_000, pause_s=0.6)
_PAGE = Served(conduct=Conduct(body_bytes=20_000))
_KEPT = _PAGE.but(tickets=False, session_ids=False)
_NGINX = Served(conduct=NginxConduct(body_bytes=20_000))
_LONG, _SLOW_NAME = ChainWish(size_bytes=18_000), Naming(search_ms=500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A server with several faults. `repairs` are the same without one of them each, and what of a probe this shortens;
    `besides` are findings that cost no time."""

    server: Served
    repairs: Mapping[Id, tuple[Served, Cost]]
    besides: frozenset[Id] = frozenset()

    @property
    def sites(self) -> list[Served]:
        return [self.server, *(repaired for repaired, _ in self.repairs.values())]


COMBINATIONS: Mapping[str, Combination] = {
    "thinks, then pauses": Combination(
        server=_PAGE.but(think_s=(0.4,), body_stall=_PAUSING),
        repairs={
            Id.HTTP_THINK_TIME: (_PAGE.but(think_s=(0.05,), body_stall=_PAUSING), Cost.WAIT),
            Id.HTTP_BODY_STALL: (_PAGE.but(think_s=(0.4,)), Cost.WHOLE),
        },
    ),
    "a long chain and a slow name": Combination(
        server=replace(_NGINX, chain=_LONG, naming=_SLOW_NAME),
        repairs={
            Id.TLS_CHAIN_EXCEEDS_IW: (replace(_NGINX, naming=_SLOW_NAME), Cost.HANDSHAKE),
            Id.DNS_SLOW: (replace(_NGINX, chain=_LONG), Cost.LOOKUP),
        },
    ),
    "pauses in its handshake and in its page": Combination(
        server=_PAGE.but(handshake_stall=_SHAKING, body_stall=_PAUSING),
        repairs={
            Id.TLS_HANDSHAKE_STALL: (_PAGE.but(body_stall=_PAUSING), Cost.HANDSHAKE),
            Id.HTTP_BODY_STALL: (_PAGE.but(handshake_stall=_SHAKING), Cost.WHOLE),
        },
    ),
    "closes, and forgets sessions": Combination(
        server=_KEPT.but(keep_alive=False),
        repairs={Id.HTTP_KEEPALIVE_OFF: (_KEPT, Cost.NEXT_REQUEST)},
        besides=frozenset({Id.TLS_RESUMPTION_MISSING}),
    ),
}


def test_each_of_several_faults_is_told_with_what_its_own_repair_saves(tmp_path: Path) -> None:
    """As in the matrix: what a busy machine spoilt is measured again, and what is wrong with a rule is wrong again."""
    told = complained(COMBINATIONS, tmp_path)
    for _ in range(1, _TRIES):
        if told:
            measured_again(", ".join(sorted(told)))
            told = complained(told, tmp_path)
    assert not told, told


def complained(names: Iterable[str], folder: Path) -> dict[str, list[str]]:
    """What is wrong with the diagnosis of each of them that is told wrongly."""
    place = Path(mkdtemp(dir=folder))
    sites = dict.fromkeys(site for name in names for site in COMBINATIONS[name].sites)
    measured = measure(sites, rtt_ms=_RTT_MS, vault=Vault(place), folder=place)
    told = {name: list(complaints(COMBINATIONS[name], measured)) for name in names}
    return {name: words for name, words in told.items() if words}


def complaints(one: Combination, measured: Measurements) -> Iterator[str]:
    measurement = measured[one.server]
    assert measurement.evidence is not None
    found = {finding.id: finding for finding in diagnose(measurement.evidence, measurement.hops).findings}
    expected = background(one.server, _RTT_MS) | one.besides | one.repairs.keys()
    if found.keys() != expected:
        yield f"missing {sorted(expected - found.keys())}, wrong {sorted(found.keys() - expected)}"
    for id, (repaired, cost) in one.repairs.items():
        claimed_us = found[id].saving_us or 0 if id in found else 0
        try:
            real_us = cost_us(cost, measurement) - cost_us(cost, measured[repaired])
        except UnseenError as error:
            yield f"{id}: {error}"
            continue
        if abs(claimed_us - real_us) > max(_FLOOR_US, _SHARE * real_us):
            yield f"{id} saves {real_us / 1000:.1f} ms, but {claimed_us / 1000:.1f} ms are claimed"
