"""Which connections of a deep probe to make again, because something was seen that once may have been chance.

A healthy site is asked for nothing; what was seen in part of the connections, or spoilt by loss, is looked at again.
"""

from collections.abc import Iterator, Mapping

from workers.diagnosis import answers, handshakes, path, records, transport
from workers.diagnosis.case import Case, lost_packets
from workers.diagnosis.weighing import LEAST_SEEN
from workers.measurement.evidence import Trial, TrialEvidence
from workers.measurement.finding import FindingId, NotJudged, NotJudgedReason

# With loss, or where it was seen now and then, so many connections of a kind are enough to give up.
MOST = 5
# Resumption that fails is tried so often, and so often where it fails only sometimes (PROBING 1d and 7.19).
FAILED_RESUMPTIONS, FLAKY_RESUMPTIONS = 5, 10

_RULES = (*handshakes.RULES, *transport.RULES, *records.RULES, *answers.RULES, path.ipv6)
_SETTLED_BY: Mapping[FindingId, Trial] = {
    FindingId.TCP_NAGLE_DELAYED_ACK: Trial.DELAYED_ACK,
    FindingId.IPV6_BROKEN_OR_SLOW: Trial.OTHER_FAMILY,
}
_OPEN = (NotJudgedReason.NOT_REPEATED, NotJudgedReason.LOSS)
_RESUMING = (Trial.RESUMED, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
# A failure of these is a finding when it comes each time.
_TELLING_FAILURES = (Trial.FULL, Trial.HTTP3)


def wanted_repeats(case: Case) -> Mapping[Trial, int]:
    """How many more connections of which kind would settle what is open; empty when nothing is.

    Ask again with what they brought: asked again and again it comes to an end, since each kind has its bound.
    """
    wanted: dict[Trial, int] = {}
    for trial, total in _totals(case):
        more = total - len(case.evidence.of(trial))
        wanted[trial] = max(more, wanted.get(trial, 0))
    return {trial: more for trial, more in wanted.items() if more > 0}


def _totals(case: Case) -> Iterator[tuple[Trial, int]]:
    """Kinds of connections, and how many of each there should be in all."""
    for rule in _RULES:
        for said in rule(case):
            if isinstance(said, NotJudged) and said.reason in _OPEN:
                trial = _settling(case, said.id)
                if trial is not None:
                    yield trial, _enough(case.evidence.of(trial))
    for trial in _RESUMING:
        yield trial, _enough_resumptions(case.evidence.of(trial))
    for trial in _TELLING_FAILURES:
        if any(one.failure is not None for one in case.evidence.of(trial)):
            yield trial, LEAST_SEEN


def _settling(case: Case, id: FindingId) -> Trial | None:
    """The kind that settles it, where one was made at all: where a browser's own hello fails, the classical one."""
    for trial in (_SETTLED_BY[id],) if id in _SETTLED_BY else (Trial.FULL, Trial.CLASSICAL, Trial.TLS12):
        if any(one.failure is None or id in _SETTLED_BY for one in case.evidence.of(trial)):
            return trial
    return None


def _enough(made: tuple[TrialEvidence, ...]) -> int:
    """Three where all were clean; more to have three without loss, or to see whether it comes back."""
    lossy = sum(lost_packets(one) for one in made)
    return LEAST_SEEN if len(made) < LEAST_SEEN and not lossy else min(MOST, LEAST_SEEN + max(lossy, 1))


def _enough_resumptions(made: tuple[TrialEvidence, ...]) -> int:
    answers = [one.handshake.resumed for one in made if one.handshake is not None and one.handshake.resumed is not None]
    if all(answers):
        return 0
    return FLAKY_RESUMPTIONS if any(answers) else FAILED_RESUMPTIONS
