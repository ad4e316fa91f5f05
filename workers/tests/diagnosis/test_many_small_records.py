"""Answers in many small records, of which the first ones alone are kept."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import records
from workers.diagnosis.probe.flights import answer_turn
from workers.measurement.evidence import MAX_RECORDS, ProbeEvidence
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import facts, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

LINES = Server(record_bytes=99, body_bytes=30_000)


def cut(evidence: ProbeEvidence, *lengths: int) -> ProbeEvidence:
    """As it is kept; with records of these lengths in turns, where there are any."""
    trials = []
    for trial in evidence.trials:
        kept = [
            replace(one, length_bytes=lengths[place % len(lengths)]) if one.application and lengths else one
            for place, one in enumerate(trial.records)
        ]
        trials.append(replace(trial, records=tuple(kept[:MAX_RECORDS]), truncated=True))
    return replace(evidence, trials=tuple(trials))


def test_an_answer_whose_records_are_too_many_to_keep_is_seen_whole() -> None:
    whole = deep(Path(), LINES)
    assert any(len(one.records) > MAX_RECORDS for one in whole.trials)
    for trial, kept in zip(whole.trials, cut(whole).trials, strict=True):
        seen = [answer_turn(trial, one) for one in trial.exchanges]
        assert [answer_turn(kept, one) for one in kept.exchanges] == seen


def test_records_of_a_few_bytes_among_others_add_what_all_of_them_do() -> None:
    """Ruby's Puma writes the size of a chunk, the chunk and its end apart: 66 bytes beside each line of 98. Their
    median, 21 bytes, would add 550 %."""
    chunks = cut(deep(Path(), replace(LINES, body_bytes=120_000)), 21, 115, 19)
    finding = found(records.RULES, chunks)[Id.TLS_RECORD_TINY]
    assert int(str(facts(finding)["added_percent"])) == pytest.approx(63, abs=2)
