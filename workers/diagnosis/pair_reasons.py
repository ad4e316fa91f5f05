"""Why one leg is faster: each phase's share of the difference, put down to what explains it.

The shares of all reasons together are the shares of the phases; those too small to matter are left unsaid.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workers.diagnosis.pair_facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair_samples import Names, Parts
from workers.diagnosis.units import begin, counted, ms, size
from workers.measurement.pair import Leg

# What is neither half a millisecond nor a twentieth of the difference explains nothing.
_MIN_US = 500
_MIN_SHARE = 0.05
# Bodies that differ by less are the same body in another wrapping.
BYTES_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One cause. `difference_us` is its share, a minus b: positive means that it makes leg a slower.

    None where a share cannot be told.
    """

    id: str
    text: str
    difference_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What reasons are drawn from: the split of the difference, and what is usual on each leg."""

    parts: Parts
    a: LegFacts
    b: LegFacts
    names: Names

    def slower(self, us: float) -> tuple[str, LegFacts, str, LegFacts]:
        """The leg that this share makes slower, then the other: their names and facts."""
        first, second = (self.names.a, self.a), (self.names.b, self.b)
        (name, facts), (other_name, other) = (first, second) if us > 0 else (second, first)
        return name, facts, other_name, other


def reasons_of(evidence: Evidence) -> tuple[Reason, ...]:
    """The largest share in the direction of the difference first."""
    total = evidence.parts.total
    least_us = max(_MIN_US, _MIN_SHARE * abs(total))
    found = [reason for reason in _all(evidence) if abs(reason.difference_us or 0) >= least_us]
    return tuple(sorted(found, key=lambda reason: -(reason.difference_us or 0) * (1 if total > 0 else -1)))


def leading(reasons: tuple[Reason, ...], difference_us: int) -> Reason | None:
    """The main reason: the first that acts in the direction of the difference."""
    return next((one for one in reasons if (one.difference_us or 0) * difference_us > 0), None)


def _all(evidence: Evidence) -> Iterator[Reason]:
    trips_us, tls_distance_us, tls_rest_us = _of_tls(evidence)
    wait_distance_us = _within(_rtt_difference_us(evidence), evidence.parts.wait)
    distance_us = evidence.parts.connect + tls_distance_us + wait_distance_us
    yield Reason(id="dns", text=_dns(evidence), difference_us=evidence.parts.dns)
    yield Reason(id="distance", text=_distance(evidence, distance_us), difference_us=distance_us)
    yield Reason(id="tls_round_trips", text=_tls_trips(evidence, trips_us), difference_us=trips_us)
    yield Reason(id="tls", text=_tls(evidence, tls_rest_us), difference_us=tls_rest_us)
    yield _wait(evidence, evidence.parts.wait - wait_distance_us)
    yield _download(evidence, evidence.parts.download)


def _of_tls(evidence: Evidence) -> tuple[int, int, int]:
    """The share of TLS by more round trips, by longer ones, and the rest."""
    left_us = evidence.parts.tls
    trips = (evidence.a.tls_round_trips, evidence.b.tls_round_trips)
    if None in trips:
        return 0, 0, left_us
    a, b = trips[0] or 0, trips[1] or 0
    longer = evidence.a if a > b else evidence.b
    more_us = _within(round((a - b) * (longer.rtt_us or 0)), left_us)
    distance_us = _within(round(min(a, b) * _rtt_difference_us(evidence)), left_us - more_us)
    return more_us, distance_us, left_us - more_us - distance_us


def _rtt_difference_us(evidence: Evidence) -> int:
    if evidence.a.rtt_us is None or evidence.b.rtt_us is None:
        return 0
    return round(evidence.a.rtt_us - evidence.b.rtt_us)


def _within(share_us: int, part_us: int) -> int:
    """As much of the share as the part holds, in its direction."""
    return max(0, min(share_us, part_us)) if part_us > 0 else min(0, max(share_us, part_us))


def _dns(evidence: Evidence) -> str:
    name, facts, other_name, other = evidence.slower(evidence.parts.dns)
    return f"The name of {name} takes longer to look up than that of {other_name}: {_against(facts, other, _dns_us)}."


def _distance(evidence: Evidence, share_us: int) -> str:
    name, facts, other_name, other = evidence.slower(share_us)
    if facts.rtt_us is None or other.rtt_us is None:
        return f"A connection to {name} takes longer to open than one to {other_name}."
    trips = f"a round trip takes {ms(facts.rtt_us)} against {ms(other.rtt_us)}"
    return f"{begin(name)} is farther away than {other_name}: {trips}."


def _tls_trips(evidence: Evidence, share_us: int) -> str:
    name, facts, other_name, other = evidence.slower(share_us)
    trips = counted(round(facts.tls_round_trips or 0), "round trip")
    versions = "" if facts.tls_version == other.tls_version else f" ({facts.tls_version} against {other.tls_version})"
    return (
        f"The TLS handshake of {name} takes {trips}, that of {other_name} {other.tls_round_trips or 0:.0f}{versions}."
    )


def _tls(evidence: Evidence, share_us: int) -> str:
    name, facts, other_name, other = evidence.slower(share_us)
    if other.tls_version is None:
        return f"Only {name} is asked over TLS: the handshake takes {ms(facts.parts.tls)}."
    return f"{begin(name)} takes longer for the TLS handshake than {other_name}: {_against(facts, other, _tls_us)}."


def _wait(evidence: Evidence, share_us: int) -> Reason:
    name, facts, other_name, other = evidence.slower(share_us)
    times = _against(facts, other, _wait_us)
    missed = facts.told_of_cache - facts.from_cache
    if 2 * missed >= facts.answers:
        text = f"{missed} of {facts.answers} answers of {name} did not come from its cache: it waits {times}."
        return Reason(id="cache_miss", text=text, difference_us=share_us)
    if 2 * other.from_cache > other.answers:
        text = f"{begin(other_name)} answers from its cache: {name} waits {times}."
        return Reason(id="cache_hit", text=text, difference_us=share_us)
    text = f"{begin(name)} takes longer to begin its answer than {other_name}: {times}."
    return Reason(id="server_wait", text=text, difference_us=share_us)


def _download(evidence: Evidence, share_us: int) -> Reason:
    name, facts, other_name, other = evidence.slower(share_us)
    if _is_larger(facts, other):
        sizes = f"{size(facts.body_bytes or 0)} against {size(other.body_bytes or 0)}"
        if lost_compression(facts, other):
            text = f"{begin(name)} does not compress what {other_name} sends as {other.content_encoding}: {sizes}."
            return Reason(id="compression_lost", text=text, difference_us=share_us)
        text = f"{begin(name)} sends more bytes than {other_name}: {sizes}."
        return Reason(id="bytes", text=text, difference_us=share_us)
    text = f"The body comes slower from {name} than from {other_name}: {_against(facts, other, _download_us)}."
    return Reason(id="download", text=text, difference_us=share_us)


def _is_larger(facts: LegFacts, other: LegFacts) -> bool:
    return bytes_differ(facts, other) and (facts.body_bytes or 0) > (other.body_bytes or 0)


def lost_compression(larger: LegFacts, other: LegFacts) -> bool:
    return larger.content_encoding == NOT_PACKED != other.content_encoding


def bytes_differ(one: LegFacts, other: LegFacts) -> bool:
    """Whether the bodies differ in size by more than their wrapping explains."""
    if one.body_bytes is None or other.body_bytes is None:
        return False
    return abs(one.body_bytes - other.body_bytes) > BYTES_TOLERANCE * max(one.body_bytes, other.body_bytes)


def not_kept_reason(leg: Leg, facts: LegFacts, names: Names) -> Reason:
    """A server that closes each connection: what its handshake costs for every further request."""
    opening_us = facts.parts.connect + facts.parts.tls
    name = names.of(leg)
    text = (
        f"{begin(name)} closes its connection after each answer: "
        f"every further request takes {ms(opening_us)} to connect again."
    )
    return Reason(id="connection_not_reused", text=text, difference_us=opening_us if leg is Leg.A else -opening_us)


def _against(facts: LegFacts, other: LegFacts, of: Callable[[LegFacts], int]) -> str:
    return f"{ms(of(facts))} against {ms(of(other))}"


def _dns_us(facts: LegFacts) -> int:
    return facts.parts.dns


def _tls_us(facts: LegFacts) -> int:
    return facts.parts.tls


def _wait_us(facts: LegFacts) -> int:
    return facts.parts.wait


def _download_us(facts: LegFacts) -> int:
    return facts.parts.download
