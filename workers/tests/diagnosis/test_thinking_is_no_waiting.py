"""A server that thinks for as long as old clients delay acknowledgements, after its tickets and before its answer."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.probe import answers
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.evidence import Direction, Exchange, TlsRecord, Transfer, Trial, TrialEvidence
from workers.measurement.finding import FindingId
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, deep, probe

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


@pytest.mark.parametrize("rtt_ms", [160, 230])
@pytest.mark.parametrize("pause_ms", [270, 300, 500])
@pytest.mark.parametrize("speaks", [{}, {"tickets_apart": True}, {"version": "TLSv1.2", "settings_bytes": 60}])
def test_a_small_begin_of_a_large_answer_that_nagle_holds_behind_tickets_or_settings_is_no_thinking(
    rtt_ms: float, pause_ms: int, speaks: dict[str, Any]
) -> None:
    """They are acknowledged a round trip later, and only then a packet follows that is not full."""
    server = Server(body_bytes=15_000, body_stall=(200, 1_000 * pause_ms), **speaks)
    told = found(answers.RULES, deep(Path(rtt_ms=rtt_ms, nagle=True), server))
    assert not {FindingId.HTTP_THINK_TIME, FindingId.HTTP_BUFFERED_RESPONSE} & told.keys()


@pytest.mark.parametrize("rtt_ms", [230, 300])
@pytest.mark.parametrize("after_bytes", [200, 2_000])
def test_a_server_that_thinks_for_a_round_trip_about_each_large_answer_is_told(rtt_ms: int, after_bytes: int) -> None:
    server = Server(body_bytes=15_000, body_stall=(after_bytes, 300_000), think_us=(1_000 * rtt_ms,))
    assert FindingId.HTTP_THINK_TIME in found(answers.RULES, deep(Path(rtt_ms=rtt_ms), server))


@pytest.mark.parametrize(("think_ms", "told_ms"), [(170, None), (220, 170), (270, 220)])
def test_what_a_server_thinks_behind_tickets_and_settings_is_told_without_what_nagle_adds(
    think_ms: int, told_ms: int | None
) -> None:
    """The settings wait until the tickets are acknowledged, and the answer until the settings are: two round trips."""
    page = Server(head_bytes=600, body_bytes=400, tickets_bytes=240, settings_bytes=66, think_us=(1_000 * think_ms,))
    path = Path(rtt_ms=150, nagle=True)
    trials = [connection(path, page, kind) for kind in (*[Trial.FULL] * 3, *[Trial.HTTP2] * 3)]
    thought = found(answers.RULES, probe(trials, page)).get(FindingId.HTTP_THINK_TIME)
    saving_us = thought and thought.saving_us
    assert saving_us == (told_ms and pytest.approx(1_000 * told_ms, rel=0.01))
