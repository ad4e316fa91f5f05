"""The wire, both ways, and what it refuses."""

import json
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement import examples, wire
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import (
    Failed,
    Heartbeat,
    HeartbeatReply,
    Kind,
    Measured,
    Missed,
    MissedReason,
    ProbeMeasurement,
    Progress,
    ProgressStage,
    Receipts,
    ReceiptStatus,
    RunRequest,
    RunResult,
)
from workers.measurement.pair import PairTarget
from workers.measurement.profile import Profile
from workers.measurement.timing import Phases
from workers.measurement.waterfall import Waterfall
from workers.tests.builders import EXAMPLES, SLOT, build_page, build_pair, build_probe, build_request, build_result
from workers.tests.write_examples import pretty

DIRECTORY = Path(examples.__file__).parent
INSTANTS = st.datetimes(SLOT.replace(year=2000, tzinfo=None), timezones=st.just(UTC))
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
COUNTS = st.integers(min_value=0, max_value=2**53)

REQUESTS = st.builds(
    RunRequest,
    run_id=st.uuids(),
    monitor_id=st.uuids(),
    kind=st.sampled_from(Kind),
    url=TEXT,
    region=TEXT,
    scheduled_for=INSTANTS,
    attempt=COUNTS,
    expires_at=INSTANTS,
    timeout_us=COUNTS,
    urgent=st.booleans(),
    profile=st.builds(Profile, name=TEXT, down_kbit_s=st.none() | COUNTS),
    accepted_status=st.lists(COUNTS, max_size=3).map(tuple),
    body_text=st.none() | TEXT,
    other=st.none() | st.builds(PairTarget, url=TEXT, address=st.none() | TEXT),
)
OUTCOMES = st.one_of(
    st.builds(Missed, reason=st.sampled_from(MissedReason)),
    st.builds(Measured, measurement=st.sampled_from([build_probe(), build_page(), build_pair(), ProbeMeasurement()])),
    st.builds(
        Failed,
        failure=st.builds(failure, st.sampled_from(FailureKind), st.none() | TEXT),
        measurement=st.none() | st.just(build_probe()),
    ),
)
RESULTS = st.builds(
    RunResult,
    run_id=st.uuids(),
    monitor_id=st.uuids(),
    kind=st.sampled_from(Kind),
    region=TEXT,
    scheduled_for=INSTANTS,
    attempt=COUNTS,
    config_version=COUNTS,
    agent=TEXT,
    agent_version=TEXT,
    started_at=INSTANTS,
    duration_us=COUNTS,
    outcome=OUTCOMES,
)
OTHERS = st.one_of(
    st.builds(
        Progress,
        run_id=st.uuids(),
        stage=st.sampled_from(ProgressStage),
        requests=st.none() | COUNTS,
        phases=st.none() | st.builds(Phases, dns_us=st.none() | COUNTS, ttfb_us=COUNTS, total_us=st.none() | COUNTS),
        tls_round_trips=st.none() | COUNTS,
        rtt_us=st.none() | COUNTS,
        connections=st.none() | COUNTS,
        planned=st.none() | COUNTS,
    ),
    st.builds(Heartbeat, agent=TEXT, agent_version=TEXT, sent_at=INSTANTS, holding=st.lists(st.uuids()).map(tuple)),
    st.builds(HeartbeatReply, received_at=INSTANTS, lost=st.lists(st.uuids()).map(tuple)),
    st.builds(Receipts, statuses=st.lists(st.sampled_from(ReceiptStatus)).map(tuple)),
    st.builds(Waterfall, requests=st.just(build_page().waterfall.requests), connections=st.just(())),
)


@given(REQUESTS | RESULTS | OTHERS)
def test_every_message_comes_out_as_it_went_in(message: wire.Message) -> None:
    line = wire.encode(message)
    assert b"\n" not in line
    assert wire.decode(line, type(message)) == message


@given(st.binary(max_size=200))
def test_rubbish_is_refused_and_never_crashes(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(data, RunRequest)


LEAVES = st.none() | st.booleans() | st.floats() | TEXT | COUNTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner))


@given(st.fixed_dictionaries({"kind": st.just("run_result") | JSON, "version": st.just(1) | JSON, "body": JSON}))
def test_an_envelope_around_rubbish_is_refused(envelope: dict[str, Any]) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(json.dumps(envelope).encode(), RunResult)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_golden_message_is_what_we_send_and_can_read(name: str) -> None:
    text = (DIRECTORY / f"{name}.json").read_text()
    assert text == pretty(name)
    assert wire.decode(text.encode(), type(EXAMPLES[name])) == EXAMPLES[name]


def test_there_is_a_golden_message_for_every_kind_and_outcome() -> None:
    files = {path.stem for path in DIRECTORY.glob("*.json")}
    assert files == set(EXAMPLES)
    assert {type(message) for message in EXAMPLES.values()} == set(wire.Message.__args__)
    outcomes = {message.outcome.outcome for message in EXAMPLES.values() if isinstance(message, RunResult)}
    assert outcomes == {"measured", "failed", "missed"}


def altered(**changes: object) -> bytes:
    envelope = json.loads(wire.encode(build_request()))
    body = envelope["body"] | changes.pop("body", {})
    return json.dumps(envelope | {"body": body} | changes).encode()


def test_a_field_of_a_newer_version_is_ignored() -> None:
    assert wire.decode(altered(body={"colour": "blue"}, trace="abc"), RunRequest) == build_request()


@pytest.mark.parametrize("version", [0, 2, 99, "1", 1.0, True, None, [1]])
def test_an_unknown_version_is_refused(version: object) -> None:
    with pytest.raises(wire.WireError, match="version"):
        wire.decode(altered(version=version), RunRequest)


def test_a_message_without_a_version_is_refused() -> None:
    envelope = json.loads(wire.encode(build_request()))
    del envelope["version"]
    with pytest.raises(wire.WireError, match="not an envelope"):
        wire.decode(json.dumps(envelope).encode(), RunRequest)


def test_a_message_of_another_kind_is_refused() -> None:
    with pytest.raises(wire.WireError, match="expected run_result, got kind 'run_request'"):
        wire.decode(wire.encode(build_request()), RunResult)


def test_the_fault_is_named_with_its_place() -> None:
    line = wire.encode(build_result()).replace(b'"attempt":1', b'"attempt":"one"')
    with pytest.raises(wire.WireError, match="attempt: Input should be a valid integer"):
        wire.decode(line, RunResult)


def test_progress_of_an_agent_that_tells_no_phases_is_understood() -> None:
    line = b'{"kind":"progress","version":1,"body":{"run_id":"%s","stage":"loading"}}' % str(UUID(int=1)).encode()
    assert wire.decode(line, Progress) == Progress(run_id=UUID(int=1), stage=ProgressStage.LOADING)


def test_an_instant_without_a_time_zone_is_refused() -> None:
    with pytest.raises(wire.WireError, match="scheduled_for lacks a time zone"):
        wire.decode(altered(body={"scheduled_for": "2026-11-21T12:00:00"}), RunRequest)


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    line = wire.encode(build_result()).replace(
        b'"start_us":101000,"end_us":103000', b'"start_us":103000,"end_us":101000'
    )
    with pytest.raises(wire.WireError, match="a span cannot end"):
        wire.decode(line, RunResult)


def test_text_that_is_no_unicode_is_refused_before_it_is_sent() -> None:
    with pytest.raises(wire.WireError, match="run_request holds what cannot be encoded"):
        wire.encode(build_request(body_text="\ud800"))


def test_a_deep_nest_is_refused() -> None:
    with pytest.raises(wire.WireError):
        wire.decode(b"[" * 200_000, RunRequest)


def test_the_complaint_about_a_huge_message_is_short() -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.decode(b"\xff" * 100_000, RunRequest)
    assert len(str(caught.value)) < 400


def test_instants_are_the_same_in_every_time_zone() -> None:
    later = build_request().scheduled_for + timedelta(hours=2)
    line = altered(body={"scheduled_for": later.replace(tzinfo=None).isoformat() + "+02:00"})
    assert wire.decode(line, RunRequest) == build_request()
