"""The order in which to mend: what makes visitors fail, then what saves most; one cause, one finding."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.order import findings_in_order, open_questions
from workers.measurement.finding import (
    Cause,
    Confidence,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
    Together,
)


def found(
    id: FindingId, severity: Severity = Severity.HIGH, saving_us: int | None = 80_000, host: str | None = None
) -> Finding:
    return Finding(id=id, severity=severity, confidence=Confidence.HIGH, saving_us=saving_us, host=host)


def ids(*findings: Finding) -> list[FindingId]:
    return [one.id for one in findings_in_order(findings)]


def test_failures_come_first_then_savings_then_remarks() -> None:
    expired = found(FindingId.TLS_CERT_EXPIRED, Severity.CRITICAL, None)
    retry = found(FindingId.TLS_HELLO_RETRY, saving_us=80_000)
    think = found(FindingId.HTTP_THINK_TIME, Severity.MEDIUM, 250_000)
    zero = found(FindingId.TLS_ZERO_RTT, Severity.INFO, 380_000)
    assert ids(zero, retry, think, expired) == [expired.id, think.id, retry.id, zero.id]


def test_what_is_of_low_weight_is_never_first_by_a_microsecond() -> None:
    record = found(FindingId.TLS_RECORD_OVERFLOW, Severity.HIGH, 80_000)
    rest = found(FindingId.TCP_IDLE_RESTART, Severity.LOW, 80_001)
    compression = found(FindingId.TLS_CERT_COMPRESSION, Severity.MEDIUM, None)
    assert ids(rest, compression, record) == [record.id, compression.id, rest.id]


def test_what_costs_no_time_weighs_by_its_severity() -> None:
    no_tls = found(FindingId.HTTP_NO_TLS, Severity.HIGH, None)
    small = found(FindingId.HTTP_THINK_TIME, Severity.MEDIUM, 150_000)
    large = found(FindingId.TLS_HELLO_RETRY, Severity.HIGH, 380_000)
    assert ids(small, no_tls, large) == [large.id, no_tls.id, small.id]


def test_what_several_save_together_weighs_an_equal_part_for_each() -> None:
    ours, theirs = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING
    both = [
        replace(found(id, saving_us=None), together=Together(saving_us=500_000, others=(Cause(id=other),)))
        for id, other in ((ours, theirs), (theirs, ours))
    ]
    more = found(FindingId.HTTP_REDIRECT_COST, saving_us=251_000)
    less = found(FindingId.PAGE_UNCOMPRESSED, saving_us=249_000)
    assert ids(less, *both, more) == [more.id, ours, theirs, less.id]


def test_records_are_mended_before_the_chain_that_hides_them() -> None:
    chain = found(FindingId.TLS_CHAIN_EXCEEDS_IW, saving_us=90_000)
    record = found(FindingId.TLS_RECORD_OVERFLOW, saving_us=80_000)
    between = found(FindingId.TLS_HELLO_RETRY, saving_us=85_000)
    first = found(FindingId.HTTP_THINK_TIME, saving_us=900_000)
    assert ids(chain, between, record, first) == [first.id, record.id, chain.id, between.id]
    assert ids(chain, between) == [chain.id, between.id]


def test_nothing_is_hidden_by_what_nobody_speaks_of() -> None:
    record, window = FindingId.TLS_RECORD_OVERFLOW, FindingId.TCP_IW_SMALL
    behind = NotJudged(id=record, reason=NotJudgedReason.HIDDEN, hidden_by=window)
    (alone,) = open_questions([behind], ())
    assert alone == NotJudged(id=record, reason=NotJudgedReason.UNSTEADY)
    assert open_questions([behind], (found(window),)) == (behind,)
    assert behind in open_questions([behind, NotJudged(id=window, reason=NotJudgedReason.LOSS)], ())


def test_a_chain_that_overflows_the_window_is_not_also_called_large() -> None:
    large = found(FindingId.TLS_CHAIN_LARGE, Severity.INFO, None)
    assert ids(large, found(FindingId.TLS_CHAIN_EXCEEDS_IW)) == [FindingId.TLS_CHAIN_EXCEEDS_IW]
    assert ids(large) == [FindingId.TLS_CHAIN_LARGE]


def test_one_cause_of_one_host_is_told_once() -> None:
    twice = found(FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX, host="a.example")
    other = found(FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX, host="b.example")
    assert len(findings_in_order([twice, twice, other])) == 2


def test_what_was_found_is_not_also_left_open() -> None:
    chain = found(FindingId.TLS_CHAIN_EXCEEDS_IW)
    said = [
        NotJudged(id=FindingId.TLS_CHAIN_EXCEEDS_IW, reason=NotJudgedReason.LOSS),
        NotJudged(id=FindingId.TCP_IW_SMALL, reason=NotJudgedReason.LOSS),
        NotJudged(id=FindingId.TCP_IW_SMALL, reason=NotJudgedReason.RTT_SHORT),
    ]
    assert open_questions(said, (chain,)) == (said[1],)


def test_an_overflow_that_could_not_be_judged_below_a_long_chain_is_hidden_by_it() -> None:
    chain = found(FindingId.TLS_CHAIN_EXCEEDS_IW)
    said = [NotJudged(id=FindingId.TLS_RECORD_OVERFLOW, reason=NotJudgedReason.RESPONSE_SMALL)]
    (hidden,) = open_questions(said, (chain,))
    assert (hidden.reason, hidden.hidden_by) == (NotJudgedReason.HIDDEN, FindingId.TLS_CHAIN_EXCEEDS_IW)
    assert open_questions(said, ()) == tuple(said)


_FINDINGS = st.builds(
    found,
    st.sampled_from(FindingId),
    st.sampled_from(Severity),
    st.none() | st.integers(0, 10_000_000),
    st.none() | st.sampled_from(["a.example", "b.example"]),
)


@given(st.lists(_FINDINGS, max_size=20, unique_by=lambda one: (one.id, one.host)), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_who_spoke_first(findings: list[Finding], random: Random) -> None:
    ordered = findings_in_order(findings)
    random.shuffle(findings)
    assert findings_in_order(findings) == ordered
