"""The JSON of the command line: names and units that scripts rely on."""

import json

from workers.diagnosis.page_document import page_document
from workers.measurement.document import Document
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured
from workers.tests.builders import build_page

URL = "https://example.org/"
FAILED = Failed(failure=failure(FailureKind.DNS_NOT_FOUND, "nothing.example.org"))


def page() -> Document:
    return page_document(URL, Measured(measurement=build_page()))


def test_a_page_says_vitals_requests_and_where_each_begins() -> None:
    document = page()
    assert document["schema"] == "firstbyte.page/1"
    assert document["metrics"]["lcp_ms"] == 480.0
    assert document["metrics"]["cls"] == 0.02
    assert document["metrics"]["ttfb_ms"] == 121.0
    assert [(row["number"], row["start_ms"], row["status"]) for row in document["requests"]] == [
        (1, 0.0, 200),
        (2, 132.0, 200),
        (3, 133.0, 200),
        (4, 200.0, None),
    ]
    assert document["requests"][3]["failure"] == "ERR_CONNECTION_REFUSED"
    assert document["connections"][0]["protocol"] == "h2"


def test_a_failure_has_the_same_fields_with_null_for_what_was_not_seen() -> None:
    failed = page_document(URL, FAILED)
    assert failed.keys() == page().keys()
    assert set(failed["metrics"].values()) == {None}
    assert failed["error"] == {
        "kind": "dns_not_found",
        "stage": "dns",
        "blame": "target",
        "detail": "The host name does not exist: nothing.example.org",
    }


def test_absent_is_null_and_never_zero_and_every_document_is_json() -> None:
    for document in (page(), page_document(URL, FAILED)):
        assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert page()["requests"][1]["phases"]["dns_ms"] is None
