"""Why one leg is faster: each phase's share of the difference, put down to what explains it.

The shares of all reasons together are the shares of the phases; those that are too small to matter, and those that may
be chance, are left unsaid.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.diagnosis.pair.facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair.samples import Names, Parts
from workers.diagnosis.pair.signed_rank import stands_apart
from workers.diagnosis.probe.slow_start import further_flights
from workers.diagnosis.units import begin, ms, size
from workers.measurement.pair import Leg

# What is neither half a millisecond nor a twentieth of the difference explains nothing.
_MIN_US = 500
_MIN_SHARE = 0.05
# Bodies that differ by less are the same body in another wrapping.
BYTES_TOLERANCE = 0.05
# The end of a body comes a little earlier or later than whole round trips after its beginning.
_TRIP_TOLERANCE = 0.1
_NOT_REUSED = "connection_not_reused"
# Reasons that share a phase: what remains of it has one of them.
_PHASE = {
    **dict.fromkeys(("cache_miss", "cache_hit", "server_wait"), "wait"),
    **dict.fromkeys(("compression_lost", "bytes", "download"), "download"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One cause. `difference_us` is its share, a minus b: positive means that it makes leg a slower."""

    id: str
    text: str
    difference_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What reasons are drawn from: the split of the difference, and what is usual on each leg. `differences` are those
    of the pairs, `trips_apart` those of their handshakes' round trips and `rtts_apart` of how long one takes: what they
    do not hold with that confidence may be chance.
    """

    parts: Parts
    differences: Sequence[Parts]
    trips_apart: Sequence[int]
    rtts_apart: Sequence[int]
    confidence: float
    a: LegFacts
    b: LegFacts
    names: Names

    @property
    def is_farther(self) -> bool:
        """Whether one leg is farther away than the other: its connections take longer to open or, where they were open,
        took longer."""
        opening = [one.connect for one in self.differences]
        return stands_apart(opening if any(opening) else self.rtts_apart, self.confidence)

    def is_apart(self, phase: str, beyond_us: float) -> bool:
        """Whether a phase differs by more, or less, than so much: by what is told already."""
        return stands_apart([getattr(one, phase) - beyond_us for one in self.differences], self.confidence)

    def slower(self, us: float) -> tuple[str, LegFacts, str, LegFacts]:
        """The leg that this share makes slower, then the other: their names and facts."""
        first, second = (self.names.a, self.a), (self.names.b, self.b)
        (name, facts), (other_name, other) = (first, second) if us > 0 else (second, first)
        return name, facts, other_name, other


def reasons_of(evidence: Evidence) -> tuple[Reason, ...]:
    """The largest share in the direction of the difference first."""
    return _telling(_all(evidence), evidence.parts.total)


def mean_reasons(by_region: Mapping[str, Sequence[Reason]], difference_us: int) -> tuple[Reason, ...]:
    """Why one leg is faster in several regions together: the means of the shares, each region counting the same.

    A region without a reason has no share of it that matters. The words are of the region where its share is largest.
    What is no share of the difference comes last, as in each region.
    """
    found: dict[str, list[tuple[str, Reason]]] = defaultdict(list)
    for region, reasons in by_region.items():
        for reason in reasons:
            found[_share(reason)].append((region, reason))
    beside = [_mean(told, len(by_region)) for told in found.values() if told[0][1].id == _NOT_REUSED]
    shares = [_mean(told, len(by_region)) for told in found.values() if told[0][1].id != _NOT_REUSED]
    return (*_telling(shares, difference_us), *beside)


def _share(reason: Reason) -> str:
    """What its share is of: a wait has one cause here and another there, and either leg may close connections."""
    if reason.id == _NOT_REUSED:
        return f"{reason.id} {reason.difference_us > 0}"
    return _PHASE.get(reason.id, reason.id)


def _mean(told: Sequence[tuple[str, Reason]], regions: int) -> Reason:
    mean_us = round(sum(reason.difference_us for _, reason in told) / regions)
    region, most = max(told, key=lambda one: one[1].difference_us * (1 if mean_us > 0 else -1))
    text = most.text if regions == 1 else f"{region}: {most.text}"
    return Reason(id=most.id, text=text, difference_us=mean_us)


def _telling(reasons: Iterable[Reason], difference_us: float) -> tuple[Reason, ...]:
    least_us = max(_MIN_US, _MIN_SHARE * abs(difference_us))
    found = [reason for reason in reasons if abs(reason.difference_us) >= least_us]
    return tuple(sorted(found, key=lambda reason: -reason.difference_us * (1 if difference_us > 0 else -1)))


def leading(reasons: tuple[Reason, ...], difference_us: int) -> Reason | None:
    """The main reason: the first share of the difference that acts in its direction."""
    shares = (one for one in reasons if one.id != _NOT_REUSED)
    return next((one for one in shares if one.difference_us * difference_us > 0), None)


def _all(evidence: Evidence) -> Iterator[Reason]:
    parts = evidence.parts
    more_trips_us, tls_distance_us = _of_tls(evidence)
    wait_distance_us = _longer_us(evidence, _wait_us)
    flights = _further_flights(evidence)
    download_distance_us = flights * _longer_us(evidence, _download_us, flights, flights)
    distance_us = parts.connect + tls_distance_us + wait_distance_us + download_distance_us
    tls_rest_us = parts.tls - more_trips_us - tls_distance_us
    beyond = {
        "dns": (Reason(id="dns", text=_dns(evidence), difference_us=parts.dns), 0),
        "tls": (Reason(id="tls", text=_tls(evidence, tls_rest_us), difference_us=tls_rest_us), parts.tls - tls_rest_us),
        "wait": (_wait(evidence, parts.wait - wait_distance_us), wait_distance_us),
        "download": (_download(evidence, parts.download - download_distance_us), download_distance_us),
    }
    yield from (reason for phase, (reason, told_us) in beyond.items() if evidence.is_apart(phase, told_us))
    if evidence.is_farther:
        yield Reason(id="distance", text=_distance(evidence, distance_us), difference_us=distance_us)
    yield Reason(id="tls_round_trips", text=_tls_trips(evidence, more_trips_us), difference_us=more_trips_us)


def _of_tls(evidence: Evidence) -> tuple[int, int]:
    """The share of TLS by more round trips, and by longer ones."""
    a, b = evidence.a.tls_round_trips, evidence.b.tls_round_trips
    if not a or not b:
        return 0, 0
    facts, trips = (evidence.a, a) if a > b else (evidence.b, b)
    more = a - b if stands_apart(evidence.trips_apart, evidence.confidence) else 0
    return round(more * _trip_us(facts, _tls_us, trips)), round(min(a, b) * _longer_us(evidence, _tls_us, a, b))


def _longer_us(evidence: Evidence, of: Callable[[LegFacts], int], a: float = 1, b: float = 1) -> int:
    """By how much longer a round trip to a is than one to b, in a phase of so many; 0 where either is not known, and
    where neither leg is farther away."""
    if evidence.a.rtt_us is None or evidence.b.rtt_us is None or not evidence.is_farther:
        return 0
    return round(_trip_us(evidence.a, of, a) - _trip_us(evidence.b, of, b))


def _trip_us(facts: LegFacts, of: Callable[[LegFacts], int], trips: float) -> float:
    """A round trip in a phase that holds so many: no longer than the phase allows."""
    return min(facts.rtt_us or 0, of(facts) / max(trips, 1))


def _further_flights(evidence: Evidence) -> int:
    """How many round trips each of the bodies took beyond its first flight: no more than slow start needs for the
    smaller one, nor than each had the time for."""
    return min(_most_flights(evidence.a), _most_flights(evidence.b))


def _most_flights(facts: LegFacts) -> int:
    if not facts.body_bytes or not facts.rtt_us:
        return 0
    return min(further_flights(facts.body_bytes), int(facts.parts.download / facts.rtt_us + _TRIP_TOLERANCE))


def _dns(evidence: Evidence) -> str:
    name, facts, other_name, other = evidence.slower(evidence.parts.dns)
    return f"The name of {name} takes longer to look up than that of {other_name}: {_against(facts, other, _dns_us)}."


def _distance(evidence: Evidence, share_us: int) -> str:
    name, facts, other_name, other = evidence.slower(share_us)
    if facts.rtt_us is None or other.rtt_us is None or facts.rtt_us <= other.rtt_us:
        return f"A connection to {name} takes longer to open than one to {other_name}."
    trips = f"a round trip takes {ms(facts.rtt_us)} against {ms(other.rtt_us)}"
    return f"{begin(name)} is farther away than {other_name}: {trips}."


def _tls_trips(evidence: Evidence, share_us: int) -> str:
    name, facts, other_name, other = evidence.slower(share_us)
    trips, others = (f"{one.tls_round_trips or 0:g}" for one in (facts, other))
    noun = "round trip" if trips == "1" else "round trips"
    versions = "" if facts.tls_version == other.tls_version else f" ({facts.tls_version} against {other.tls_version})"
    return f"The TLS handshake of {name} takes {trips} {noun}, that of {other_name} {others}{versions}."


def _tls(evidence: Evidence, share_us: int) -> str:
    name, facts, other_name, other = evidence.slower(share_us)
    if other.tls_version is None:
        return f"Only {name} is asked over TLS: the handshake takes {ms(facts.parts.tls)}."
    times = _against(facts, other, _tls_us, facts.tls_round_trips, other.tls_round_trips)
    return f"{begin(name)} takes longer for the TLS handshake than {other_name}: {times}."


def _wait(evidence: Evidence, share_us: int) -> Reason:
    name, facts, other_name, other = evidence.slower(share_us)
    times = _against(facts, other, _wait_us, 1, 1)
    missed = facts.told_of_cache - facts.from_cache
    if 2 * missed >= facts.answers:
        cause = f"{missed} of {facts.answers} answers of {name} did not come from its cache"
        text = f"{cause}, and begin later than those of {other_name}: {times}."
        return Reason(id="cache_miss", text=text, difference_us=share_us)
    if 2 * other.from_cache > other.answers:
        text = f"{begin(other_name)} answers from its cache, and {name} takes longer to begin its answer: {times}."
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
    flights = _further_flights(evidence)
    times = _against(facts, other, _download_us, flights, flights)
    text = f"The body comes slower from {name} than from {other_name}: {times}."
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
    return Reason(id=_NOT_REUSED, text=text, difference_us=opening_us if leg is Leg.A else -opening_us)


def _against(
    facts: LegFacts, other: LegFacts, of: Callable[[LegFacts], int], trips: float | None = 0, theirs: float | None = 0
) -> str:
    """How long a phase takes on both legs. Round trips in it that are told as distance, or by their number, are left
    out."""
    if not trips or not theirs or facts.rtt_us is None or other.rtt_us is None:
        return f"{ms(of(facts))} against {ms(of(other))}"
    one_us, other_us = (of(leg) - many * _trip_us(leg, of, many) for leg, many in ((facts, trips), (other, theirs)))
    beyond = "the round trip" if trips == theirs == 1 else "the round trips"
    return f"{ms(one_us)} against {ms(other_us)} beyond {beyond}"


def _dns_us(facts: LegFacts) -> int:
    return facts.parts.dns


def _tls_us(facts: LegFacts) -> int:
    return facts.parts.tls


def _wait_us(facts: LegFacts) -> int:
    return facts.parts.wait


def _download_us(facts: LegFacts) -> int:
    return facts.parts.download
