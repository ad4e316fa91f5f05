"""What a verdict on two legs is made of: their phases and facts, from measurements or from stored rows."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from workers.measurement.connection import Connection
from workers.measurement.messages import PairMeasurement
from workers.measurement.pair import CacheState, Leg, LegExchange
from workers.measurement.timing import Phases, phases_of


class Verdict(StrEnum):
    CDN_FASTER = "cdn_faster"
    ORIGIN_FASTER = "origin_faster"
    A_FASTER = "a_faster"
    B_FASTER = "b_faster"
    NO_DIFFERENCE = "no_difference"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the legs are called in sentences and in verdicts."""

    a: str
    b: str
    a_faster: Verdict
    b_faster: Verdict

    def of(self, leg: Leg) -> str:
        return self.a if leg is Leg.A else self.b


CDN_AND_ORIGIN = Names(a="the CDN", b="the origin", a_faster=Verdict.CDN_FASTER, b_faster=Verdict.ORIGIN_FASTER)
ANY_TWO = Names(a="a", b="b", a_faster=Verdict.A_FASTER, b_faster=Verdict.B_FASTER)


class Parts(NamedTuple):
    """How long the parts of an exchange took, or by how much they differ, in microseconds. `wait` contains the send."""

    dns: int = 0
    connect: int = 0
    tls: int = 0
    wait: int = 0
    download: int = 0

    @property
    def total(self) -> int:
        return sum(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegSample:
    """One leg of a pair. Everything but `phases` may be absent: it explains a difference and does not make it."""

    phases: Phases
    status: int | None = None
    protocol: str | None = None
    content_encoding: str | None = None
    body_bytes: int | None = None
    cache: CacheState = CacheState.UNKNOWN
    age_s: int | None = None
    etag: str | None = None
    address: str | None = None
    port: int | None = None
    rtt_us: int | None = None
    tls_round_trips: int | None = None
    tls_version: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it was answered to the last byte."""
        return self.phases.wait_us is not None and self.phases.download_us is not None

    def parts(self, *, with_dns: bool) -> Parts:
        phases = self.phases
        return Parts(
            dns=phases.dns_us or 0 if with_dns else 0,
            connect=phases.connect_us or 0,
            tls=phases.tls_us or 0,
            wait=(phases.send_us or 0) + (phases.wait_us or 0),
            download=phases.download_us or 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSample:
    """Both legs, asked back to back."""

    a: LegSample
    b: LegSample

    def of(self, leg: Leg) -> LegSample:
        return self.a if leg is Leg.A else self.b


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRun:
    """One run: its cold pair and its reused one, each None when one of its legs has no end."""

    cold: PairSample | None = None
    reused: PairSample | None = None
    not_kept: tuple[Leg, ...] = field(default=())


def run_of(measurement: PairMeasurement) -> PairRun:
    """What a measured pair brings to a verdict."""
    connections = {connection.number: connection for connection in measurement.connections}
    found = {
        (exchange.leg, exchange.reused): leg_sample(exchange, connections.get(exchange.connection))
        for exchange in measurement.exchanges
    }
    cold, reused = (pair_sample(found.get((Leg.A, reused)), found.get((Leg.B, reused))) for reused in (False, True))
    return PairRun(cold=cold, reused=reused, not_kept=measurement.not_kept)


def pair_sample(a: LegSample | None, b: LegSample | None) -> PairSample | None:
    """Both legs, when both were answered to the last byte."""
    if a is None or b is None or not (a.is_complete and b.is_complete):
        return None
    return PairSample(a=a, b=b)


def leg_sample(exchange: LegExchange, connection: Connection | None) -> LegSample:
    return LegSample(
        phases=phases_of(exchange.timing),
        status=exchange.status,
        protocol=exchange.protocol,
        content_encoding=exchange.content_encoding,
        body_bytes=exchange.body_bytes,
        cache=exchange.cache.state,
        age_s=exchange.cache.age_s,
        etag=exchange.etag,
        address=None if connection is None else connection.address,
        port=None if connection is None else connection.port,
        rtt_us=None if connection is None else connection.rtt_us,
        tls_round_trips=None if connection is None else connection.tls_round_trips,
        tls_version=None if connection is None else connection.tls_version,
    )
