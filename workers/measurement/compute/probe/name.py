"""From what was asked of name servers to what a name's lookup took."""

from workers.measurement.captures_probe import LookupCapture, NameCapture, QuestionCapture
from workers.measurement.compute.probe.hop import RunClock
from workers.measurement.evidence import NameEvidence, Question


def name_evidence(capture: NameCapture, clock: RunClock) -> NameEvidence:
    """A name that this machine knows by itself has addresses and nothing else."""
    lookup = capture.lookup
    if lookup is None:
        return NameEvidence(host=capture.host, addresses=capture.addresses)
    return NameEvidence(
        host=capture.host,
        resolver=lookup.resolver,
        took_us=_took_us(lookup, clock),
        again_us=min((_way_us(again, clock) for again in capture.again), default=None),
        questions=tuple(_question(one, clock) for one in (*lookup.questions, *capture.questions)),
        aliases=lookup.aliases,
        addresses=capture.addresses or lookup.addresses,
        min_ttl_s=lookup.min_ttl_s,
        https=capture.https,
        left_loose=lookup.left_loose,
    )


def _took_us(lookup: LookupCapture, clock: RunClock) -> int:
    return max(0, clock.instant_ns(lookup.answered) - lookup.asked_ns + 500) // 1000


def _way_us(again: LookupCapture, clock: RunClock) -> int:
    """To the resolver and back, of a lookup to which it knows all answers."""
    return _took_us(again, clock) // (1 + again.left_loose)


def _question(asked: QuestionCapture, clock: RunClock) -> Question:
    took_ns = None if asked.answered is None else max(0, clock.instant_ns(asked.answered) - asked.asked_ns)
    return Question(
        record_type=asked.record_type, took_us=None if took_ns is None else (took_ns + 500) // 1000, code=asked.code
    )
