"""A server that thinks for as long as old clients delay acknowledgements, after its tickets and before its answer."""

from dataclasses import replace

import pytest

from workers.diagnosis.diagnose import diagnose
from workers.measurement.evidence import Direction, Exchange, TlsRecord, Transfer, Trial, TrialEvidence
from workers.measurement.finding import FindingId
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, probe

NAGLE = FindingId.TCP_NAGLE_DELAYED_ACK
SENT_US = 2_246


def thinking(kind: Trial, think_us: int) -> TrialEvidence:
    """As it was seen on one machine: two tickets at once, and the answer when it was thought of."""
    answered_us = SENT_US + think_us
    received = ((1_086, 856), (2_387, 303), (2_432, 303), (answered_us, 1_306))
    sent = ((456, 1_577), (SENT_US, 329))
    transfers = [Transfer(at_us=at, direction=Direction.RECEIVED, size_bytes=size) for at, size in received]
    transfers += [Transfer(at_us=at, direction=Direction.SENT, size_bytes=size) for at, size in sent]
    whole = connection(Path(rtt_ms=0.02), Server(), kind)
    exchange = Exchange(
        asked_us=SENT_US,
        sent_us=SENT_US,
        first_raw_us=2_387,
        first_application_us=answered_us,
        first_readable_us=answered_us,
        head_us=answered_us,
        first_body_us=answered_us,
        ended_us=answered_us,
        status=200,
        head_bytes=322,
        body_bytes=968,
    )
    records = [
        TlsRecord(at_us=at, content_type=23, length_bytes=size - 5, end_us=at, application=at == answered_us)
        for at, size in received[1:]
    ]
    return replace(
        whole,
        exchanges=(exchange,),
        transfers=tuple(sorted(transfers, key=lambda one: one.at_us)),
        records=tuple(records),
        ended_us=answered_us + 400,
    )


@pytest.mark.parametrize("think_ms", [185, 200, 209, 225])
def test_thinking_is_not_taken_for_waiting_for_an_acknowledgement(think_ms: int) -> None:
    trials = [thinking(kind, think_ms * 1000) for kind in [Trial.FULL] * 3 + [Trial.DELAYED_ACK] * 3]
    found = {finding.id for finding in diagnose(probe(trials)).findings}
    assert NAGLE not in found


def test_early_hints_do_not_hide_the_thinking_behind_them() -> None:
    """The 103 comes at once and the answer 400 ms later: the page has not begun, so it does not stall either."""
    server = Server(body_stall=(0, 400_000), head_bytes=60, body_bytes=16_000, record_bytes=16_384)
    hinted = [hinting(connection(Path(rtt_ms=40), server)) for _ in range(3)]
    found = {finding.id: finding for finding in diagnose(probe(hinted)).findings}
    assert FindingId.HTTP_BODY_STALL not in found
    saving_us = found[FindingId.HTTP_THINK_TIME].saving_us
    assert saving_us is not None
    assert abs(saving_us - 350_000) < 10_000


def hinting(trial: TrialEvidence) -> TrialEvidence:
    """What was a head, flushed before the thinking, as early hints: the head itself comes with the page."""
    exchanges = (replace(one, interim=(103,), head_us=one.first_body_us) for one in trial.exchanges)
    return replace(trial, exchanges=tuple(exchanges))
