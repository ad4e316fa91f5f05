"""What leaves the house beside addresses: header lines that hold one, and words that do."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from time import thread_time

import pytest

from workers.measurement.connection import Header
from workers.measurement.har import About, har_document
from workers.measurement.messages import PageMeasurement
from workers.measurement.redaction import REDACTED, Masks, Redaction
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall

ABOUT = About(url="https://shop.example/", started_at=datetime(2026, 11, 21, tzinfo=UTC), version="1")


def masked(name: str, value: str, level: Redaction = Redaction.STANDARD) -> str:
    (header,) = Masks(level).headers([Header(name=name, value=value)])
    return header.value


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        (":path", "/cart?token=s3cret", f"/cart?token={REDACTED}"),
        ("path", "/cart?token=s3cret", f"/cart?token={REDACTED}"),
        ("X-Original-URI", "/cart?token=s3cret", f"/cart?token={REDACTED}"),
        ("HX-Current-URL", "https://a.example/?q=s3cret", f"https://a.example/?q={REDACTED}"),
        ("X-Pingback", "HTTPS://bob:s3cret@a.example/p?q=s3cret", f"https://a.example/p?q={REDACTED}"),
        ("Content-Security-Policy", "img-src *; report-uri /csp?k=s3cret", f"img-src *; report-uri /csp?k={REDACTED}"),
        ("Link", "</a?k=s3cret>; rel=preload, </b?k=s3cret>", f"</a?k={REDACTED}>; rel=preload, </b?k={REDACTED}>"),
        ("X-Original-URI", "/a;jsessionid=s3cret?q=s3cret", f"/a;jsessionid={REDACTED}?q={REDACTED}"),
        ("X-Original-URI", "/a b?q=s3cret", f"/a b?q={REDACTED}"),
        ("Location", "https://a.example/x;jsessionid=s3cret/y", f"https://a.example/x;jsessionid={REDACTED}/y"),
        ("JSESSIONID", "s3cret", REDACTED),
        ("Authentication-Info", "s3cret", REDACTED),
        ("X-Passcode", "s3cret", REDACTED),
        ("X-Note", "see https://a.example/?q=s3cret, and go", f"see https://a.example/?q={REDACTED}, and go"),
    ],
)
def test_an_address_in_any_header_loses_the_values_of_its_parameters(name: str, value: str, shown: str) -> None:
    """HTTP/2 sends the path in a header of its own, which browsers list among the others."""
    assert masked(name, value) == shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (":path", "/cart"),
        ("content-security-policy", "default-src 'self' https://*.shop.example:* data:; report-uri /csp"),
        ("accept", "text/html,*/*;q=0.8"),
        ("x-cache", "/a b"),
        ("link", "</a>; rel=preload; as=style"),
        ("content-disposition", "attachment; filename=a/b?c"),
        ("public-key-pins", "max-age=1"),
    ],
)
def test_other_headers_stay_as_they_are(name: str, value: str) -> None:
    assert masked(name, value) == value
    assert masked(name, value, Redaction.FULL) == value


def test_all_is_shown_of_a_path_to_who_asks_for_all() -> None:
    assert masked(":path", "/cart?token=a", Redaction.FULL) == "/cart?token=a"


@pytest.mark.parametrize(("level", "kept"), [("full", True), ("standard", False), ("strict", False)])
def test_an_address_among_words_is_masked_like_any_other(level: str, kept: bool) -> None:
    """Other tools say where a request failed, and which element was the largest, in words of their own."""
    words = "at https://bob:p4ss@shop.example/a?token=s3cret"
    row = Request(
        number=1, url="https://shop.example/", method="GET", resource_type=ResourceType.OTHER,
        timing=Timing(start_us=0), timing_source=TimingSource.ARCHIVE, failure=f"ERR_FAILED {words}",
    )  # fmt: skip
    page = PageMeasurement(
        waterfall=Waterfall(requests=(row,), connections=()), vitals=Vitals(lcp_element=words), title=words
    )
    text = json.dumps(har_document(page, replace(ABOUT, redaction=Redaction(level))))
    assert ("s3cret" in text) is kept
    assert "p4ss" not in text
    assert "ERR_FAILED" in text


def test_a_text_that_is_made_to_be_searched_for_long_is_read_at_once() -> None:
    began = thread_time()
    for text in ("/;a=" * 50_000, "=/" * 100_000, "/a;" * 70_000):
        assert masked("x-note", text) == text
    assert thread_time() - began < 2
