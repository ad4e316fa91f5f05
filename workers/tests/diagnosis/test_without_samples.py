"""What a load brings to the verdict on hosts."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.without.samples import LeftOut, Metric, load_of, sample_of
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import Confidence, Diagnosis, Finding, FindingId, Severity
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.page_view import ConsoleLevel, ConsoleMessage
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.diagnosis.load_pairs import HOST
from workers.tests.diagnosis.page_sketch import MAIN, row, sketch

HOSTS = frozenset({HOST})
GONE: dict[str, Any] = {"status": None, "failure": "ERR_NAME_NOT_RESOLVED", "transferred_bytes": None}


def script(number: int, host: str = HOST, **changes: Any) -> Request:
    return row(number, ResourceType.SCRIPT, 310, 400, host=host, **changes)


def page(*rows: Request, **changes: Any) -> PageMeasurement:
    return sketch(*rows, fcp_ms=500, **changes)


def test_what_came_is_counted_and_not_what_failed_for_want_of_its_host() -> None:
    whole = sample_of(page(script(2), script(3, host=MAIN)), HOSTS)
    rest = sample_of(page(script(2, **GONE), script(3, host=MAIN)), HOSTS)
    assert (whole.values[Metric.REQUESTS], whole.values[Metric.BYTES]) == (3, 1_800)
    assert (rest.values[Metric.REQUESTS], rest.values[Metric.BYTES]) == (2, 1_200)
    assert whole.asked == rest.asked == {MAIN, HOST}
    # What fails of another host was asked, and answered by nobody, with the hosts and without.
    assert sample_of(page(script(2, host="down.example", **GONE)), HOSTS).values[Metric.REQUESTS] == 2


def test_a_page_that_asked_for_more_than_is_kept_has_no_counts() -> None:
    much = page(script(2))
    much = replace(much, waterfall=replace(much.waterfall, truncated=True))
    assert sample_of(much, HOSTS).values[Metric.REQUESTS] is None
    assert sample_of(much, HOSTS).values[Metric.BYTES] is None


def test_what_was_asked_of_the_pages_own_domain_is_counted_but_not_of_the_hosts_in_question() -> None:
    rows = (script(2), script(3, host="static.example.org"), script(4, host="img.example.org"), script(5, host=MAIN))
    assert sample_of(page(*rows), HOSTS).own_requests == 4
    assert sample_of(page(*rows), HOSTS | {"img.example.org"}).own_requests == 3


@pytest.mark.parametrize(
    ("vitals", "told"),
    [
        ({"lcp_element": "img.hero", "lcp_url": "https://a.example/x/hero.jpg?v=1"}, "img.hero (hero.jpg)"),
        ({"lcp_element": "h1"}, "h1"),
        ({"lcp_element": "img", "lcp_url": "data:image/png;base64,AAAA"}, "img"),
        ({"lcp_url": "https://a.example/"}, None),
        ({}, None),
    ],
)
def test_the_largest_paint_is_named_by_its_element_and_its_file(vitals: dict[str, Any], told: str | None) -> None:
    assert sample_of(page(vitals=vitals), HOSTS).largest == told


def test_a_page_is_empty_that_painted_nothing() -> None:
    blank = page()
    blank = replace(blank, vitals=replace(blank.vitals, fcp_us=None))
    assert sample_of(blank, HOSTS).is_empty
    assert not sample_of(page(), HOSTS).is_empty
    assert not sample_of(replace(blank, vitals=replace(blank.vitals, start_render_us=400_000)), HOSTS).is_empty


def test_errors_are_those_of_scripts_and_not_of_files_that_did_not_come() -> None:
    texts = ("Uncaught ReferenceError: lib", "Failed to load resource: net::ERR_NAME_NOT_RESOLVED")
    told = [ConsoleMessage(at_us=1, level=ConsoleLevel.ERROR, text=text) for text in texts]
    warned = ConsoleMessage(at_us=1, level=ConsoleLevel.WARNING, text="slow")
    assert sample_of(replace(page(), console=(*told, warned)), HOSTS).errors == {texts[0]}


def finding(id: FindingId, **changes: Any) -> Finding:
    values: dict[str, Any] = {"severity": Severity.HIGH, "confidence": Confidence.HIGH, "saving_us": 300_000}
    return Finding(id=id, **(values | changes))


def test_estimates_are_of_causes_that_lie_with_the_hosts_alone_and_cost_a_first_view() -> None:
    blocking = finding(FindingId.PAGE_THIRD_PARTY_BLOCKING, host=HOST)
    by_rows = finding(FindingId.PAGE_RENDER_BLOCKING, rows=(2,), saving_us=200_000)
    others = (
        finding(FindingId.PAGE_THIRD_PARTY_BLOCKING, host="other.example"),
        finding(FindingId.PAGE_CSS_IMPORT, rows=(2, 3)),
        finding(FindingId.PAGE_UNCACHED, rows=(2,)),
        finding(FindingId.PAGE_LCP_LATE),
        finding(FindingId.PAGE_PRECONNECT_MISSING, host=HOST, saving_us=None),
    )
    seen = replace(page(script(2), script(3, host=MAIN)), diagnosis=Diagnosis(findings=(blocking, by_rows, *others)))
    assert sample_of(seen, HOSTS).estimates_us == {
        (FindingId.PAGE_THIRD_PARTY_BLOCKING, HOST): 300_000,
        (FindingId.PAGE_RENDER_BLOCKING, HOST): 200_000,
    }


def test_a_load_is_left_out_that_failed_was_tested_was_disturbed_or_missed_its_profile() -> None:
    good = page(vitals={"load_us": 600_000})
    busy = replace(good, vitals=replace(good.vitals, contention_us=100_000))
    outcomes: dict[LeftOut, Measured | Failed] = {
        LeftOut.FAILED: Failed(failure=failure(FailureKind.PAGE_TIMEOUT), measurement=good),
        LeftOut.CHALLENGED: Failed(failure=failure(FailureKind.PAGE_CHALLENGE)),
        LeftOut.DISTURBED: Measured(measurement=busy),
        LeftOut.OFF_PROFILE: Measured(measurement=replace(good, profile_verified=False)),
    }
    for reason, outcome in outcomes.items():
        load = load_of(outcome, HOSTS)
        assert (load.left_out, load.sample) == (reason, None)
        assert (load.failure is not None) is isinstance(outcome, Failed)
    # Of the network as it is nothing was promised.
    for kept in (True, None):
        assert load_of(Measured(measurement=replace(good, profile_verified=kept)), HOSTS).sample == sample_of(
            good, HOSTS
        )
