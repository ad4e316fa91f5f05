"""What colleagues and vendors see of a measurement: everything but the values that open something."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.connection import Header
from workers.measurement.finding import Confidence, Diagnosis, Fact, Finding, FindingId, Severity
from workers.measurement.masking import masked
from workers.measurement.messages import Measurement, PageMeasurement
from workers.measurement.page_view import ConsoleLevel, ConsoleMessage
from workers.measurement.redaction import REDACTED
from workers.tests.builders import build_page, build_pair, build_probe

SECRET = "s3cret-of-a-visitor"


def told_all_over() -> PageMeasurement:
    """A page that has the same secret wherever a page can write one."""
    page = build_page()
    document, sheet, *others = page.waterfall.requests
    address = f"https://www.example.org/?session={SECRET}"
    rows = (
        replace(
            document,
            url=address,
            response_headers=(
                Header(name="Location", value=f"/next?to={SECRET}"),
                Header(name="X-Auth-Token", value=SECRET),
                Header(name="Set-Cookie", value=SECRET),
            ),
        ),
        replace(sheet, url=f"https://www.example.org/site.css;jsessionid={SECRET}", initiator_url=address),
        *others,
    )
    return replace(
        page,
        title=f"Example, {address}",
        console=(ConsoleMessage(at_us=1, level=ConsoleLevel.ERROR, text=f"no such file: app.js?k={SECRET}"),),
        waterfall=replace(page.waterfall, requests=rows),
        warnings=(f"{address} did not answer",),
    )


def test_no_value_of_a_parameter_and_no_secret_header_is_left_anywhere() -> None:
    assert SECRET in repr(told_all_over())
    assert SECRET not in repr(masked(told_all_over()))


def test_what_names_another_still_finds_it() -> None:
    page = masked(told_all_over())
    document, sheet = page.waterfall.requests[:2]
    assert document.url == f"https://www.example.org/?session={REDACTED}"
    assert sheet.initiator_url == document.url


def test_a_finding_keeps_its_files_without_the_values_of_their_parameters() -> None:
    files = Fact(name="files", value=(f"cdn.example.org/app.js?v={SECRET}", "site.css"))
    finding = Finding(
        id=FindingId.PAGE_LCP_LATE, severity=Severity.LOW, confidence=Confidence.MEDIUM, evidence=(files,)
    )
    (told,) = masked(Diagnosis(findings=(finding,))).findings
    assert told.evidence == (Fact(name="files", value=(f"cdn.example.org/app.js?v={REDACTED}", "site.css")),)
    assert told.id is FindingId.PAGE_LCP_LATE


@pytest.mark.parametrize("measurement", [build_page(), build_probe(), build_pair()], ids=["page", "probe", "pair"])
def test_what_holds_nothing_to_mask_stays_as_it_is(measurement: Measurement) -> None:
    assert masked(measurement) == measurement


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("app.js?v=12", f"app.js?v={REDACTED}"),
        ("app.js?0123456789abcdef0", f"app.js?{REDACTED}"),
        ("/a#access_token=abc&x", f"/a#access_token={REDACTED}&x"),
        ("div#main-content-of-the-page", "div#main-content-of-the-page"),
        ("Is TLS fast yet? 12 of 20", "Is TLS fast yet? 12 of 20"),
        ("a=b", "a=b"),
    ],
)
def test_a_text_loses_what_stands_in_queries_alone(text: str, shown: str) -> None:
    assert masked(text) == shown


@given(st.text(max_size=60))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert masked(masked(text)) == masked(text)
