"""What a probe took, told apart by what a repair could shorten: the times by which two twins must differ.

Each is the least of the connections that show it, since a busy machine makes them later and never sooner; of waits that
differ from one to the next, the mean.
"""

from collections.abc import Callable
from itertools import pairwise
from statistics import mean

from workers.diagnosis.probe.path import HAPPY_EYEBALLS_US
from workers.diagnosis.probe.thinking import THOUGHTFUL
from workers.measurement.evidence import Direction, Exchange, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.messages import Hop, ProbeMeasurement
from workers.measurement.timing import phases_of
from workers.tests.netlab.twin import Cost

# Over QUIC, at most.
_ACKNOWLEDGEMENT_BYTES = 60
# What one connection, or one exchange, took; None where it did not come so far.
Took = Callable[[TrialEvidence], int | None]


class UnseenError(Exception):
    """A probe did not come as far as what it was to be measured by."""


def cost_us(cost: Cost, measurement: ProbeMeasurement) -> int:
    """Raises UnseenError when the probe did not see it."""
    evidence = measurement.evidence
    assert evidence is not None, "a probe without evidence"
    if cost is Cost.LOOKUP:
        return _known(evidence.names[-1].took_us)
    if cost in (Cost.MOVED, Cost.MOVED_AWAY):
        return _moved(measurement, whole=cost is Cost.MOVED_AWAY)
    if cost is Cost.JOURNEY:
        return sum(_own_us(hop) for hop in measurement.hops)
    if cost is Cost.FALLBACK:
        return _least(evidence, Trial.OTHER_FAMILY, _until_given_up_us)
    if cost is Cost.TLS12_REVISITS:
        return _mean_of_kinds(evidence)
    if cost is Cost.NEXT_REQUEST:
        kept = any(len(trial.exchanges) > 1 for trial in evidence.of(Trial.FULL))
        return _least(evidence, Trial.FULL, _second_us) if kept else _least(evidence, Trial.RESUMED, _ended_us)
    if cost is Cost.MEAN_WAIT:
        waits = [us for trial in evidence.of(*THOUGHTFUL) if (us := _first("first_application_us")(trial)) is not None]
        return _mean(waits)
    if cost is Cost.EARLIEST_REVISIT:
        kind = Trial.EARLY_DATA if evidence.of(Trial.EARLY_DATA) else Trial.RESUMED
        return _least(evidence, kind, _until_answer_us)
    kind, took = _MEANINGS[cost]
    return _least(evidence, kind, took)


def _moved(measurement: ProbeMeasurement, *, whole: bool) -> int:
    """The first hop. Unless it leads to another host, what comes after goes over the same connection in a browser."""
    if len(measurement.hops) < 2:
        return 0
    timing = measurement.hops[0].timing
    begun_us = None if timing.send is None else timing.send.start_us
    return _known(timing.end_us) - (timing.start_us if whole else _known(begun_us))


def _own_us(hop: Hop) -> int:
    """Without the lookup: browsers ask for each name once."""
    phases = phases_of(hop.timing)
    return _known(phases.total_us) - (phases.dns_us or 0)


def _until_given_up_us(trial: TrialEvidence) -> int:
    """Until a browser uses the other family: when it is refused, or when it has waited for as long as it ever does."""
    return 0 if trial.failure is None else min(_known(trial.ended_us), HAPPY_EYEBALLS_US)


def _least(evidence: ProbeEvidence, kind: Trial, took: Took) -> int:
    all_us = [us for trial in evidence.of(kind) if (us := took(trial)) is not None]
    if not all_us:
        raise UnseenError(f"nothing to see in {kind}")
    return min(all_us)


def _handshake_us(trial: TrialEvidence) -> int | None:
    return None if trial.handshake is None else trial.handshake.network_us


def _until_answer_us(trial: TrialEvidence) -> int | None:
    """From the ClientHello on, which may bring the request; without what passes on our own side in between."""
    if trial.trial is not Trial.EARLY_DATA:
        return _sum(_handshake_us(trial), _first("first_application_us")(trial))
    began_us = trial.exchanges[0].first_application_us if trial.exchanges else None
    return None if began_us is None or trial.handshake is None else began_us - trial.handshake.started_us


def _visit_us(trial: TrialEvidence) -> int | None:
    """Of a new visitor: the handshake and the first answer."""
    return _sum(_handshake_us(trial), _first("ended_us")(trial))


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _mean_of_kinds(evidence: ProbeEvidence) -> int:
    """Of sessions that were continued and such as were not, each as long as the least of its kind."""
    kinds: dict[bool, list[int]] = {}
    for trial in evidence.of(Trial.TLS12_TICKET):
        if trial.handshake is not None and trial.handshake.network_us is not None:
            kinds.setdefault(bool(trial.handshake.resumed), []).append(trial.handshake.network_us)
    return _mean([least for took in kinds.values() for least in [min(took)] * len(took)])


def _second_us(trial: TrialEvidence) -> int | None:
    """The second request, at once after the first."""
    again = [one for one in trial.exchanges[1:] if not one.idle_us]
    return _since_asked(again[0], "ended_us") if again else None


def _ended_us(trial: TrialEvidence) -> int | None:
    """The first request with the connection that it had to open."""
    return _sum(trial.connect_us, _handshake_us(trial), _first("ended_us")(trial))


def _quic_handshake_us(trial: TrialEvidence) -> int | None:
    """What it waited for the server: from each datagram of ours to the last one before we spoke again. Where it got
    half of our hello alone, it acknowledged that, which is no word of its own."""
    shaken = trial.handshake
    if shaken is None or shaken.ended_us is None:
        return None
    until_us = shaken.ended_us
    moves = sorted((one for one in trial.transfers if one.at_us <= until_us), key=lambda one: one.at_us)
    sent = [one.at_us for one in moves if one.direction is Direction.SENT]
    told = (one for one in moves if one.direction is Direction.RECEIVED and one.size_bytes > _ACKNOWLEDGEMENT_BYTES)
    heard = [one.at_us for one in told]
    waits = ([at for at in heard if begin < at <= end] for begin, end in pairwise((*sent, until_us)))
    return sum(max(heard) - begin for begin, heard in zip(sent, waits, strict=True) if heard)


def _first(mark: str) -> Took:
    """Of the first exchange of a connection, from the request to that mark."""
    return lambda trial: _since_asked(trial.exchanges[0], mark) if trial.exchanges else None


def _rested_us(trial: TrialEvidence) -> int | None:
    rested = [one for one in trial.exchanges if one.idle_us]
    return _since_asked(rested[0], "ended_us") if rested else None


def _since_asked(exchange: Exchange, mark: str) -> int | None:
    """Since the request left: what our own side took before that is no cost of the site's."""
    at_us: int | None = getattr(exchange, mark)
    return None if at_us is None or exchange.sent_us is None else at_us - exchange.sent_us


def _mean(values_us: list[int]) -> int:
    if not values_us:
        raise UnseenError("no time was seen of which the mean is asked")
    return round(mean(values_us))


def _known(value: int | None) -> int:
    if value is None:
        raise UnseenError("a time was not seen")
    return value


_MEANINGS: dict[Cost, tuple[Trial, Took]] = {
    Cost.ANSWER: (Trial.FULL, _first("first_readable_us")),
    Cost.WAIT: (Trial.FULL, _first("first_application_us")),
    Cost.WHOLE: (Trial.FULL, _first("ended_us")),
    Cost.VISIT: (Trial.FULL, _visit_us),
    Cost.DELAYED: (Trial.DELAYED_ACK, _first("ended_us")),
    Cost.AFTER_IDLE: (Trial.FULL, _rested_us),
    Cost.HANDSHAKE: (Trial.FULL, _handshake_us),
    Cost.TLS12_REVISIT: (Trial.TLS12_TICKET, _handshake_us),
    Cost.QUIC_HANDSHAKE: (Trial.HTTP3, _quic_handshake_us),
}
