"""The JSON of `firstbyte probe`: names and units that scripts rely on."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator

from workers.diagnosis.catalogue import entry
from workers.diagnosis.probe.document import probe_document
from workers.measurement.document import Document
from workers.measurement.evidence import (
    ChainCertificate,
    Depth,
    Exchange,
    Handshake,
    NameEvidence,
    ProbeEvidence,
    Question,
    TlsRecord,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.evidence import Direction as Way
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import (
    Answer,
    Check,
    CheckColumn,
    Confidence,
    Diagnosis,
    Fact,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
)
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.tests.builders import build_connection, build_probe

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "firstbyte.probe-1.json"
URL = "https://example.org/"
FAILED = Failed(failure=failure(FailureKind.DNS_NOT_FOUND, "nothing.example.org does not exist"))
NOW = datetime(2026, 6, 1, tzinfo=UTC)
OVERFLOW = Finding(
    id=FindingId.TLS_RECORD_OVERFLOW,
    severity=Severity.HIGH,
    confidence=Confidence.HIGH,
    saving_us=20_100,
    evidence=(Fact(name="record_bytes", value=16_401), Fact(name="gap_ms", value=20.1)),
)


def certificate() -> ChainCertificate:
    return ChainCertificate(
        subject="CN=example.org",
        issuer="CN=Some CA",
        names=("example.org",),
        name_count=1,
        not_before=NOW,
        not_after=NOW,
        sha256="00",
        der_bytes=1200,
        authority=False,
    )


def trial() -> TrialEvidence:
    """The answer's first record began 20.1 ms before it was whole."""
    return TrialEvidence(
        trial=Trial.FULL,
        started_us=101_000,
        connect_us=21_500,
        syn_rtt_us=21_400,
        handshake=Handshake(started_us=21_600, hello_bytes=1541, ended_us=64_000, version="TLSv1.3", chain=(0,)),
        exchanges=(
            Exchange(
                asked_us=65_000,
                sent_us=65_250,
                first_raw_us=85_900,
                first_application_us=85_900,
                first_readable_us=106_000,
                kept=True,
            ),
        ),
        transfers=(
            Transfer(at_us=85_900, direction=Way.RECEIVED, size_bytes=14_000),
            Transfer(at_us=106_000, direction=Way.RECEIVED, size_bytes=2_400),
        ),
        records=(TlsRecord(at_us=85_900, end_us=106_000, content_type=23, length_bytes=16_401, application=True),),
    )


def deep_probe() -> ProbeMeasurement:
    evidence = ProbeEvidence(
        depth=Depth.DEEP,
        host="www.example.org",
        port=443,
        secure=True,
        measured_at=NOW,
        certificates=(certificate(),),
        trials=(
            trial(),
            TrialEvidence(
                trial=Trial.RESUMED,
                started_us=900_000,
                handshake=Handshake(started_us=0, hello_bytes=600, version="TLSv1.3", resumed=True),
            ),
        ),
    )
    diagnosis = Diagnosis(
        findings=(OVERFLOW,),
        not_judged=(
            NotJudged(
                id=FindingId.TLS_CHAIN_EXCEEDS_IW,
                reason=NotJudgedReason.HIDDEN,
                hidden_by=FindingId.TLS_RECORD_OVERFLOW,
            ),
        ),
        checklist=(Check(column=CheckColumn.TLS13, answer=Answer.YES, detail="TLSv1.3"),),
    )
    return replace(build_probe(), evidence=evidence, diagnosis=diagnosis)


def closed(schema: Any) -> Any:
    """The same schema without room for fields that it does not name: readers must bear them, we must describe them."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False} | inner if "required" in inner else inner


def document() -> Document:
    return probe_document(URL, [Measured(measurement=deep_probe())])


def test_it_says_what_the_answer_took_in_milliseconds() -> None:
    """The redirect before it, 101 ms, is in its first and last byte and in no phase."""
    told = document()
    assert told["schema"] == "firstbyte.probe/1"
    assert (told["url"], told["address"], told["status"]) == (URL, "93.184.215.14", 200)
    assert told["phases"] == {
        "dns_ms": 2.0,
        "connect_ms": 21.5,
        "tls_ms": 43.5,
        "send_ms": 0.25,
        "wait_ms": 40.75,
        "download_ms": 5.0,
        "ttfb_ms": 209.0,
        "total_ms": 214.0,
    }
    assert told["rtt_ms"] == 21.4
    assert told["error"] is None


def test_the_first_byte_on_the_wire_is_told_apart_from_the_first_that_could_be_read() -> None:
    told = document()
    assert told["ttfb_decrypted_ms"] == 209.0
    assert told["ttfb_raw_ms"] == 188.9
    assert told["round_trips"] == {"dns": 1, "connect": 1, "tls": 1, "wait": 2}


def test_a_lookup_has_a_round_trip_for_each_question_that_had_to_follow_another() -> None:
    """Two aliases that the resolver left loose, and a question that got lost."""
    answered = Question(record_type="A", took_us=20_000, code="NOERROR")
    beside = replace(answered, record_type="AAAA")
    lost = Question(record_type="A")
    later = replace(answered, record_type="HTTPS")
    probe = deep_probe()
    assert probe.evidence is not None
    name = NameEvidence(
        host=probe.evidence.host, questions=(lost, answered, beside, answered, beside, answered, beside, later)
    )
    seen = replace(probe, evidence=replace(probe.evidence, names=(name, NameEvidence(host="other.example.org"))))
    assert probe_document(URL, [Measured(measurement=seen)])["round_trips"]["dns"] == 3


def test_it_lists_hops_connections_and_the_certificate() -> None:
    told = document()
    assert [(hop["status"], hop["start_ms"]) for hop in told["hops"]] == [(301, 0.0), (200, 101.0)]
    assert told["hops"][0]["response_headers"] == [{"name": "Location", "value": "https://www.example.org/"}]
    assert [(each["number"], each["tls_ms"]) for each in told["connections"]] == [(1, 44.25), (2, 43.5)]
    assert told["certificate"]["not_after"] == "2027-01-01T00:00:00+00:00"


def test_it_says_what_tls_did_and_how_often_it_was_resumed() -> None:
    tls = document()["tls"]
    assert (tls["version"], tls["hello_bytes"], tls["chain_bytes"]) == ("TLSv1.3", 1541, 1200)
    assert tls["resumption"]["tls13"] == {"tried": 1, "resumed": 1}
    assert tls["resumption"]["tls12_ticket"] == {"tried": 0, "resumed": 0}
    assert tls["records"] == [{"at_ms": 85.9, "end_ms": 106.0, "bytes": 16_401, "application": True}]


def test_a_session_of_tls_12_is_none_of_tls_13() -> None:
    probe = deep_probe()
    assert probe.evidence is not None
    trials = tuple(
        replace(one, handshake=replace(one.handshake, version="TLSv1.2")) if one.handshake else one
        for one in probe.evidence.trials
    )
    old = replace(probe, evidence=replace(probe.evidence, trials=trials))
    tls = probe_document(URL, [Measured(measurement=old)])["tls"]
    assert tls["resumption"]["tls13"] == {"tried": 0, "resumed": 0}


def test_a_finding_carries_its_evidence_its_cost_and_what_to_do() -> None:
    (finding,) = document()["findings"]
    assert finding["id"] == "tls.record_overflow"
    assert (finding["severity"], finding["confidence"], finding["saving_ms"]) == ("high", "high", 20.1)
    assert finding["evidence"] == {"record_bytes": 16_401, "gap_ms": 20.1}
    assert finding["title"] == entry(FindingId.TLS_RECORD_OVERFLOW).title
    assert finding["advice"]
    assert {setting["server"] for setting in finding["settings"]} >= {"nginx"}


def test_what_was_not_judged_says_why_and_the_checklist_its_answers() -> None:
    told = document()
    assert told["not_judged"] == [
        {"id": "tls.chain_exceeds_iw", "reason": "hidden", "hidden_by": "tls.record_overflow"}
    ]
    assert told["checklist"] == {"tls13": {"answer": "yes", "detail": "TLSv1.3"}}


def test_the_flights_of_the_first_connection_are_there() -> None:
    flights = document()["flights"]
    assert [flight["label"] for flight in flights[:2]] == ["SYN", "SYN, ACK"]
    assert flights[-1]["gap_rtt"] == 0.94


def test_of_several_samples_the_middle_one_gives_the_times_and_the_first_one_the_causes() -> None:
    hop = build_probe().hops[-1]
    timing = replace(hop.timing, start_us=hop.timing.start_us - 150_000)
    slower = Measured(measurement=replace(build_probe(), hops=(replace(hop, timing=timing),)))
    told = probe_document(URL, [Measured(measurement=deep_probe()), slower, slower])
    assert [sample["phases"]["ttfb_ms"] for sample in told["samples"]] == [209.0, 258.0, 258.0]
    assert told["phases"]["ttfb_ms"] == 258.0
    assert [finding["id"] for finding in told["findings"]] == ["tls.record_overflow"]


def test_of_several_samples_the_one_that_failed_says_what_was_answered() -> None:
    hop = replace(build_probe().hops[-1], status=503)
    failed = Failed(
        failure=failure(FailureKind.STATUS_UNEXPECTED, "503"), measurement=replace(build_probe(), hops=(hop,))
    )
    told = probe_document(URL, [Measured(measurement=deep_probe()), failed])
    assert (told["status"], told["http"]["status"], told["hops"][0]["status"]) == (503, 503, 503)
    assert told["depth"] == "deep"


def test_whether_the_server_kept_a_connection_is_told_by_the_first_that_shows_it() -> None:
    probe = deep_probe()
    assert probe.evidence is not None
    first, *others = probe.evidence.trials
    own = replace(first, exchanges=(replace(first.exchanges[0], kept=None),))
    closed_by_it = replace(first, trial=Trial.PLAIN, exchanges=(replace(first.exchanges[0], kept=False),))
    for trials, kept in (((own, *others), None), ((own, closed_by_it), False)):
        evidence = replace(probe.evidence, trials=trials)
        told = probe_document(URL, [Measured(measurement=replace(probe, evidence=evidence))])
        assert told["http"]["kept"] is kept


def test_a_failure_has_the_same_fields_with_null_for_what_was_not_seen() -> None:
    failed = probe_document(URL, [FAILED])
    assert failed.keys() == document().keys()
    assert set(failed["phases"].values()) == {None}
    assert set(failed["round_trips"].values()) == {None}
    assert failed["error"] == {
        "kind": "dns_not_found",
        "stage": "dns",
        "blame": "target",
        "detail": "The host name leads to no address: nothing.example.org does not exist",
    }


def test_what_was_seen_before_a_failure_is_there() -> None:
    seen = replace(build_probe(), hops=(), connections=(build_connection(certificate_error="expired"),))
    told = probe_document(URL, [replace(FAILED, measurement=seen)])
    assert told["certificate"]["subject"] == "CN=www.example.org"
    assert told["connections"][0]["certificate_error"] == "expired"


def test_every_document_is_json_of_the_published_schema() -> None:
    published = Draft202012Validator(closed(json.loads(SCHEMA.read_text())))
    for told in (document(), probe_document(URL, [FAILED]), probe_document(URL, [Measured(measurement=build_probe())])):
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        published.validate(told)
