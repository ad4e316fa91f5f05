"""From what all rules say to one diagnosis: each cause once, in the order in which to mend them."""

from collections.abc import Iterable, Iterator, Mapping

from workers.measurement.finding import Finding, FindingId, NotJudged, NotJudgedReason, Severity

# What a cause weighs whose cost is no time: the least that its severity stands for.
_WEIGHT_US: Mapping[Severity, int] = {
    Severity.CRITICAL: 200_000,
    Severity.HIGH: 200_000,
    Severity.MEDIUM: 50_000,
    Severity.LOW: 0,
    Severity.INFO: 0,
}
# Of all others: rules call low what a first visit hardly feels, whatever it saves somebody else.
_MIDDLE = 1
_TIERS = {Severity.CRITICAL: 0, Severity.LOW: 2, Severity.INFO: 3}
_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_PLACES = {id: place for place, id in enumerate(FindingId)}

# One cause told in two ways: where the first is found, the second says the same again and is left out.
_SAME_CAUSE: tuple[tuple[FindingId, FindingId], ...] = ((FindingId.TLS_CHAIN_EXCEEDS_IW, FindingId.TLS_CHAIN_LARGE),)
# Mended in this order whatever they save: a long chain grows the window, which hides that records are too large for it,
# so a shorter chain alone makes the first byte later. Compression is one way to shorten it. Early data is
# refused with each HelloRetryRequest (RFC 8446, 4.2.10).
_BEFORE: tuple[tuple[FindingId, FindingId], ...] = (
    (FindingId.TLS_CHAIN_EXCEEDS_IW, FindingId.TLS_CERT_COMPRESSION),
    (FindingId.TLS_RECORD_OVERFLOW, FindingId.TLS_CHAIN_EXCEEDS_IW),
    (FindingId.TLS_HELLO_RETRY, FindingId.TLS_ZERO_RTT),
)
# What cannot be seen while the first is there.
_HIDES: tuple[tuple[FindingId, FindingId], ...] = ((FindingId.TLS_CHAIN_EXCEEDS_IW, FindingId.TLS_RECORD_OVERFLOW),)


def findings_in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """What makes visitors fail first, then what saves most, what is of low weight, and remarks last. One finding for an
    id and host."""
    first: dict[tuple[FindingId, str | None], Finding] = {}
    for finding in found:
        first.setdefault((finding.id, finding.host), finding)
    ids = {finding.id for finding in first.values()}
    repeated = {second for cause, second in _SAME_CAUSE if cause in ids}
    kept = sorted((finding for finding in first.values() if finding.id not in repeated), key=_urgency)
    for earlier, later in _BEFORE:
        kept = _moved(kept, earlier, later)
    return tuple(kept)


def open_questions(said: Iterable[NotJudged], found: tuple[Finding, ...]) -> tuple[NotJudged, ...]:
    """What could not be judged and was not found all the same, each once. Of a cause that hides it something is said
    too: else that is no explanation."""
    ids = {finding.id for finding in found}
    said = tuple(said)
    known = ids | {one.id for one in said}
    hidden = {
        second: NotJudged(id=second, reason=NotJudgedReason.HIDDEN, hidden_by=cause)
        for cause, second in _HIDES
        if cause in ids
    }
    once: dict[FindingId, NotJudged] = {}
    for one in said:
        if one.id not in ids:
            unexplained = one.hidden_by is not None and one.hidden_by not in known
            told = NotJudged(id=one.id, reason=NotJudgedReason.UNSTEADY) if unexplained else one
            once.setdefault(one.id, hidden.get(one.id, told))
    return tuple(sorted(once.values(), key=lambda one: _PLACES[one.id]))


def _urgency(finding: Finding) -> tuple[int, int, int, int, str]:
    weight_us = _WEIGHT_US[finding.severity] if finding.share_us is None else finding.share_us
    rank = _RANKS[finding.severity]
    return _TIERS.get(finding.severity, _MIDDLE), -weight_us, rank, _PLACES[finding.id], finding.host or ""


def _moved(findings: list[Finding], earlier: FindingId, later: FindingId) -> list[Finding]:
    """With all of `earlier` in front of the first of `later`."""
    at = next((place for place, finding in enumerate(findings) if finding.id is later), None)
    if at is None:
        return findings
    return list(_with_first(findings[:at], findings[at:], earlier))


def _with_first(before: list[Finding], after: list[Finding], id: FindingId) -> Iterator[Finding]:
    yield from before
    yield from (finding for finding in after if finding.id is id)
    yield from (finding for finding in after if finding.id is not id)
