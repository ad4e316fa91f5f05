from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.runs import reading
from backend.runs.reading import read_result
from backend.runs.rows import CONNECTION_COLUMNS, RUN_COLUMNS, Arrival, Slot, run_values
from backend.runs.store import content_of
from backend.runs.tests.results import EVIDENCE, FAILED, OVERFLOW, diagnosed, page, probe
from backend.runs.tests.results import pair as pair_of_legs
from workers.measurement import (
    certificate,
    connection,
    evidence,
    failure,
    finding,
    messages,
    pair,
    timing,
    vitals,
    waterfall,
)
from workers.measurement.evidence import Depth
from workers.measurement.messages import (
    Hop,
    Kind,
    Measured,
    Missed,
    MissedReason,
    PageMeasurement,
    PairMeasurement,
    ProbeMeasurement,
    RunResult,
)
from workers.measurement.timing import Span, Timing, document_phases, phases_of
from workers.measurement.wire import WireError, encode

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SLOT = Slot(UUID(int=1), NOW, 1, 1, 1, "probe", "schedule", None)
RESULT = RunResult(
    run_id=UUID(int=1),
    monitor_id=UUID(int=2),
    kind=Kind.PROBE,
    region="eu",
    scheduled_for=NOW,
    attempt=1,
    config_version=1,
    agent="agent-1",
    agent_version="1",
    started_at=NOW,
    duration_us=120_000,
    outcome=probe(),
)
PAIRS = [
    (reading.SpanRead, timing.Span),
    (reading.TimingRead, timing.Timing),
    (reading.CertificateRead, certificate.Certificate),
    (reading.ConnectionRead, connection.Connection),
    (reading.HopRead, messages.Hop),
    (reading.EvidenceRead, evidence.ProbeEvidence),
    (reading.FindingRead, finding.Finding),
    (reading.NotJudgedRead, finding.NotJudged),
    (reading.DiagnosisRead, finding.Diagnosis),
    (reading.ProbeRead, messages.ProbeMeasurement),
    (reading.DocumentRead, waterfall.Request),
    (reading.ResourceRead, waterfall.Request),
    (reading.WaterfallRead, waterfall.Waterfall),
    (reading.VitalsRead, vitals.Vitals),
    (reading.PageRead, messages.PageMeasurement),
    (reading.HeaderRead, connection.Header),
    (reading.CacheRead, pair.CacheReport),
    (reading.LegRead, pair.LegExchange),
    (reading.PairRead, messages.PairMeasurement),
    (reading.MeasuredRead, messages.Measured),
    (reading.FailureRead, failure.Failure),
    (reading.FailedRead, messages.Failed),
    (reading.MissedRead, messages.Missed),
    (reading.ResultRead, messages.RunResult),
]


@pytest.mark.parametrize(("read", "sent"), PAIRS, ids=lambda pair: pair.__name__)
def test_what_is_read_has_the_names_and_the_duties_of_what_is_sent(read: Any, sent: Any) -> None:
    assert is_dataclass(sent)
    known = {field.name: field for field in fields(sent)}
    assert set(read.__annotations__) <= set(known)
    may_be_absent = {
        name for name, field in known.items() if field.default is not MISSING or field.default_factory is not MISSING
    }
    optional = set(read.__annotations__) - read.__required_keys__
    assert optional <= may_be_absent, "what must be sent must be read"


def _row(line: bytes) -> dict[str, Any]:
    """The row of a result, by the names of the columns."""
    values = (*SLOT, *Arrival(received_at=NOW), *run_values(read_result(line)))
    return dict(zip(RUN_COLUMNS.split(", "), values, strict=True))


def test_every_type_of_resource_is_read() -> None:
    known = get_args(reading.ResourceRead.__annotations__["resource_type"])
    assert {waterfall.ResourceType.DOCUMENT, *known} == set(waterfall.ResourceType)


SPANS = st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(lambda p: Span(start_us=min(p), end_us=max(p)))
TIMINGS = st.builds(
    Timing,
    start_us=st.just(0),
    end_us=st.none() | st.integers(0, 10**9),
    **dict.fromkeys(timing.PHASES, st.none() | SPANS),
)


@given(TIMINGS)
def test_the_phases_in_a_row_are_those_of_the_contract(told: Timing) -> None:
    hop = Hop(url="https://shop.example/", connection=1, timing=told)
    row = _row(encode(replace(RESULT, outcome=Measured(measurement=ProbeMeasurement(hops=(hop,))))))
    expected = phases_of(told)
    assert {name: row[name] for name in expected.__slots__} == {
        name: getattr(expected, name) for name in expected.__slots__
    }


@given(TIMINGS)
def test_a_pages_document_counts_from_navigation_start(told: Timing) -> None:
    """Three redirects took a millisecond."""
    whole = page(requests=1).measurement
    assert isinstance(whole, PageMeasurement)
    later = Span(start_us=1000, end_us=2000)
    told = replace(told, start_us=1000, end_us=5000, wait=told.wait and later)
    rows = (replace(whole.waterfall.requests[0], timing=told),)
    line = encode(
        replace(
            RESULT,
            kind=Kind.PAGE,
            outcome=Measured(measurement=replace(whole, waterfall=replace(whole.waterfall, requests=rows), document=1)),
        )
    )
    row, expected = _row(line), document_phases(told)
    assert expected.ttfb_us in (None, 2000)
    assert {name: row[name] for name in expected.__slots__} == {
        name: getattr(expected, name) for name in expected.__slots__
    }


@pytest.mark.parametrize("outcome", [probe(), page(), FAILED, Missed(reason=MissedReason.LATE)], ids=str)
def test_a_row_has_a_value_for_each_column_whatever_the_outcome(outcome: Any) -> None:
    kind = Kind.PAGE if outcome == page() else Kind.PROBE
    assert _row(encode(replace(RESULT, kind=kind, outcome=outcome)))["outcome"] == outcome.outcome


def test_the_document_of_a_page_must_be_readable_other_requests_are_only_counted() -> None:
    line = encode(replace(RESULT, kind=Kind.PAGE, outcome=page()))
    timing = b'"timing":{"start_us":0'
    head, first, others = line.partition(timing)
    with pytest.raises(WireError, match="document"):
        read_result(head + b'"timing":{"start_us":"x"' + others)
    assert read_result(head + first + others.replace(timing, b'"timing":{"start_us":"x"'))


def test_a_probe_that_says_it_is_a_page_cannot_be_read() -> None:
    with pytest.raises(WireError, match="measurement of a page"):
        read_result(encode(replace(RESULT, outcome=page())))


def test_a_span_that_ends_before_it_starts_was_not_measured() -> None:
    line = encode(RESULT).replace(b'"tls":{"start_us":28000', b'"tls":{"start_us":99000')
    assert _row(line)["tls_us"] is None


def test_a_run_whose_profile_was_not_kept_has_no_times_in_its_row() -> None:
    evidence = replace(EVIDENCE, depth=Depth.DEEP, profile_verified=False)
    seen = diagnosed(OVERFLOW).measurement
    loaded, both = page(requests=2).measurement, pair_of_legs().measurement
    assert isinstance(seen, ProbeMeasurement)
    assert isinstance(loaded, PageMeasurement)
    assert isinstance(both, PairMeasurement)
    told_so = (replace(loaded, profile_verified=False), replace(both, profile_verified=False))
    for measurement in (replace(seen, evidence=evidence), *told_so):
        line = encode(replace(RESULT, kind=Kind(measurement.kind), outcome=Measured(measurement=measurement)))
        row, content = _row(line), content_of(read_result(line), line)
        assert (row["outcome"], row["profile_verified"], row["status_code"], row["depth"]) == (
            "measured",
            False,
            200,
            None,
        )
        assert row["connections"]
        assert not [name for name, value in row.items() if value and name.endswith("_us") and name != "duration_us"]
        assert (content.findings, content.legs) == ([], [])
        names = CONNECTION_COLUMNS.split(", ")[4:]
        times = [dict(zip(names, one, strict=True)) for one in content.connections]
        assert {one[name] for one in times for name in names if name.endswith("_us")} == {None}
    kept = replace(seen, evidence=replace(evidence, profile_verified=True))
    row = _row(encode(replace(RESULT, outcome=Measured(measurement=kept))))
    assert (row["profile_verified"], row["depth"], row["ttfb_us"]) == (True, "deep", _row(encode(RESULT))["ttfb_us"])
