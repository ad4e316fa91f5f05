"""What the reader of a verdict on two legs must know beside it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workers.diagnosis.pair.facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair.reasons import Evidence, bytes_differ, lost_compression
from workers.diagnosis.pair.samples import Names
from workers.diagnosis.units import begin, counted, percent, size
from workers.measurement.pair import CacheState, Leg
from workers.measurement.statuses import REDIRECTS

# Proxies mark the ETag of what they packed themselves, or make it weak (RFC 9110, 8.8.3): the content is the same.
_PACKED = re.compile(r"^W/|[-;](?:gzip|br|zstd|df)(?=\"?$)")
_PROTOCOLS = {"h2": "HTTP/2", "http/1.1": "HTTP/1.1"}
_WITHOUT_CACHE = {
    CacheState.BYPASS: "passes its cache by",
    CacheState.DYNAMIC: "does not keep such answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairWarning:
    """A word for programs and a sentence for people."""

    id: str
    text: str


def warnings_of(evidence: Evidence) -> Iterator[PairWarning]:
    """What is odd about the pairs that were compared."""
    yield from _redirects(evidence)
    yield from _bytes(evidence)
    yield from _cache(evidence)
    yield from _content(evidence)
    yield from _families(evidence)
    if evidence.a.endpoints and evidence.a.endpoints == evidence.b.endpoints:
        where = ", ".join(evidence.a.addresses)
        yield PairWarning(id="same_address", text=f"Both legs were served by the same address, {where}.")


def pairs_left_out(failed: int, unlike: int, *, not_kept: tuple[str, ...]) -> Iterator[PairWarning]:
    """What is missing among the pairs."""
    if failed:
        text = f"{counted(failed, 'pair')} could not be measured on both legs and {_are(failed)} left out."
        yield PairWarning(id="failed_pairs", text=text)
    if unlike:
        text = f"{counted(unlike, 'pair')} had answers of different status and {_are(unlike)} left out."
        yield PairWarning(id="status_differs", text=text)
    for name in not_kept:
        text = f"The connection of {name} was closed after its first answer: there is no pair over reused connections."
        yield PairWarning(id="not_kept", text=text)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def dns_left_out(name: str) -> PairWarning:
    text = f"The name of {name} was not looked up, so that DNS is left out on both sides."
    return PairWarning(id="dns_left_out", text=text)


def protocols_differ(unlike: int, pairs: int, names: Names, protocols: tuple[str | None, str | None]) -> PairWarning:
    """`protocols` are those of the last pair that was answered in two."""
    where = "" if unlike == pairs else f"In {unlike} of {counted(pairs, 'pair')} "
    a = names.a if where else begin(names.a)
    one, other = (_PROTOCOLS.get(said or "", said) for said in protocols)
    text = f"{where}{a} was asked in {one}, {names.b} in {other}: that may be part of the difference."
    return PairWarning(id="protocol_differs", text=text)


def _redirects(evidence: Evidence) -> Iterator[PairWarning]:
    for name, facts in _legs(evidence):
        status = next((one for one in facts.statuses if one in REDIRECTS), None)
        if status is not None:
            text = f"{begin(name)} answers with a redirect ({status}), which is not followed: compare where it leads."
            yield PairWarning(id="redirect", text=text)


def _bytes(evidence: Evidence) -> Iterator[PairWarning]:
    if not bytes_differ(evidence.a, evidence.b):
        return
    a, b = evidence.a.body_bytes or 0, evidence.b.body_bytes or 0
    legs = _legs(evidence)
    (name, larger), (_, smaller) = legs if a > b else legs[::-1]
    lost = f" {begin(name)} does not compress it." if lost_compression(larger, smaller) else ""
    sizes = ", ".join(f"{size(facts.body_bytes or 0)} ({_packing(facts)}) from {one}" for one, facts in legs)
    text = f"The bodies differ by {percent(abs(a - b), max(a, b))}: {sizes}.{lost}"
    yield PairWarning(id="bytes_differ", text=text)


def _packing(facts: LegFacts) -> str:
    encoding = facts.content_encoding
    return "not compressed" if encoding is None or encoding == NOT_PACKED else encoding


def _cache(evidence: Evidence) -> Iterator[PairWarning]:
    facts, name = evidence.a, evidence.names.a
    if not facts.told_of_cache or facts.from_cache:
        return
    usual = next(state for state in facts.caches if state is not CacheState.UNKNOWN)
    why = f": it {_WITHOUT_CACHE[usual]}" if usual in _WITHOUT_CACHE else ""
    count = facts.told_of_cache
    told = f"None of {count} answers of {name} came from its cache"
    if count == 1:
        told = f"The one answer of {name} that tells of its cache did not come from it"
    text = f"{told}{why}."
    yield PairWarning(id="all_misses", text=text)


def _content(evidence: Evidence) -> Iterator[PairWarning]:
    tags = [_PACKED.sub("", facts.etag) for facts in (evidence.a, evidence.b) if facts.etag is not None]
    if len(tags) == 2 and tags[0] != tags[1]:
        text = f"The ETags differ: {evidence.names.a} may give an older or another content than {evidence.names.b}."
        yield PairWarning(id="etag_differs", text=text)


def _families(evidence: Evidence) -> Iterator[PairWarning]:
    """Of the usual address of each leg: another family is another way through the network."""
    usual = [next(iter(facts.addresses), None) for facts in (evidence.a, evidence.b)]
    a, b = (None if address is None else 6 if ":" in address else 4 for address in usual)
    if a is not None and b is not None and a != b:
        names = evidence.names
        text = f"{begin(names.a)} was reached over IPv{a}, {names.b} over IPv{b}: that may be part of the difference."
        yield PairWarning(id="family_differs", text=text)


def _legs(evidence: Evidence) -> tuple[tuple[str, LegFacts], ...]:
    return tuple((evidence.names.of(leg), facts) for leg, facts in ((Leg.A, evidence.a), (Leg.B, evidence.b)))
