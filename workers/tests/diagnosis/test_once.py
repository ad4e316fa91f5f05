"""What rules ask of a connection again and again is worked out once, and that changes nothing of what they say."""

from contextlib import nullcontext
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings

from workers.diagnosis.probe import diagnose as diagnosing
from workers.diagnosis.probe.once import once_a_trial, one_diagnosis
from workers.measurement.evidence import ProbeEvidence, Trial, TrialEvidence
from workers.tests.diagnosis import anything
from workers.tests.diagnosis.sites import judge, trial


class _Counted:
    """A question that counts how often it is worked out."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, asked: TrialEvidence, more: int = 0) -> int:
        self.times += 1
        return asked.started_us + more


def counted() -> tuple[_Counted, TrialEvidence]:
    return _Counted(), trial(Trial.FULL, started_us=7)


def test_a_question_is_worked_out_once_for_each_connection_and_all_that_was_asked() -> None:
    (question, asked), other = counted(), trial(Trial.PLAIN, started_us=9)
    ask = once_a_trial(question.__call__)
    with one_diagnosis():
        assert [ask(asked), ask(asked), ask(asked, 5), ask(asked, 5), ask(other)] == [7, 7, 12, 12, 9]
    assert question.times == 3


def test_an_answer_of_none_is_remembered_too() -> None:
    seen: list[TrialEvidence] = []
    asked = trial(Trial.FULL)
    ask = once_a_trial(seen.append)
    with one_diagnosis():
        ask(asked)
        ask(asked)
    assert len(seen) == 1


def test_nothing_is_remembered_beyond_a_diagnosis() -> None:
    question, asked = counted()
    ask = once_a_trial(question.__call__)
    for _ in range(2):
        with one_diagnosis():
            ask(asked)
        ask(asked)
    assert question.times == 4


def test_the_connections_of_a_diagnosis_keep_their_answers_while_others_come_and_go() -> None:
    """A connection that was made up for one question may leave its place in memory to the next."""
    with one_diagnosis():
        told = [once(trial(Trial.FULL, started_us=number)) for number in range(200)]
    assert told == list(range(200))


@once_a_trial
def once(asked: TrialEvidence) -> int:
    return asked.started_us


@settings(
    max_examples=settings().max_examples // 2,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.data_too_large],
)
@given(anything.evidence())
def test_no_diagnosis_changes_by_it(evidence: ProbeEvidence) -> None:
    remembered = judge(evidence)
    with patch.object(diagnosing, "one_diagnosis", nullcontext):
        assert judge(evidence) == remembered
