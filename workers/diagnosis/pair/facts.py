"""What is usual on each leg of many pairs."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from workers.diagnosis.pair.samples import LegSample, PairSample, Parts
from workers.diagnosis.pair.split import typical
from workers.measurement.pair import CacheState, Leg

# What an answer without Content-Encoding has (RFC 9110, 8.4.1); in a sentence it is "not compressed".
NOT_PACKED = "identity"
H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegFacts:
    """The median of what is counted, the most frequent of what is named; None when never seen.

    `parts` is the usual exchange in microseconds. `caches` counts the answers by cache state, `addresses` and
    `statuses` are all that were seen, most frequent first.
    """

    parts: Parts
    statuses: tuple[int, ...]
    addresses: tuple[str, ...]
    endpoints: frozenset[tuple[str, int | None]]
    caches: dict[CacheState, int]
    protocol: str | None
    content_encoding: str | None
    tls_version: str | None
    etag: str | None
    body_bytes: float | None
    age_s: float | None
    rtt_us: float | None
    tls_round_trips: float | None

    @property
    def answers(self) -> int:
        return sum(self.caches.values())

    @property
    def from_cache(self) -> int:
        """Answers that a cache gave without asking its origin."""
        return self.caches.get(CacheState.HIT, 0)

    @property
    def told_of_cache(self) -> int:
        """Answers that say what a cache did."""
        return self.answers - self.caches.get(CacheState.UNKNOWN, 0)


def facts_of(samples: Sequence[PairSample], leg: Leg, *, with_dns: bool) -> LegFacts:
    """Of at least one pair."""
    legs = [sample.of(leg) for sample in samples]
    return LegFacts(
        parts=typical([one.parts(with_dns=with_dns) for one in legs]),
        statuses=_all(legs, lambda one: one.status),
        addresses=_all(legs, lambda one: one.address),
        endpoints=frozenset((one.address, one.port) for one in legs if one.address is not None),
        caches=dict(Counter(one.cache for one in legs).most_common()),
        protocol=_usual(legs, lambda one: one.protocol),
        content_encoding=_usual(legs, lambda one: one.content_encoding or NOT_PACKED),
        tls_version=_usual(legs, lambda one: one.tls_version),
        etag=legs[-1].etag,
        body_bytes=_middle(legs, lambda one: one.body_bytes),
        age_s=_middle(legs, lambda one: one.age_s),
        rtt_us=_middle(legs, lambda one: one.rtt_us),
        tls_round_trips=_middle(legs, lambda one: one.tls_round_trips),
    )


def _all(legs: Sequence[LegSample], of: Callable[[LegSample], H | None]) -> tuple[H, ...]:
    values = Counter(value for leg in legs if (value := of(leg)) is not None)
    return tuple(value for value, _ in values.most_common())


def _usual(legs: Sequence[LegSample], of: Callable[[LegSample], H | None]) -> H | None:
    return next(iter(_all(legs, of)), None)


def _middle(legs: Sequence[LegSample], of: Callable[[LegSample], int | None]) -> float | None:
    values = [value for leg in legs if (value := of(leg)) is not None]
    return median(values) if values else None
