from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import NODEFAULT, Struct

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
from workers.measurement.timing import Span, Timing, answer_phases, document_phases, phases_of
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
    (reading.UserTimingRead, vitals.UserTiming),
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


# A request is read in one of two ways. Words are not looked up in findings: see FindingRead; nor those of timings.
READ_AS: dict[Any, Any] = {
    **{sent: read for read, sent in PAIRS},
    waterfall.Request: reading.RequestRead,
    datetime: reading.Instant,
    vitals.TimingKind: str,
    **dict.fromkeys((finding.FindingId, finding.Severity, finding.Confidence, finding.NotJudgedReason), str),
}


def _as_read(sent: Any) -> Any:
    """The type that a type of the contract is read as."""
    if isinstance(sent, UnionType) or get_origin(sent) is Union:
        return reduce(or_, map(_as_read, get_args(sent)))
    if get_origin(sent) is tuple:
        return GenericAlias(tuple, tuple(map(_as_read, get_args(sent))))
    return READ_AS.get(sent, sent)


@pytest.mark.parametrize(("read", "sent"), PAIRS, ids=lambda pair: pair.__name__)
def test_what_is_read_has_the_names_types_and_duties_of_what_is_sent(read: type[Struct], sent: type) -> None:
    assert is_dataclass(sent)
    known = {field.name: field for field in fields(sent)}
    read_types, sent_types = get_type_hints(read, include_extras=True), get_type_hints(sent)
    for field in msgspec.structs.fields(read):
        its = known[field.name]
        assert read_types[field.name] == _as_read(sent_types[field.name])
        assert field.required == (its.default is MISSING and its.default_factory is MISSING)
        if field.default_factory is not NODEFAULT:
            assert its.default == sent_types[field.name]()
            assert field.default_factory is read_types[field.name]
        elif not field.required:
            assert field.default == its.default
    config = read.__struct_config__
    if config.tag_field and read is not reading.ResourceRead:
        words = sent_types[config.tag_field]
        assert config.tag in (get_args(words) or tuple(words))


def _row(line: bytes) -> dict[str, Any]:
    """The row of a result, by the names of the columns."""
    values = (*SLOT, *Arrival(received_at=NOW), *run_values(read_result(line)))
    return dict(zip(RUN_COLUMNS.split(", "), values, strict=True))


def test_every_type_of_resource_is_read() -> None:
    assert {read.__struct_config__.tag for read in get_args(reading.RequestRead)} == set(waterfall.ResourceType)


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
def test_what_redirects_take_is_in_a_probes_first_byte(told: Timing) -> None:
    first = Timing(start_us=0, end_us=1000)
    later = replace(told, start_us=1000, end_us=5000, wait=told.wait and Span(start_us=1000, end_us=2000))
    hops = tuple(Hop(url="https://shop.example/", connection=1, timing=timing) for timing in (first, later))
    row = _row(encode(replace(RESULT, outcome=Measured(measurement=ProbeMeasurement(hops=hops)))))
    expected = answer_phases([first, later])
    assert expected.ttfb_us in (None, 2000)
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
    with pytest.raises(WireError, match=r"waterfall\.requests\[0\]\.timing\.start_us"):
        read_result(head + b'"timing":{"start_us":"x"' + others)
    assert read_result(head + first + others.replace(timing, b'"timing":{"start_us":"x"')) == read_result(line)


def test_a_probe_that_says_it_is_a_page_cannot_be_read() -> None:
    with pytest.raises(WireError, match="measurement of a page"):
        read_result(encode(replace(RESULT, outcome=page())))


def test_a_span_that_ends_before_it_starts_was_not_measured() -> None:
    line = encode(RESULT).replace(b'"tls":{"start_us":28000', b'"tls":{"start_us":99000')
    assert _row(line)["tls_us"] is None


@pytest.mark.parametrize(("contention_us", "contended"), [(None, None), (0, False), (5_000_000, True)])
def test_a_page_load_says_whether_its_machine_was_busy_with_other_work(
    contention_us: int | None, *, contended: bool | None
) -> None:
    loaded = page().measurement
    assert isinstance(loaded, PageMeasurement)
    told = replace(loaded, vitals=replace(loaded.vitals, contention_us=contention_us))
    row = _row(encode(replace(RESULT, kind=Kind.PAGE, outcome=Measured(measurement=told))))
    assert (row["contended"], row["load_us"]) == (contended, loaded.vitals.load_us)


@pytest.mark.parametrize(("late_us", "contended"), [(None, None), (140, False), (5_000_000, True)])
def test_a_probe_says_whether_it_looked_at_its_answer_too_late(late_us: int | None, *, contended: bool | None) -> None:
    measured = probe().measurement
    assert isinstance(measured, ProbeMeasurement)
    told = replace(measured, contention_us=late_us)
    row = _row(encode(replace(RESULT, outcome=Measured(measurement=told))))
    assert row["contended"] is contended


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
