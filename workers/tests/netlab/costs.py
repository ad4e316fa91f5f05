"""What a probe took, told apart by what a repair could shorten: the times by which two twins must differ."""

from collections.abc import Callable, Iterable

from workers.measurement.evidence import Exchange, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.messages import ProbeMeasurement
from workers.tests.netlab.twin import Cost


def cost_us(cost: Cost, measurement: ProbeMeasurement) -> int:
    """Raises AssertionError when the probe did not see it."""
    evidence = measurement.evidence
    assert evidence is not None, "a probe without evidence"
    return _MEANINGS[cost](measurement, evidence)


def _lookup(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    return _known(evidence.names[-1].took_us, "lookup")


def _redirects(measurement: ProbeMeasurement, _: ProbeEvidence) -> int:
    """All but the last hop."""
    return sum(_known(hop.timing.total_us, "hop") for hop in measurement.hops[:-1])


def _answer(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    """From the request to the first byte that could be read."""
    return _since_asked(_first(evidence, Trial.FULL).exchanges[0], "first_readable_us")


def _wait(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    return _since_asked(_first(evidence, Trial.FULL).exchanges[0], "first_application_us")


def _handshake(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    handshake = _first(evidence, Trial.FULL).handshake
    assert handshake is not None
    return _known(handshake.network_us, "handshake")


def _whole(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    return _since_asked(_first(evidence, Trial.FULL).exchanges[0], "ended_us")


def _after_idle(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    exchanges = _first(evidence, Trial.FULL).exchanges
    return _since_asked(next(one for one in exchanges if (one.idle_us or 0) > 1_000_000), "ended_us")


def _second_request(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    return _since_asked(_first(evidence, Trial.DELAYED_ACK).exchanges[1], "ended_us")


def _tls12_revisit(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    return _known(_first(evidence, Trial.TLS12_TICKET).exchanges[0].first_readable_us, "first byte")


def _quic_handshake(_: ProbeMeasurement, evidence: ProbeEvidence) -> int:
    handshake = _first(evidence, Trial.HTTP3).handshake
    assert handshake is not None
    return _known(handshake.ended_us, "handshake")


_MEANINGS: dict[Cost, Callable[[ProbeMeasurement, ProbeEvidence], int]] = {
    Cost.LOOKUP: _lookup,
    Cost.REDIRECTS: _redirects,
    Cost.ANSWER: _answer,
    Cost.WAIT: _wait,
    Cost.HANDSHAKE: _handshake,
    Cost.WHOLE: _whole,
    Cost.AFTER_IDLE: _after_idle,
    Cost.SECOND_REQUEST: _second_request,
    Cost.TLS12_REVISIT: _tls12_revisit,
    Cost.QUIC_HANDSHAKE: _quic_handshake,
}


def _first(evidence: ProbeEvidence, kind: Trial) -> TrialEvidence:
    found: Iterable[TrialEvidence] = evidence.of(kind)
    return next(iter(found))


def _since_asked(exchange: Exchange, mark: str) -> int:
    return _known(getattr(exchange, mark), mark) - exchange.asked_us


def _known(value: int | None, what: str) -> int:
    assert value is not None, f"{what} was not seen"
    return value
