"""WebPageTest's own files, read as it meant them."""

from typing import Any

import pytest

from workers.measurement.page_options import PageState
from workers.measurement.timing import Span
from workers.measurement.vitals import TimingKind, UserTiming
from workers.measurement.waterfall import Blocking
from workers.tests.measurement.imports import samples
from workers.tests.measurement.imports.reading import ms, only, read, rows
from workers.tests.measurement.imports.samples import entry, har


def test_webpagetest_json_brings_the_representative_run_with_its_repeat_view() -> None:
    found = read(samples.webpagetest(1000, 3000, 2000))
    (one,) = found.pages
    measured = one.measurement
    assert (one.label, measured.vitals.load_us, measured.document) == ("run 3, first view", 2_000_000, 1)
    assert measured.repeat is not None
    assert (measured.repeat.state, measured.repeat.vitals.load_us) == (PageState.WARM_CACHE, 1_000_000)
    assert len(measured.samples) == 6
    assert (measured.vitals.lcp_us, measured.vitals.cls, measured.vitals.long_tasks) == (
        400_000,
        0.1,
        (Span(start_us=100_000, end_us=160_000),),
    )
    assert measured.vitals.user_timings == (
        UserTiming(kind=TimingKind.MEASURE, name="cart", at_us=30_000, duration_us=12_500),
        UserTiming(kind=TimingKind.MARK, name="hero", at_us=320_500),
    )
    assert one.started_at.isoformat() == "2026-03-26T23:56:02.500000+00:00"
    assert (found.source.format, found.source.tool_version) == ("WebPageTest JSON", "21.07")


def test_webpagetest_json_rows_have_their_phases_and_connections() -> None:
    document, image = only(samples.webpagetest(1000, repeat=False)).waterfall.requests
    assert (ms(document.timing.tls), document.protocol, document.address) == ((73, 116), "h2", "2001:db8::1")
    assert (image.connection, image.reused, image.render_blocking) == (1, True, False)
    assert image.blocking is Blocking.NOTHING
    names = {header.name: header.value for header in document.request_headers + document.response_headers}
    assert names == {"authority": "shop.example", "cookie": "(redacted)", "age": "3"}


def test_a_run_that_webpagetest_calls_failed_represents_nothing() -> None:
    document = samples.webpagetest(1000, 3000, 2000, repeat=False)
    document["data"]["runs"]["3"]["firstView"]["result"] = 99997
    (one,) = read(document).pages
    assert one.label == "run 1, first view"
    assert [sample.failure for sample in one.measurement.samples] == [None, None, "page_error"]


def test_webpagetest_json_without_requests_brings_the_figures_of_its_runs() -> None:
    document = samples.webpagetest(1000, 3000, 2000)
    for run in document["data"]["runs"].values():
        for view in run.values():
            view["requests"] = 2
    (one,) = (found := read(document)).pages
    assert (one.label, one.measurement.vitals.load_us) == ("run 3, first view", 2_000_000)
    assert [sample.vitals.load_us for sample in one.measurement.samples][::2] == [1_000_000, 3_000_000, 2_000_000]
    assert found.remarks[-1] == "The file has no requests, only figures. Ask WebPageTest for it with requests=1."


def test_a_run_of_webpagetest_without_requests_beside_others_is_told() -> None:
    document = samples.webpagetest(1000, 3000, repeat=False)
    document["data"]["runs"]["2"]["firstView"]["requests"] = []
    found = read(document)
    assert found.remarks == ("run 2, first view: it holds no requests.",)
    assert found.pages[0].measurement.samples == ()


def test_a_run_of_webpagetest_that_brought_nothing_is_told() -> None:
    document = samples.webpagetest(1000, 3000)
    document["data"]["runs"]["2"] = {"firstView": [], "repeatView": []}
    assert read(document).remarks == ("run 2, first view: it holds no requests.",)


def test_webpagetest_may_write_its_dates_as_texts() -> None:
    document = samples.webpagetest(1000, repeat=False)
    document["data"]["runs"]["1"]["firstView"]["date"] = "1774569362.5"
    assert read(document).pages[0].started_at.isoformat() == "2026-03-26T23:56:02.500000+00:00"
    document["data"]["runs"]["1"]["firstView"]["date"] = None
    document["data"]["completed"] = "1774566251"
    assert read(document).pages[0].started_at.isoformat() == "2026-03-26T23:04:11+00:00"


@pytest.mark.parametrize(("created", "start_us"), [(0.356572, 1_720_000), (356.572, 356_572), (3, 3_000)])
def test_a_request_that_firefox_created_so_many_seconds_into_the_page_begins_with_its_first_phase(
    created: float, start_us: int
) -> None:
    places: dict[str, Any] = {
        "_load_start": 1720,
        "_all_start": 1720,
        "_ttfb_start": 1720,
        "_ttfb_end": 1801,
        "_load_end": 1811,
    }
    (row,) = rows(har(entry(**places, _created=created)))
    assert row.timing.start_us == start_us
    assert ms(row.timing.wait) == (1720, 1801)
