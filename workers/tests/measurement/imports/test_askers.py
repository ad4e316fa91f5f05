"""Who asked for a row of a file, as far as the request's own headers and the file tell."""

from typing import Any

import pytest

from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.waterfall import RowFlag
from workers.tests.measurement.imports import samples
from workers.tests.measurement.imports.reading import only, read, rows
from workers.tests.measurement.imports.samples import at, entry, har, page

FRAME = "https://ads.example/frame"
IFRAME = "iframe"
NO_TLS = {"connect_start": -1, "connect_end": -1, "ssl_start": -1, "ssl_end": -1}


def asked(url: str, second: int = 0, method: str = "GET", **headers: str) -> dict[str, Any]:
    """An entry with headers of its request, some seconds after the page's start."""
    made = at(url, started=f"2026-11-21T12:00:0{second}.000Z", pageref="page_1")
    sent = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
    made["request"] |= {"headers": sent, "method": method}
    return made


def test_a_frame_and_what_it_names_is_the_frames() -> None:
    document = asked(samples.HTML, sec_fetch_dest="document")
    frame = asked(FRAME, 1, Sec_Fetch_Dest=IFRAME)
    shared = asked("https://cdn.example/lib.js", 2) | {"_initiator": {"type": "parser", "url": samples.HTML}}
    inside = asked("https://ads.example/a.css", 3) | {"_initiator": {"type": "parser", "url": FRAME}}
    deeper = asked("https://ads.example/b.png", 4) | {"_initiator": {"type": "parser", "url": inside["request"]["url"]}}
    flags = [row.flags for row in rows(har(document, frame, shared, inside, deeper))]
    assert flags == [(), (RowFlag.FRAME,), (), (RowFlag.FRAME,), (RowFlag.FRAME,)]


def test_playwright_names_the_frame_of_each_entry() -> None:
    frames = [
        asked(samples.HTML),
        asked(FRAME, 1),
        asked("https://ads.example/a.js", 2),
        asked("https://a.example/", 3),
    ]
    named = [one | {"_frameref": f"frame@{name}"} for one, name in zip(frames, "abba", strict=True)]
    assert [RowFlag.FRAME in row.flags for row in rows(har(*named))] == [False, True, True, False]


def test_a_recording_that_began_late_has_no_document_though_a_frame_came() -> None:
    """Chrome calls a page by its address."""
    file = har(asked(FRAME, 2, sec_fetch_dest=IFRAME), creator="WebInspector", pages=[page()])
    (found,) = read(file).pages
    assert (found.measurement.document, found.url) == (None, samples.HTML)


def test_browsers_own_questions_and_what_is_fetched_ahead_are_told_apart() -> None:
    question = asked("https://api.example/", 1, "OPTIONS", access_control_request_method="PUT")
    ahead = asked("https://shop.example/next", 2, Sec_Purpose="prefetch;prerender")
    assert [row.flags for row in rows(har(entry(), question, ahead))] == [
        (),
        (RowFlag.PREFLIGHT,),
        (RowFlag.PREFETCH,),
    ]


@pytest.mark.parametrize(("frame", "is_blamed"), [("MAIN", True), ("OTHER", False)])
def test_what_blocks_a_frame_of_webpagetests_page_blocks_not_the_page(frame: str, is_blamed: bool) -> None:
    sheet = samples.webpagetest_request(
        full_url="https://ads.example/a.css", request_type="Stylesheet", contentType="text/css", frame_id=frame,
        renderBlocking="blocking", final_base_page=False, created=150, load_start=160, all_start=160, ttfb_start=160,
        ttfb_end=290, download_start=290, download_end=295, load_end=295, all_end=295, socket=170, **NO_TLS,
    )  # fmt: skip
    file = samples.webpagetest(900, repeat=False)
    view = file["data"]["runs"]["1"]["firstView"]
    view |= {"requests": [samples.webpagetest_request(frame_id="MAIN"), sheet], "firstContentfulPaint": 310}
    found = diagnose_page(only(file)).findings
    assert any(one.host == "ads.example" for one in found) is is_blamed
