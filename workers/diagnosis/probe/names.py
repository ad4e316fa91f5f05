"""Rules on looking names up."""

from collections.abc import Iterator
from statistics import median

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.probe.weighing import fact, ms_of, queues_us
from workers.measurement.evidence import Depth, NameEvidence
from workers.measurement.finding import Confidence, Fact, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# Slower than this, and than twice the way to the resolver.
SLOW_US = 50_000
SLOW_TRIPS = 2
# So many aliases are told, and times to live below a minute where asking again costs so much.
LONG_CHAIN = 3
SHORT_TTL_S = 60
LEAST_SHORT_TTL_US = 20_000
# A resolver that took so much longer than the way to it did not know the answer: then the time to live is the zone's
# own, and not what was left of it in a cache.
_COLD_US = 10_000
_ADDRESS_TYPES = ("A", "AAAA")
# A resolver that says one of these has searched.
_SEARCHED_CODES = ("NOERROR", "NXDOMAIN")
# One slow lookup may be bad luck, of the path or of a busy machine.
_LEAST_SEEN = 3
# An answer that was lost has been waited for at least so long: resolvers are asked again after a second.
_WAITED_US = 500_000
# A search must stand out of what connections mostly wait in a queue by so much: lookups wait there too.
_QUEUES = 1.5
# As rarely all searches may have been as late by chance, where some connections were.
_BY_CHANCE = 0.002


def slow(case: Case) -> Verdicts:
    """dns.slow: finding out the addresses took much longer than the way to the resolver."""
    for name in case.evidence.names:
        yield from _slow(case, name)


def cname_chain(case: Case) -> Verdicts:
    """dns.cname_chain: many aliases on the way to the addresses, or an answer that nobody may keep for a minute."""
    for name in case.evidence.names:
        yield from _chain(case, name)


def _slow(case: Case, name: NameEvidence) -> Iterator[Finding | NotJudged]:
    id = FindingId.DNS_SLOW
    if name.took_us is None or _first_search_us(name) <= SLOW_US:
        return
    if name.again_us is None:
        light = case.evidence.depth is Depth.LIGHT
        yield NotJudged(id=id, reason=NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED)
    elif _asked_again(name):
        yield NotJudged(id=id, reason=NotJudgedReason.LOSS)
    elif _is_slow(name) and (not _stands_out(case, name) or _may_be_chance(case, name)):
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)
    elif _is_slow(name):
        yield Finding(
            id=id,
            severity=Severity.MEDIUM,
            confidence=Confidence.MEDIUM,
            saving_us=_searched_us(name),
            evidence=_facts(name),
            host=_host(case, name),
        )
    elif _may_be_slow(name):
        yield NotJudged(id=id, reason=NotJudgedReason.NOT_REPEATED)
    elif name.min_ttl_s == 0:
        # What nobody may keep is searched for each time: how far the resolver is remains unknown.
        yield NotJudged(id=id, reason=NotJudgedReason.NOT_MEASURED)


def _chain(case: Case, name: NameEvidence) -> Iterator[Finding | NotJudged]:
    hops = len(name.aliases)
    if hops < LONG_CHAIN and not _is_short_lived(name):
        if _may_be_short_lived(name):
            light = case.evidence.depth is Depth.LIGHT
            reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED
            yield NotJudged(id=FindingId.DNS_CNAME_CHAIN, reason=reason)
        return
    stands_out = _stands_out(case, name)
    if hops < LONG_CHAIN and not stands_out:
        yield NotJudged(id=FindingId.DNS_CNAME_CHAIN, reason=NotJudgedReason.UNSTEADY)
        return
    yield Finding(
        id=FindingId.DNS_CNAME_CHAIN,
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        saving_us=_saved_by_flattening_us(name) if stands_out else None,
        evidence=_facts(name),
        host=_host(case, name),
    )


def _saved_by_flattening_us(name: NameEvidence) -> int | None:
    """What the aliases cost: for those that the resolver left loose the way to it and a search, for the others at most
    as much of its search as the way. The milliseconds of a slow search are told once."""
    if name.again_us is None:
        return None
    loose_us = _loose_us(name) + _searched_for_loose_us(name)
    if _is_slow(name):
        return loose_us or None
    if len(name.aliases) < LONG_CHAIN:
        return _searched_us(name)
    followed = max(0, len(name.aliases) - name.left_loose)
    return loose_us + min(followed * name.again_us, _searched_us(name))


def _searched_for_loose_us(name: NameEvidence) -> int:
    """What the first lookup took beyond the way and one search, in whole ones: at most one for each loose alias."""
    each_us = _searched_us(name)
    beyond_us = _first_search_us(name) - (name.again_us or 0) - each_us
    return each_us * min(name.left_loose, round(beyond_us / each_us)) if each_us else 0


def _is_slow(name: NameEvidence) -> bool:
    """Whether each search was, and there were enough of them."""
    times = _searches_us(name)
    return _may_be_slow(name) and len(times) >= _LEAST_SEEN and min(times) > _slow_us(name)


def _stands_out(case: Case, name: NameEvidence) -> bool:
    """Whether the search took as long as the way to the resolver cannot have taken by itself."""
    return _searched_us(name) >= _QUEUES * median(queues_us(case) or [0])


def _may_be_chance(case: Case, name: NameEvidence) -> bool:
    """Whether so many connections were about as late that each search may have met with the same."""
    queues, searches = queues_us(case), _searches_us(name)
    least_us = min(searches) - (name.again_us or 0)
    late = sum(2 * queue_us > least_us for queue_us in queues)
    return bool(queues) and (late / len(queues)) ** len(searches) > _BY_CHANCE


def _may_be_slow(name: NameEvidence) -> bool:
    """Whether the first search was, and most of the others."""
    if name.took_us is None or name.again_us is None or _asked_again(name):
        return False
    return _first_search_us(name) > _slow_us(name) and median(_searches_us(name)) > _slow_us(name)


def _slow_us(name: NameEvidence) -> int:
    return max(SLOW_US, SLOW_TRIPS * (name.again_us or 0))


def _searches_us(name: NameEvidence) -> list[int]:
    """How long the first lookup took, and later questions of other kinds, which were new to the resolver too: a moment
    of bad luck does not come each time."""
    later: dict[str, int] = {}
    for one in name.questions:
        if one.record_type not in _ADDRESS_TYPES and one.took_us is not None and one.code in _SEARCHED_CODES:
            # The first: behind an alias its target is asked for too.
            later.setdefault(one.record_type, one.took_us)
    return [_first_search_us(name), *later.values()]


def _first_search_us(name: NameEvidence) -> int:
    """The first lookup without the questions that loose aliases made necessary."""
    return max(0, (name.took_us or 0) - _loose_us(name))


def _loose_us(name: NameEvidence) -> int:
    return name.left_loose * (name.again_us or 0)


def _is_short_lived(name: NameEvidence) -> bool:
    return _may_be_short_lived(name) and name.again_us is not None and _searched_us(name) > _COLD_US


def _may_be_short_lived(name: NameEvidence) -> bool:
    """What came out of a resolver's cache has only the rest of its time to live."""
    short = name.min_ttl_s is not None and name.min_ttl_s < SHORT_TTL_S
    return short and _first_search_us(name) > LEAST_SHORT_TTL_US


def _searched_us(name: NameEvidence) -> int:
    """What the resolver spent on finding out: the first lookup, or what is usual for one, less the way to it."""
    return max(0, round(min(_first_search_us(name), median(_searches_us(name)))) - (name.again_us or 0))


def _asked_again(name: NameEvidence) -> bool:
    """Whether a question or its answer got lost: the wait for that is none of the name's. A second family's answer
    that comes late, or by TCP, is not waited for: then the answers for the first take the whole time of the lookup."""
    unanswered = [one for one in name.questions if one.took_us is None and one.record_type in _ADDRESS_TYPES]
    if all(one.record_type == "AAAA" for one in unanswered):
        first_us = sum(one.took_us or 0 for one in name.questions if one.record_type == "A")
        return any(one.code is None for one in unanswered) and (name.took_us or 0) - first_us > _WAITED_US
    return True


def _facts(name: NameEvidence) -> tuple[Fact, ...]:
    return (
        fact("dns_ms", None if name.took_us is None else ms_of(name.took_us)),
        fact("resolver_rtt_ms", None if name.again_us is None else ms_of(name.again_us)),
        fact("searches_ms", tuple(map(ms_of, _searches_us(name)))),
        fact("resolver", name.resolver),
        fact("cname_hops", len(name.aliases)),
        *([fact("left_loose", name.left_loose)] if name.left_loose else []),
        fact("chain", tuple(alias.target for alias in name.aliases)),
        fact("min_ttl_s", name.min_ttl_s),
    )


def _host(case: Case, name: NameEvidence) -> str | None:
    return None if name.host == case.evidence.host else name.host


RULES: tuple[Rule, ...] = (slow, cname_chain)
