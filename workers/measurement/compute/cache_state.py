"""What caches on the way said of an answer, from its headers.

The standard's own header counts first (RFC 9211), then those of single CDNs and proxies, then what follows from a
stored answer's age. Where several caches speak, one that had the answer decides: then the origin was not asked.
"""

import re
from collections.abc import Callable, Iterator

from workers.measurement.connection import Header
from workers.measurement.pair import CacheReport, CacheState

S = CacheState
Judge = Callable[[str], CacheState]

_MAX_AGE_S = 2**31
_MAX_EVIDENCE_CHARS = 200
_AGE = re.compile(r"[0-9]{1,10}")
# What is not closed reaches to the end: to look for an end behind each quote takes seconds of a hostile header.
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?')
_WORD = re.compile(r"[a-z]+")
# RFC 9211, 2.2: why a cache sent the request on. "partial" is a range of which it had only a part.
_FORWARDED = {"stale": S.STALE, "bypass": S.BYPASS, "method": S.BYPASS}
# Words of CDNs and proxies, in the order in which they decide: "HIT-FOR-PASS" kept nothing, "TCP_REFRESH_HIT" asked the
# origin. nginx's EXPIRED and REVALIDATED and CloudFront's RefreshHit waited for it, as what they kept had run out; its
# STALE and UPDATING, Cloudflare's and Vercel's gave that out all the same (RFC 5861).
_WORDS: tuple[tuple[CacheState, frozenset[str]], ...] = (
    (S.BYPASS, frozenset({"bypass", "pass", "nocache", "nostore"})),
    (S.DYNAMIC, frozenset({"dynamic", "uncacheable"})),
    (S.STALE, frozenset({"expired", "revalidated", "refreshhit", "refresh"})),
    (S.HIT, frozenset({"hit", "prerender", "stale", "updating"})),
    (S.MISS, frozenset({"miss"})),
)


def cache_report(headers: tuple[Header, ...]) -> CacheReport:
    """The state that the most telling header gives, that header, and the age."""
    age_s = _age_s(headers)
    state, evidence = next(_states(headers), (S.UNKNOWN, None))
    if evidence is None and age_s:
        aged = next(header for header in headers if header.name.lower() == "age")
        state, evidence = S.HIT, Header(name=aged.name, value=aged.value[:_MAX_EVIDENCE_CHARS])
    return CacheReport(state=state, evidence=evidence, age_s=age_s)


def _states(headers: tuple[Header, ...]) -> Iterator[tuple[CacheState, Header]]:
    """From the most telling header on; what says nothing that we know is left out."""
    for name, judge in _JUDGES.items():
        found = [header for header in headers if header.name.lower() == name]
        if found:
            value = ", ".join(header.value for header in found)
            state = judge(value)
            if state is not S.UNKNOWN:
                yield state, Header(name=found[0].name, value=value[:_MAX_EVIDENCE_CHARS])


def _by_words(value: str) -> CacheState:
    """Of "TCP_MEM_HIT from a23-45", "Miss from cloudfront", "HIT, MISS": what is said before "from"."""
    return _of_several([_of_words(part.partition(" from ")[0]) for part in value.lower().split(",")])


def _of_words(text: str) -> CacheState:
    words = set(_WORD.findall(text))
    return next((state for state, known in _WORDS if words & known), S.UNKNOWN)


def _by_standard(value: str) -> CacheState:
    return _of_several([_of_one_cache(cache) for cache in _split(value, ",")])


def _of_several(caches: list[CacheState]) -> CacheState:
    """From the origin's side to ours: a hit anywhere, else the last that tells something, which is nearest to us."""
    told = [state for state in caches if state is not S.UNKNOWN]
    return S.HIT if S.HIT in told else told[-1] if told else S.UNKNOWN


def _of_one_cache(cache: str) -> CacheState:
    parameters = [part.strip().lower() for part in _split(cache, ";")[1:]]
    if "hit" in parameters or "hit=?1" in parameters:
        return S.HIT
    reason = next((part[4:] for part in parameters if part.startswith("fwd=")), None)
    return S.UNKNOWN if reason is None else _FORWARDED.get(reason, S.MISS)


def _by_server_timing(value: str) -> CacheState:
    """Akamai says "cdn-cache; desc=HIT", others "cache;desc=hit" or "cfCacheStatus;desc=…"; the rest says nothing."""
    for metric in _split(value, ","):
        name, *parameters = (part.strip().lower() for part in _split(metric, ";"))
        if "cache" in name:
            said = [part[5:].strip('" ') for part in parameters if part.startswith("desc=")]
            state = _by_words(said[0] if said else name)
            if state is not S.UNKNOWN:
                return state
    return S.UNKNOWN


def _by_hits(value: str) -> CacheState:
    """Fastly's X-Cache-Hits: how often each cache on the way has given this answer out, "0, 12"."""
    counts = [count.strip() for count in value.split(",")]
    if not all(_AGE.fullmatch(count) for count in counts):
        return S.UNKNOWN
    return S.HIT if any(int(count) for count in counts) else S.MISS


def _by_varnish(value: str) -> CacheState:
    """X-Varnish names this request, and the one that stored the answer when there was one."""
    numbers = value.split()
    if not numbers or not all(number.isdecimal() for number in numbers):
        return S.UNKNOWN
    return S.HIT if len(numbers) == 2 else S.MISS


def _split(value: str, separator: str) -> list[str]:
    """Parts of a list, whose quoted texts may hold the separator."""
    hidden = _QUOTED.sub(lambda text: text[0].replace(separator, "\0"), value)
    return [part.replace("\0", separator) for part in hidden.split(separator)]


def _age_s(headers: tuple[Header, ...]) -> int | None:
    value = next((header.value.strip() for header in headers if header.name.lower() == "age"), "")
    return min(int(value), _MAX_AGE_S) if _AGE.fullmatch(value) else None


_JUDGES: dict[str, Judge] = {
    "cache-status": _by_standard,
    "cf-cache-status": _by_words,
    "x-cache": _by_words,
    "x-cache-status": _by_words,
    "cdn-cache": _by_words,
    "x-vercel-cache": _by_words,
    "x-proxy-cache": _by_words,
    "x-edge-cache": _by_words,
    "x-cache-remote": _by_words,
    "akamai-cache-status": _by_words,
    "x-sucuri-cache": _by_words,
    "x-litespeed-cache": _by_words,
    "server-timing": _by_server_timing,
    "x-cache-hits": _by_hits,
    "x-varnish": _by_varnish,
}
