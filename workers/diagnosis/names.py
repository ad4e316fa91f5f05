"""Rules on looking names up (PROBING 7, 1-2)."""

from collections.abc import Iterator

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.weighing import fact, ms_of
from workers.measurement.evidence import Depth, NameEvidence
from workers.measurement.finding import Confidence, Fact, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# PROBING 7.1: slower than this, and than twice the way to the resolver.
SLOW_US = 50_000
SLOW_TRIPS = 2
# PROBING 7.2.
LONG_CHAIN = 3
SHORT_TTL_S = 60
LEAST_SHORT_TTL_US = 20_000
# A resolver that took so much longer than the way to it did not know the answer: then the time to live is the zone's
# own, and not what was left of it in a cache.
_COLD_US = 10_000
_ADDRESS_TYPES = ("A", "AAAA")
_LATER_TYPE = "HTTPS"


def slow(case: Case) -> Verdicts:
    """dns.slow: finding out the addresses took much longer than the way to the resolver."""
    for name in case.evidence.names:
        yield from _slow(case, name)


def cname_chain(case: Case) -> Verdicts:
    """dns.cname_chain: many aliases on the way to the addresses, or an answer that nobody may keep for a minute."""
    for name in case.evidence.names:
        yield from _chain(case, name)


def _slow(case: Case, name: NameEvidence) -> Iterator[Finding | NotJudged]:
    if name.took_us is None or name.took_us <= SLOW_US:
        return
    if name.again_us is None:
        light = case.evidence.depth is Depth.LIGHT
        reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED
        yield NotJudged(id=FindingId.DNS_SLOW, reason=reason)
    elif _asked_again(name):
        yield NotJudged(id=FindingId.DNS_SLOW, reason=NotJudgedReason.LOSS)
    elif _is_slow(name):
        yield Finding(
            id=FindingId.DNS_SLOW,
            severity=Severity.MEDIUM,
            confidence=Confidence.LOW if _later_us(name) is None else Confidence.MEDIUM,
            saving_us=_searched_us(name),
            evidence=_facts(name),
            host=_host(case, name),
        )


def _chain(case: Case, name: NameEvidence) -> Iterator[Finding]:
    hops = len(name.aliases)
    if hops < LONG_CHAIN and not _is_short_lived(name):
        return
    # The milliseconds of a slow lookup are told once.
    told = _is_slow(name)
    saving_us = None if told or name.again_us is None else min(hops * name.again_us, _searched_us(name))
    if hops < LONG_CHAIN and not told:
        saving_us = _searched_us(name)
    yield Finding(
        id=FindingId.DNS_CNAME_CHAIN,
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        saving_us=saving_us,
        evidence=_facts(name),
        host=_host(case, name),
    )


def _is_slow(name: NameEvidence) -> bool:
    if name.took_us is None or name.again_us is None or _asked_again(name):
        return False
    times = (name.took_us, _later_us(name) or name.took_us)
    return min(times) > max(SLOW_US, SLOW_TRIPS * name.again_us)


def _later_us(name: NameEvidence) -> int | None:
    """How long another question of the same name took, which was asked later and was new to the resolver too: a moment
    of bad luck does not come twice."""
    return next((one.took_us for one in name.questions if one.record_type == _LATER_TYPE and one.took_us), None)


def _is_short_lived(name: NameEvidence) -> bool:
    short = name.min_ttl_s is not None and name.min_ttl_s < SHORT_TTL_S
    cold = name.again_us is not None and _searched_us(name) > _COLD_US
    return short and cold and (name.took_us or 0) > LEAST_SHORT_TTL_US


def _searched_us(name: NameEvidence) -> int:
    """What the resolver spent on finding out: the first lookup, or a later one that was quicker, less the way to it."""
    took_us = name.took_us or 0
    return max(0, min(took_us, _later_us(name) or took_us) - (name.again_us or 0))


def _asked_again(name: NameEvidence) -> bool:
    """Whether a question or its answer got lost: the wait for that is none of the name's."""
    return any(one.took_us is None and one.record_type in _ADDRESS_TYPES for one in name.questions)


def _facts(name: NameEvidence) -> tuple[Fact, ...]:
    return (
        fact("dns_ms", None if name.took_us is None else ms_of(name.took_us)),
        fact("resolver_rtt_ms", None if name.again_us is None else ms_of(name.again_us)),
        fact("resolver", name.resolver),
        fact("cname_hops", len(name.aliases)),
        fact("chain", tuple(alias.target for alias in name.aliases)),
        fact("min_ttl_s", name.min_ttl_s),
    )


def _host(case: Case, name: NameEvidence) -> str | None:
    return None if name.host == case.evidence.host else name.host


RULES: tuple[Rule, ...] = (slow, cname_chain)
