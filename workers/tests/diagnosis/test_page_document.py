"""The JSON of the command line: names and units that scripts rely on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema_rs import Draft202012Validator

from workers.diagnosis.page.document import page_document
from workers.measurement.document import Document
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import (
    Cause,
    Confidence,
    Diagnosis,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
    Together,
)
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import (
    ConsoleLevel,
    ConsoleMessage,
    Film,
    FilmFrame,
    HostDelivery,
    RepeatView,
    ViewSample,
)
from workers.measurement.vitals import CpuTime, LayoutShift, TimingKind, UserTiming, Vitals
from workers.tests.builders import build_page, span
from workers.tests.diagnosis.test_probe_document import closed

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "firstbyte.page-1.json"
URL = "https://example.org/"
FAILED = Failed(failure=failure(FailureKind.DNS_NOT_FOUND, "nothing.example.org does not exist"))


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


def test_a_row_says_where_in_the_document_its_tag_ends() -> None:
    built = build_page()
    first, second, *others = built.waterfall.requests
    rows = (first, replace(second, initiator_at=(3, 18)), *others)
    placed = replace(built, waterfall=replace(built.waterfall, requests=rows))
    told = page_document(URL, Measured(measurement=placed))["requests"]
    assert [(row["initiator_line"], row["initiator_column"]) for row in told[:2]] == [(None, None), (3, 18)]


def test_what_has_no_end_was_still_open_when_the_load_was_left() -> None:
    built = build_page()
    left = replace(built, waterfall=replace(built.waterfall, watched_until_us=6_000_000))
    assert page_document(URL, Measured(measurement=left))["watched_until_ms"] == 6_000.0
    assert page_document(URL, FAILED)["watched_until_ms"] is None


def test_a_failure_has_the_same_fields_with_null_for_what_was_not_seen() -> None:
    failed = page_document(URL, FAILED)
    assert failed.keys() == page().keys()
    assert set(failed["metrics"].values()) == {None}
    assert failed["error"] == {
        "kind": "dns_not_found",
        "stage": "dns",
        "blame": "target",
        "detail": "The host name leads to no address: nothing.example.org does not exist",
    }


def test_absent_is_null_and_never_zero_and_every_document_is_json() -> None:
    for document in (page(), page_document(URL, FAILED)):
        assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert page()["requests"][1]["phases"]["dns_ms"] is None


def full_page() -> PageMeasurement:
    """One with everything a page can tell."""
    page = build_page()
    finding = Finding(
        id=FindingId.PAGE_RENDER_BLOCKING,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=40_000,
        rows=(2,),
        together=Together(
            saving_us=90_000, others=(Cause(id=FindingId.PAGE_THIRD_PARTY_BLOCKING, host="cdn.example.net"),)
        ),
    )
    hidden = NotJudged(id=FindingId.PAGE_LCP_LATE, reason=NotJudgedReason.TOO_FEW_SAMPLES)
    return replace(
        page,
        vitals=replace(
            page.vitals,
            long_tasks=(span(100, 180),),
            user_timings=(
                UserTiming(kind=TimingKind.MEASURE, name="cart", at_us=2_000, duration_us=1_500),
                UserTiming(kind=TimingKind.MARK, name="hero", at_us=3_000),
            ),
            shifts=(LayoutShift(at_us=400_000, score=0.02),),
            cpu=CpuTime(script_us=1, style_us=2, layout_us=3, other_us=4),
            speed_index_us=350_000,
        ),
        film=Film(frames=(FilmFrame(at_us=300_000, complete_ppm=1_000_000),), width=10, height=10, columns=1),
        console=(ConsoleMessage(at_us=1000, level=ConsoleLevel.ERROR, text="no"),),
        deliveries=(HostDelivery(host="www.example.org", cdn="Fastly", evidence="header x-served-by"),),
        samples=tuple(view(load, state) for load in (1, 2) for state in (PageState.COLD, PageState.WARM_CACHE)),
        repeat=RepeatView(state=PageState.WARM_CACHE, waterfall=page.waterfall, vitals=Vitals(), document=1),
        diagnosis=Diagnosis(findings=(finding,), not_judged=(hidden,)),
    )


def view(load: int, state: PageState) -> ViewSample:
    vitals = Vitals(lcp_us=load * 100_000, cls=0.1 * load, speed_index_us=load * 200_000)
    return ViewSample(load=load, state=state, vitals=vitals, ttfb_us=50_000, requests=4, received_bytes=1000)


@pytest.mark.parametrize(
    "outcome",
    [Measured(measurement=full_page()), Measured(measurement=build_page()), FAILED],
    ids=["full", "plain", "failed"],
)
def test_every_document_is_the_published_one_and_has_no_field_that_is_not_described(outcome: Measured | Failed) -> None:
    published = Draft202012Validator(closed(json.loads(SCHEMA.read_text())))
    published.validate(page_document(URL, outcome))


def test_bytes_and_requests_are_told_by_type_and_by_host() -> None:
    document = page()
    for parts in ("types", "hosts"):
        assert sum(part["requests"] for part in document[parts]) == document["metrics"]["requests"]
        assert sum(part["transferred_bytes"] or 0 for part in document[parts]) == document["metrics"]["bytes"]
    www = next(host for host in document["hosts"] if host["host"] == "www.example.org")
    connection = document["connections"][0]
    opened_ms = sum(connection[f"{phase}_ms"] or 0 for phase in ("dns", "connect", "tls"))
    assert (www["connections"], www["opening_ms"]) == (1, pytest.approx(opened_ms))
    assert connection["tls_end_ms"] - connection["tls_start_ms"] == pytest.approx(connection["tls_ms"])


def test_several_loads_are_told_by_their_spread_and_the_one_in_the_middle() -> None:
    document = page_document(URL, Measured(measurement=full_page()))
    assert document["load"] == 1
    assert document["spread"]["lcp_ms"] == {"n": 2, "median": 150.0, "low": 125.0, "high": 175.0}
    assert document["spread"]["cls"]["median"] == 0.15
    assert document["spread"]["speed_index"]["median"] == 300.0
    assert document["spread"]["bytes"]["median"] == 1000
    assert page()["spread"] == {}
    assert page()["load"] == 1


def test_redirects_are_in_the_first_byte_and_told_apart() -> None:
    whole = build_page()
    document, *others = whole.waterfall.requests
    later = replace(document, number=9, timing=replace(document.timing, start_us=0))
    assert page()["metrics"]["redirect_ms"] == 0.0
    timing = replace(others[0].timing, start_us=132_000)
    moved = replace(
        whole, document=2, waterfall=replace(whole.waterfall, requests=(later, replace(others[0], timing=timing)))
    )
    metrics = page_document(URL, Measured(measurement=moved))["metrics"]
    assert metrics["redirect_ms"] == 132.0
    assert metrics["ttfb_ms"] == timing.first_byte_us / 1000 if timing.first_byte_us else False
