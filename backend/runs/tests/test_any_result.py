"""Any result that the contract allows is read as the contract reads it; anything else is told of as a WireError."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from backend import runs
from backend.runs import reading
from backend.runs.ingest import MAX_LINE_BYTES
from backend.runs.reading import read_result
from backend.runs.store import content_of
from backend.runs.tests.results import EVIDENCE
from workers.measurement import examples
from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection
from workers.measurement.evidence import Depth
from workers.measurement.failure import Failure
from workers.measurement.finding import Diagnosis, Finding, NotJudged
from workers.measurement.messages import (
    Failed,
    Hop,
    Kind,
    Measured,
    Missed,
    PageMeasurement,
    PairMeasurement,
    ProbeMeasurement,
    RunResult,
)
from workers.measurement.pair import CacheReport, LegExchange
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, Waterfall
from workers.measurement.wire import WireError, decode, encode

ZONES = st.just(UTC) | st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(timezones=ZONES)


def _made(sent: type, read: type[Struct], **given: Any) -> st.SearchStrategy[Any]:
    """Anything of a class of the contract; what is read of it is always there."""
    return st.builds(sent, **(dict.fromkeys(read.__struct_fields__, ...) | given))


def _few(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


SPANS = st.tuples(st.integers(), st.integers()).map(lambda ends: Span(start_us=min(ends), end_us=max(ends)))
PHASES = dict.fromkeys(("dns", "connect", "tls"), st.none() | SPANS)
LATER = dict.fromkeys(("send", "wait", "download"), st.none() | SPANS)
TIMINGS = st.integers().flatmap(
    lambda start: st.builds(
        Timing, start_us=st.just(start), end_us=st.none() | st.integers(min_value=start), **PHASES, **LATER
    )
)
CERTIFICATES = _made(Certificate, reading.CertificateRead, not_before=INSTANTS, not_after=INSTANTS)
CONNECTIONS = _few(_made(Connection, reading.ConnectionRead, **PHASES, certificate=st.none() | CERTIFICATES))
DIAGNOSES = st.none() | _made(
    Diagnosis,
    reading.DiagnosisRead,
    findings=_few(_made(Finding, reading.FindingRead)),
    not_judged=_few(_made(NotJudged, reading.NotJudgedRead)),
)
EVIDENCES = st.builds(
    replace, st.just(EVIDENCE), depth=st.sampled_from(Depth), profile_verified=st.none() | st.booleans()
)
PROBES = _made(
    ProbeMeasurement,
    reading.ProbeRead,
    hops=_few(_made(Hop, reading.HopRead, timing=TIMINGS)),
    connections=CONNECTIONS,
    evidence=st.none() | EVIDENCES,
    diagnosis=DIAGNOSES,
)
REQUESTS = _made(Request, reading.DocumentRead, resource_type=st.sampled_from(ResourceType), timing=TIMINGS)
PAGES = _made(
    PageMeasurement,
    reading.PageRead,
    waterfall=_made(Waterfall, reading.WaterfallRead, requests=_few(REQUESTS), connections=CONNECTIONS),
    vitals=_made(Vitals, reading.VitalsRead),
    diagnosis=DIAGNOSES,
)
LEGS = _made(LegExchange, reading.LegRead, timing=TIMINGS, cache=_made(CacheReport, reading.CacheRead))
PAIRS = _made(PairMeasurement, reading.PairRead, exchanges=_few(LEGS), connections=CONNECTIONS)
FAILURES = _made(Failure, reading.FailureRead)


def _outcomes(seen: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Measured, measurement=seen),
        st.builds(Failed, failure=FAILURES, measurement=st.none() | seen),
        st.builds(Missed),
    )


def _results(kind: Kind, seen: st.SearchStrategy[Any]) -> st.SearchStrategy[RunResult]:
    given = {"scheduled_for": INSTANTS, "started_at": INSTANTS, "outcome": _outcomes(seen)}
    return _made(RunResult, reading.ResultRead, kind=st.just(kind), **given)


RESULTS = _results(Kind.PROBE, PROBES) | _results(Kind.PAGE, PAGES) | _results(Kind.PAIR, PAIRS)


def _agree(read: Any, sent: Any) -> None:
    """Each value that is read is that of the contract, and of its type."""
    if isinstance(read, Struct):
        tag = read.__struct_config__.tag
        assert tag is None or tag in {getattr(sent, field.name) for field in fields(sent)}
        for name in read.__struct_fields__:
            _agree(getattr(read, name), getattr(sent, name))
    elif isinstance(read, Sequence) and not isinstance(read, str):
        assert len(read) == len(sent)
        for mine, its in zip(read, sent, strict=True):
            _agree(mine, its)
    else:
        assert read == sent
        # A word that is not looked up is any text.
        assert isinstance(sent, type(read))


@given(RESULTS)
def test_any_result_is_read_as_the_contract_reads_it(result: RunResult) -> None:
    line = encode(result)
    _agree(read_result(line), decode(line, RunResult))


OLDER = [
    line
    for name in ("dictionary_1.json", "dictionary_2.json", "dictionary_3.jsonl")
    for line in (Path(runs.__file__).parent / name).read_bytes().splitlines()
]
GOLDEN = [path.read_bytes() for path in sorted(Path(examples.__file__).parent.glob("run_result.*.json"))]


@pytest.mark.parametrize("line", [*OLDER, *GOLDEN], ids=lambda line: f"{len(line)} bytes")
def test_results_of_older_agents_are_read_as_the_contract_reads_them(line: bytes) -> None:
    _agree(read_result(line), decode(line, RunResult))


LEAVES = st.none() | st.booleans() | st.floats() | st.text() | st.integers()
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


def _read_or_tell(line: bytes) -> None:
    """As ingest does: any other exception ends the test."""
    with suppress(WireError):
        result = read_result(line)
        # What is no address.
        with suppress(ValueError):
            content_of(result, line)


@given(st.binary())
def test_any_bytes_are_told_of(line: bytes) -> None:
    with pytest.raises(WireError):
        read_result(line)


@given(JSON)
def test_any_json_is_told_of(value: Any) -> None:
    with pytest.raises(WireError):
        read_result(json.dumps(value).encode())
    with pytest.raises(WireError):
        read_result(json.dumps({"kind": "run_result", "version": 1, "body": value}).encode())


@given(st.sampled_from(GOLDEN), st.data())
def test_a_result_with_any_value_in_any_place_is_read_or_told_of(line: bytes, data: st.DataObject) -> None:
    whole = json.loads(line)
    place, key = whole, "body"
    while isinstance(place[key], dict | list) and place[key] and (key == "body" or data.draw(st.integers(0, 9))):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(JSON)
    _read_or_tell(json.dumps(whole, ensure_ascii=data.draw(st.booleans())).encode())


@given(st.sampled_from(GOLDEN), st.data())
def test_a_result_with_other_bytes_in_any_place_is_read_or_told_of(line: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    end = start + data.draw(st.integers(0, 3))
    _read_or_tell(line[:start] + data.draw(st.binary(max_size=3)) + line[end:])


PROBE = (Path(examples.__file__).parent / "run_result.measured_probe.json").read_text()


def _altered(**changes: Any) -> bytes:
    """The golden probe with other values in its body."""
    whole = json.loads(PROBE)
    return json.dumps(whole | {"body": whole["body"] | changes}).encode()


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (_altered(duration_us="5"), "body.duration_us"),
        (_altered(duration_us=True), "body.duration_us"),
        (_altered(duration_us=1.5), "body.duration_us"),
        (_altered(duration_us=None), "body.duration_us"),
        (_altered(duration_us=0).replace(b'"duration_us": 0', b'"duration_us": ' + b"9" * 5_000), "body.duration_us"),
        (_altered(duration_us=float("nan")), "byte"),
        (_altered(duration_us=float("inf")), "byte"),
        (_altered(later=float("nan")), "byte"),
        (_altered(agent="\ud800"), "byte"),
        (_altered(later="\ud800 later"), "byte"),
        (_altered(agent="?").replace(b"?", b"\xff"), "position"),
        (_altered(later="?").replace(b"?", b"\xff"), "position"),
        (_altered(later="?").replace(b"?", b"\xed\xa0\x80"), "position"),
        (_altered(started_at="2026-11-21T12:00:00"), "body.started_at"),
        (_altered(started_at=1_800_000_000), "body.started_at"),
        (_altered(kind="x" * 10_000), "body.kind"),
        (_altered(kind="page"), "measurement of a probe"),
        (_altered(outcome={"outcome": "x" * 10_000}), "body.outcome.outcome"),
        (_altered(outcome={"outcome": "measured", "measurement": {"kind": "dream"}}), "body.outcome.measurement.kind"),
        (_altered(later=0).replace(b'"later": 0', b'"later": ' + DEEP), "recursion"),
        (_altered(outcome=0).replace(b'"outcome": 0', b'"outcome": ' + DEEP), "body.outcome"),
        (PROBE.replace('"version": 1', '"version": 2').encode(), "version"),
        (PROBE.replace('"version": 1', '"version": true').encode(), "version"),
        (PROBE.replace('"run_result"', '"progress"', 1).encode(), "kind"),
        (PROBE.encode() + b"{}", "byte"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_told_with_its_place_and_in_few_words(line: bytes, told: str) -> None:
    with pytest.raises(WireError, match=told) as caught:
        read_result(line)
    assert len(str(caught.value)) < 500
    assert len(line) < MAX_LINE_BYTES


def test_of_a_field_that_comes_twice_the_last_one_counts() -> None:
    line = _altered(attempt=7).replace(b'"attempt": 7', b'"attempt": 7, "attempt": 8')
    assert read_result(line).attempt == decode(line, RunResult).attempt == 8
    with pytest.raises(WireError, match=r"body\.attempt"):
        read_result(line.replace(b'"attempt": 8', b'"attempt": "8"'))


def test_what_a_newer_agent_tells_besides_is_ignored() -> None:
    assert read_result(_altered(later={"colour": ["blue", 1e300]})) == read_result(PROBE.encode())
