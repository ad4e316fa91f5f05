"""What a twin is: a site with one fault, the same site without it, and what a diagnosis must say of both."""

from dataclasses import dataclass
from enum import StrEnum

from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.caddy import CaddyConduct
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.haproxy import HaproxyConduct
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import Served

RTTS_MS = (20, 80, 380)
# From here on a server is far, and certificates are worth compressing, over HTTP/3 sooner.
_FAR_MS = 100
_WORTH_COMPRESSING_BYTES, _WORTH_COMPRESSING_QUIC_BYTES = 4096, 3600

# Causes that a lost packet imitates: with loss nothing may be said of them.
SHY_OF_LOSS = frozenset(
    {
        Id.TLS_CERT_FLUSH_STALL,
        Id.TLS_CHAIN_EXCEEDS_IW,
        Id.TLS_HANDSHAKE_STALL,
        Id.TLS_RECORD_OVERFLOW,
        Id.TCP_IW_SMALL,
        Id.TCP_IDLE_RESTART,
        Id.TCP_NAGLE_DELAYED_ACK,
        Id.HTTP_BODY_STALL,
    }
)


class Cost(StrEnum):
    """Which time of a probe a repair shortens; see `costs.py`."""

    LOOKUP = "lookup"
    FALLBACK = "fallback"
    JOURNEY = "journey"
    MOVED = "moved"
    MOVED_AWAY = "moved_away"
    ANSWER = "answer"
    HANDSHAKE = "handshake"
    WAIT = "wait"
    MEAN_WAIT = "mean_wait"
    WHOLE = "whole"
    VISIT = "visit"
    AFTER_IDLE = "after_idle"
    DELAYED = "delayed"
    TLS12_REVISIT = "tls12_revisit"
    TLS12_REVISITS = "tls12_revisits"
    NEXT_REQUEST = "next_request"
    EARLIEST_REVISIT = "earliest_revisit"
    QUIC_HANDSHAKE = "quic_handshake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """`positive` has the fault `id`, `repaired` differs in the one setting that mends it.

    `with_it` are findings that are true of the positive by the same fault, `both` those that are true of either by
    construction, besides what `background` knows of its kind of server; `shy` says that lost packets may look like this
    fault, as they do like those of `SHY_OF_LOSS`; `hidden` are those of the background that the
    fault hides; `instead` is said of the positive where loss keeps the fault itself from being judged, or is the fault
    itself where this one is told all the same.

    `cost` names the time by which the two must differ as the finding's saving claims, from a round trip of
    `cost_from_ms` on: nearer, what both sides compute is not small beside it. At other round trips than `rtts_ms` the
    two are not told apart, and of those that are `calm` not with lost packets either.
    """

    id: Id
    name: str
    positive: Served
    repaired: Served
    with_it: frozenset[Id] = frozenset()
    both: frozenset[Id] = frozenset()
    hidden: frozenset[Id] = frozenset()
    instead: frozenset[Id] = frozenset()
    shy: bool = False
    cost: Cost | None = None
    cost_from_ms: int = 0
    rtts_ms: tuple[int, ...] = RTTS_MS
    calm: bool = False

    @property
    def is_shy_of_loss(self) -> bool:
        return (self.shy or self.id in SHY_OF_LOSS) and self.id not in self.instead

    def expected(self, rtt_ms: int, *, repaired: bool) -> frozenset[Id]:
        """All findings of that site without loss."""
        site = self.repaired if repaired else self.positive
        found = self.both | background(site, rtt_ms)
        return found if repaired else (found - self.hidden) | {self.id} | self.with_it


def background(site: Served, rtt_ms: int) -> frozenset[Id]:
    """What is true of every site of its kind: nginx, HAProxy and Caddy have no hybrid key exchange here, few servers of
    the lab compress certificates, and so on.
    """
    found = {Id.TCP_RTT_HIGH} if rtt_ms > _FAR_MS else set()
    if isinstance(site.conduct, NginxConduct) and not site.conduct.secure:
        return frozenset(found | {Id.HTTP_NO_TLS})
    modern = "TLSv1.3" in (site.conduct.newest if isinstance(site.conduct, Conduct) else site.conduct.protocols)
    foreign = isinstance(site.conduct, HaproxyConduct | CaddyConduct)
    worth = _WORTH_COMPRESSING_QUIC_BYTES if site.quic else _WORTH_COMPRESSING_BYTES
    compressing = isinstance(site.conduct, Conduct) and site.conduct.compresses_certificates
    if modern and not compressing and (site.chain.size_bytes or 0) > worth:
        found.add(Id.TLS_CERT_COMPRESSION)
    if not site.quic:
        found.add(Id.HTTP_H3)
    if modern and foreign:
        found |= {Id.TLS_PQ, Id.TLS_ZERO_RTT}
    if isinstance(site.conduct, NginxConduct):
        found |= {Id.TLS_PQ} if modern else set()
        found |= set() if site.conduct.http2 else {Id.HTTP_H2_MISSING}
    if isinstance(site.conduct, Conduct):
        found |= {Id.TLS_ZERO_RTT} if modern else set()
        found |= set() if site.conduct.speaks_http2 else {Id.HTTP_H2_MISSING}
    return frozenset(found)
