"""The JSON of the command line: names and units that scripts rely on."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from workers.measurement.document import Document, page_document, probe_document
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured
from workers.tests.builders import build_connection, build_page, build_probe

URL = "https://example.org/"
FAILED = Failed(failure=failure(FailureKind.DNS_NOT_FOUND, "nothing.example.org"))


def probe() -> Document:
    return probe_document(URL, Measured(measurement=build_probe()))


def page() -> Document:
    return page_document(URL, Measured(measurement=build_page()))


def test_a_probe_says_what_the_last_hop_took_in_milliseconds() -> None:
    document = probe()
    assert document["schema"] == "firstbyte.probe/1"
    assert (document["url"], document["address"], document["status"]) == (URL, "93.184.215.14", 200)
    assert document["phases"] == {
        "dns_ms": 2.0,
        "connect_ms": 21.5,
        "tls_ms": 43.5,
        "send_ms": 0.25,
        "wait_ms": 40.75,
        "download_ms": 5.0,
        "ttfb_ms": 108.0,
        "total_ms": 113.0,
    }
    assert document["rtt_ms"] == 21.4
    assert document["error"] is None


def test_a_probe_lists_hops_connections_and_the_certificate() -> None:
    document = probe()
    assert [(hop["status"], hop["start_ms"]) for hop in document["hops"]] == [(301, 0.0), (200, 101.0)]
    assert document["hops"][0]["response_headers"] == [{"name": "Location", "value": "https://www.example.org/"}]
    assert [(each["number"], each["tls_ms"]) for each in document["connections"]] == [(1, 44.25), (2, 43.5)]
    assert document["certificate"]["not_after"] == "2027-01-01T00:00:00+00:00"


def test_a_page_says_vitals_requests_and_where_each_begins() -> None:
    document = page()
    assert document["schema"] == "firstbyte.page/1"
    assert document["vitals"]["lcp_ms"] == 480.0
    assert document["vitals"]["cls"] == 0.02
    assert document["phases"]["ttfb_ms"] == 121.0
    assert [(row["number"], row["start_ms"], row["status"]) for row in document["requests"]] == [
        (1, 0.0, 200),
        (2, 132.0, 200),
        (3, 133.0, 200),
        (4, 200.0, None),
    ]
    assert document["requests"][3]["failure"] == "ERR_CONNECTION_REFUSED"
    assert document["connections"][0]["protocol"] == "h2"


@pytest.mark.parametrize("make", [probe_document, page_document])
def test_a_failure_has_the_same_fields_with_null_for_what_was_not_seen(make: Callable[..., Document]) -> None:
    failed = make(URL, FAILED)
    measured = probe() if make is probe_document else page()
    assert failed.keys() == measured.keys()
    assert set(failed["phases"].values()) == {None}
    assert failed["error"] == {
        "kind": "dns_not_found",
        "stage": "dns",
        "blame": "target",
        "detail": "The host name does not exist: nothing.example.org",
    }


def test_what_was_seen_before_a_failure_is_there() -> None:
    seen = replace(build_probe(), hops=(), connections=(build_connection(certificate_error="expired"),))
    document = probe_document(URL, replace(FAILED, measurement=seen))
    assert document["certificate"]["subject"] == "CN=www.example.org"
    assert document["connections"][0]["certificate_error"] == "expired"


def test_absent_is_null_and_never_zero_and_every_document_is_json() -> None:
    for document in (probe(), page(), probe_document(URL, FAILED), page_document(URL, FAILED)):
        assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert page()["requests"][1]["phases"]["dns_ms"] is None
