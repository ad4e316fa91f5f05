"""How often a cause has to be seen, and what is said where it was not: all that connections can show, put together."""

from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.case import Case
from workers.diagnosis.probe.weighing import LEAST_SEEN, Sure, is_late, is_short, weigh
from workers.measurement.evidence import Depth, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.finding import Confidence, FindingId, NotJudged, NotJudgedReason

ID = FindingId.HTTP_REDIRECT_COST
RTT_US = 20_000


class Shows(NamedTuple):
    """What one connection is like: whether the cause is seen in it, and what may be wrong with it."""

    cause: bool = False
    lost: bool = False
    blind: bool = False
    late: bool = False


def told(
    shows: list[Shows], *, depth: Depth = Depth.DEEP, unsure: bool = False, rtt_us: int = RTT_US
) -> Sure[int] | NotJudged | None:
    trials = [
        TrialEvidence(
            trial=Trial.FULL,
            started_us=number,
            syn_rtt_us=rtt_us,
            kernel_clock=not one.late,
            scheduling_lag_us=rtt_us if one.late else 0,
        )
        for number, one in enumerate(shows)
    ]
    evidence = ProbeEvidence(
        depth=depth, host="example.org", port=443, secure=True, measured_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return weigh(
        Case(evidence=evidence),
        ID,
        trials,
        lambda trial: trial.started_us if shows[trial.started_us].cause else None,
        spoilt=lambda trial: shows[trial.started_us].lost,
        blind=lambda trial: shows[trial.started_us].blind,
        unsure=(lambda trial: True) if unsure else None,
    )


def reason(result: Sure[int] | NotJudged | None) -> NotJudgedReason | None:
    return result.reason if isinstance(result, NotJudged) else None


@given(st.lists(st.builds(Shows, st.booleans(), st.booleans(), st.booleans(), st.booleans()), max_size=9))
def test_a_cause_is_sure_where_each_that_can_show_it_does_and_three_do(shows: list[Shows]) -> None:
    telling = [one for one in shows if not one.late and not one.lost]
    seen = sum(one.cause for one in telling)
    unseen = sum(not one.cause and not one.blind for one in telling)
    result = told(shows)
    assert isinstance(result, Sure) is (seen >= LEAST_SEEN and not unseen)
    if isinstance(result, Sure):
        assert len(result.seen) == len(result.trials) == seen
        assert result.facts()[-1].value == f"{seen} of {seen}"
    if unseen and not any(one.cause for one in shows):
        assert result is None


SEEN, NOT, LATE = Shows(cause=True), Shows(), Shows(cause=True, late=True)
LOST, LOST_WITHOUT, BLIND = Shows(cause=True, lost=True), Shows(lost=True), Shows(blind=True)


@pytest.mark.parametrize(
    ("shows", "why"),
    [
        ([SEEN] * 2, NotJudgedReason.NOT_REPEATED),
        ([SEEN] * 3 + [NOT], NotJudgedReason.NOT_REPEATED),
        ([LATE] * 5, NotJudgedReason.LATE_CLOCK),
        ([BLIND] * 5, NotJudgedReason.LATE_CLOCK),
        ([LOST_WITHOUT] * 5, NotJudgedReason.LOSS),
        # Seen where packets were lost, which may have made it.
        ([SEEN] * 2 + [LOST], NotJudgedReason.LOSS),
        ([NOT] * 3 + [LOST], NotJudgedReason.LOSS),
        ([NOT] * 3 + [LOST_WITHOUT, LATE], None),
        ([], None),
    ],
)
def test_where_it_is_not_sure_it_is_said_why(shows: list[Shows], why: NotJudgedReason | None) -> None:
    assert reason(told(shows)) is why
    assert not isinstance(told(shows), Sure)


def test_a_light_probe_that_saw_it_too_seldom_asks_for_a_deep_one() -> None:
    assert reason(told([SEEN] * 2, depth=Depth.LIGHT)) is NotJudgedReason.NEEDS_DEEP_PROBE


def test_what_may_be_the_cause_although_it_is_not_seen_is_left_open() -> None:
    assert reason(told([NOT] * 3, unsure=True)) is NotJudgedReason.UNSTEADY
    assert reason(told([NOT, NOT, SEEN], unsure=True)) is NotJudgedReason.NOT_REPEATED


@pytest.mark.parametrize(("rtt_us", "is_told"), [(7_999, False), (8_000, True)])
def test_round_trips_are_counted_from_eight_milliseconds_on(rtt_us: int, is_told: bool) -> None:
    result = told([SEEN] * 3, rtt_us=rtt_us)
    assert isinstance(result, Sure) is is_told
    assert (reason(result) is NotJudgedReason.RTT_SHORT) is not is_told


@pytest.mark.parametrize(("rtt_us", "confidence"), [(19_999, Confidence.MEDIUM), (20_000, Confidence.HIGH)])
def test_from_twenty_milliseconds_on_a_cause_stands_out_clearly(rtt_us: int, confidence: Confidence) -> None:
    result = told([SEEN] * 3, rtt_us=rtt_us)
    assert isinstance(result, Sure)
    assert (result.confidence, result.rtt_us) == (confidence, rtt_us)


def test_the_nearest_of_all_connections_says_whether_the_way_is_short_and_an_unknown_one_is() -> None:
    def one(trip_us: int | None, lag_us: int = 0) -> TrialEvidence:
        return TrialEvidence(
            trial=Trial.FULL, started_us=0, syn_rtt_us=trip_us, kernel_clock=False, scheduling_lag_us=lag_us
        )

    assert is_short([one(90_000), one(5_000)])
    assert not is_short([one(90_000), one(None)])
    assert is_short([one(None)])
    # A twentieth of the round trip.
    assert (is_late(one(100_000, 5_000)), is_late(one(100_000, 5_001))) == (False, True)
