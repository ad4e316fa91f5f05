"""The few things about a probe's last hop that both its document and its drawing tell."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from workers.diagnosis.case import pause_us, rtt_of
from workers.measurement.evidence import Direction, Exchange, Trial, TrialEvidence
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.measurement.timing import answer_phases

# The connections that are made as the first visit of a browser is, in the order of preference.
_FIRST_VISIT = (Trial.FULL, Trial.CLASSICAL, Trial.TLS12, Trial.PLAIN)


class RoundTrips(NamedTuple):
    """How many network round trips each phase took; None where it was not reached or cannot be told."""

    dns: int | None = None
    connect: int | None = None
    tls: int | None = None
    wait: int | None = None


def telling_sample(samples: Sequence[Measured | Failed]) -> Measured | Failed:
    """The one that stands for all: the first failure, else the one whose first byte came in the middle (the lower of
    two). There must be at least one."""
    failed = next((one for one in samples if isinstance(one, Failed)), None)
    return failed or sorted(samples, key=_ttfb_us)[(len(samples) - 1) // 2]


def _ttfb_us(sample: Measured | Failed) -> int:
    probe = sample.measurement
    hops = probe.hops if isinstance(probe, ProbeMeasurement) else ()
    return answer_phases([hop.timing for hop in hops]).ttfb_us or 0


def main_trial(probe: ProbeMeasurement) -> TrialEvidence | None:
    """The connection over which the last hop was asked: the first of its kind."""
    if probe.evidence is None:
        return None
    trials = probe.evidence.of(*_FIRST_VISIT)
    return min((one for one in trials if one.exchanges), key=lambda one: one.started_us, default=None) or next(
        iter(trials), None
    )


def answer_of(probe: ProbeMeasurement) -> Exchange | None:
    trial = main_trial(probe)
    return trial.exchanges[0] if trial is not None and trial.exchanges else None


def was_kept(probe: ProbeMeasurement) -> bool | None:
    """Whether the server kept a connection open behind its first answer, by the first that shows it: the run's own is
    closed by us."""
    trials = () if probe.evidence is None else probe.evidence.trials
    return next((one.exchanges[0].kept for one in trials if one.exchanges and one.exchanges[0].kept is not None), None)


def unreadable_us(probe: ProbeMeasurement) -> int | None:
    """How long the answer's first byte was here before it could be read: its record was not whole yet."""
    answer = answer_of(probe)
    if answer is None or answer.first_readable_us is None or answer.first_application_us is None:
        return None
    return max(0, answer.first_readable_us - answer.first_application_us)


def round_trips_of(probe: ProbeMeasurement) -> RoundTrips:
    if not probe.hops:
        return RoundTrips()
    last = probe.hops[-1]
    connection = next((one for one in probe.connections if one.number == last.connection), None)
    return RoundTrips(
        dns=None if last.timing.dns is None else _lookups(probe),
        connect=None if last.timing.connect is None or connection is None or connection.rtt_us is None else 1,
        tls=connection.tls_round_trips if connection is not None else None,
        wait=None if last.timing.wait is None else _waits(probe),
    )


def _lookups(probe: ProbeMeasurement) -> int:
    """One for each answered question: those for both families leave together, others follow an alias or an error."""
    evidence = probe.evidence
    names = () if evidence is None else (name for name in evidence.names if name.host == evidence.host)
    asked = (one for name in names for one in name.questions if one.record_type == "A" and one.code is not None)
    return max(1, sum(1 for _ in asked))


def _waits(probe: ProbeMeasurement) -> int | None:
    """One, and one more for each pause of a round trip before the answer could be read."""
    trial, answer = main_trial(probe), answer_of(probe)
    if trial is None or answer is None or answer.first_application_us is None or answer.first_readable_us is None:
        return None
    longest_us = pause_us(rtt_of(trial))
    instants = [answer.first_application_us] + [
        one.at_us
        for one in trial.transfers
        if one.direction is Direction.RECEIVED and answer.first_application_us < one.at_us <= answer.first_readable_us
    ]
    return 1 + sum(later - earlier > longest_us for earlier, later in pairwise(instants))
