"""A comparison of two legs as the JSON document that the command line prints: milliseconds, absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next.
`difference_ms` and everything that explains it is leg a minus leg b (the CDN minus the origin): negative means that the
first is faster. `by_phase_ms` adds up to the estimate; its `wait` contains the sending of the request.
"""

from dataclasses import dataclass

from workers.diagnosis.diagnosis_document import diagnosis_parts
from workers.diagnosis.pair.facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair.reasons import Reason
from workers.diagnosis.pair.samples import CDN_AND_ORIGIN, Names, Parts
from workers.diagnosis.pair.verdict import Comparison, PairVerdict
from workers.measurement.document import Document, milliseconds
from workers.measurement.failure import Failure
from workers.measurement.finding import Diagnosis
from workers.measurement.pair import Leg
from workers.measurement.web_address import host_of

COMPARE_SCHEMA = "firstbyte.compare/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was compared: the URLs of the legs, and what they are called."""

    a: str
    b: str
    names: Names

    def key(self, leg: Leg) -> str:
        """The leg's name for programs: "cdn" and "origin", or "a" and "b"."""
        if self.names is CDN_AND_ORIGIN:
            return "cdn" if leg is Leg.A else "origin"
        return str(leg)

    def told(self, detail: str) -> str:
        """What failed, with its leg called what it is: "Leg b: refused" is "The origin (www.example.org): refused"."""
        for leg, url in ((Leg.A, self.a), (Leg.B, self.b)):
            if detail.startswith(f"Leg {leg}: "):
                name = self.names.of(leg)
                return f"{name[0].upper()}{name[1:]} ({host_of(url)}): {detail.removeprefix(f'Leg {leg}: ')}"
        return detail


def compare_document(
    asked: Asked, comparison: Comparison, diagnosis: Diagnosis, *, failed: int, failure: Failure | None
) -> Document:
    """The headline is the cold comparison; `reused` has the same fields for requests over open connections.

    `diagnosis` is what follows for the CDN, `failure` why pairs could not be measured, the last of `failed`.
    """
    cold, reused = comparison.cold, comparison.reused
    return {
        "schema": COMPARE_SCHEMA,
        **_verdict(cold),
        "difference_is": f"{asked.key(Leg.A)} minus {asked.key(Leg.B)}",
        "failed": failed,
        "legs": {asked.key(leg): _leg(asked, comparison, leg) for leg in Leg},
        "reused": _verdict(reused),
        "warnings": [warning.text for warning in cold.warnings],
        **diagnosis_parts(diagnosis),
        "error": None if failure is None else _error(asked, failure),
    }


def _verdict(verdict: PairVerdict) -> Document:
    difference, main = verdict.difference, verdict.main_reason
    return {
        "verdict": str(verdict.verdict),
        "sentence": verdict.sentence,
        "difference_ms": {
            "estimate": milliseconds(difference.estimate_us if difference else None),
            "low": milliseconds(difference.low_us if difference else None),
            "high": milliseconds(difference.high_us if difference else None),
            "confidence": difference.confidence if difference else None,
        },
        "margin_ms": milliseconds(verdict.margin_us),
        "pairs": verdict.pairs,
        "by_phase_ms": _parts(verdict.by_phase),
        "main_reason": None if main is None else main.id,
        "reasons": [_reason(reason) for reason in verdict.reasons],
    }


def _reason(reason: Reason) -> Document:
    return {"id": reason.id, "text": reason.text, "ms": milliseconds(reason.difference_us)}


def _leg(asked: Asked, comparison: Comparison, leg: Leg) -> Document:
    url = asked.a if leg is Leg.A else asked.b
    facts, reused = comparison.cold.of(leg), comparison.reused.of(leg)
    return {"url": url} | ({} if facts is None else _facts(facts)) | {"reused_phases_ms": _usual(reused)}


def _facts(facts: LegFacts) -> Document:
    return {
        "address": next(iter(facts.addresses), None),
        "addresses": list(facts.addresses),
        "status": next(iter(facts.statuses), None),
        "protocol": facts.protocol,
        "tls_version": facts.tls_version,
        "tls_round_trips": facts.tls_round_trips,
        "rtt_ms": milliseconds(facts.rtt_us),
        "content_encoding": None if facts.content_encoding == NOT_PACKED else facts.content_encoding,
        "body_bytes": facts.body_bytes,
        "etag": facts.etag,
        "cache": {str(state): count for state, count in facts.caches.items()},
        "age_s": facts.age_s,
        "phases_ms": _usual(facts),
    }


def _usual(facts: LegFacts | None) -> Document | None:
    """The usual exchange of a leg; its phases add up to its `total`."""
    return None if facts is None else _parts(facts.parts) | {"total": milliseconds(facts.parts.total)}


def _parts(parts: Parts | None) -> Document:
    names = Parts._fields
    return dict.fromkeys(names) if parts is None else {name: milliseconds(getattr(parts, name)) for name in names}


def _error(asked: Asked, failure: Failure) -> Document:
    return {
        "kind": str(failure.kind),
        "stage": str(failure.stage),
        "blame": str(failure.blame),
        "detail": asked.told(failure.detail),
    }
