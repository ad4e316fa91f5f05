"""What we export, we read again: to the microsecond."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.connection import Connection
from workers.measurement.har import About, har_document
from workers.measurement.imports.read import read_import
from workers.measurement.messages import PageMeasurement, RunResult
from workers.measurement.redaction import Redaction
from workers.measurement.timing import PHASES, Span, Timing
from workers.measurement.vitals import TimingKind, UserTiming, Vitals
from workers.measurement.waterfall import Blocking, Request, ResourceType, RowFlag, ServedFrom, TimingSource, Waterfall
from workers.measurement.wire import decode

EXAMPLES = Path(__file__).parents[3] / "measurement" / "examples"
ABOUT = About(
    url="https://shop.example/",
    started_at=datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC),
    version="0.1.0",
    redaction=Redaction.FULL,
)
VITALS = Vitals(
    fcp_us=210_001, lcp_us=420_002, lcp_element="img#hero", lcp_url="https://shop.example/hero.jpg", cls=0.012345,
    dom_content_loaded_us=300_003, load_us=500_004, fully_loaded_us=900_005, dom_interactive_us=290_006,
    start_render_us=200_007, speed_index_us=333_008, visually_complete_us=450_009, tbt_us=0,
    long_tasks=(Span(start_us=100_000, end_us=160_500),),
    user_timings=(
        UserTiming(kind=TimingKind.MARK, name="hero", at_us=120_500),
        UserTiming(kind=TimingKind.MEASURE, name="cart", at_us=130_000, duration_us=5_500),
    ),
)  # fmt: skip


def again(measured: PageMeasurement, about: About = ABOUT) -> PageMeasurement:
    found = read_import(json.dumps(har_document(measured, about)).encode())
    assert (found.skipped, found.remarks) == (0, ())
    (page,) = found.pages
    assert page.started_at == about.started_at
    return page.measurement


def row(number: int, timing: Timing, **fields: Any) -> Request:
    usual: dict[str, Any] = {
        "number": number, "url": f"https://shop.example/{number}", "method": "GET",
        "resource_type": ResourceType.SCRIPT, "timing": timing, "timing_source": TimingSource.ARCHIVE, "status": 200,
        "protocol": "h2",
    }  # fmt: skip
    return Request(**usual | fields)


def spans(most: int) -> st.SearchStrategy[Span]:
    pair = st.tuples(st.integers(0, most), st.integers(0, most))
    return pair.map(lambda ends: Span(start_us=min(ends) + 1, end_us=max(ends) + 1))


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    """Phases with gaps, after another, some of them absent; a connection may be begun ahead."""
    instants = sorted(draw(st.lists(st.integers(1, 5_000_000), min_size=12, max_size=12, unique=True)))
    made = [Span(start_us=start, end_us=end) for start, end in zip(instants[::2], instants[1::2], strict=True)]
    kept = {phase: span for phase, span in zip(PHASES, made, strict=True) if draw(st.booleans())}
    if "send" in kept and "wait" not in kept:
        del kept["send"]
    return Timing(start_us=draw(st.integers(1, instants[0] + 5_000)), end_us=instants[-1] + 5_000, **kept)


@given(st.lists(timings(), min_size=1, max_size=6))
def test_every_phase_comes_back_at_its_place(drawn: list[Timing]) -> None:
    ordered = sorted(drawn, key=lambda timing: timing.start_us)
    rows = tuple(row(number, timing) for number, timing in enumerate(ordered, start=1))
    found = again(PageMeasurement(waterfall=Waterfall(requests=rows, connections=()), vitals=Vitals()))
    assert [one.timing for one in found.waterfall.requests] == ordered


def test_figures_and_words_come_back() -> None:
    paid = Timing(
        start_us=5, end_us=90_000, dns=Span(start_us=10, end_us=2_000), connect=Span(start_us=2_100, end_us=20_000),
        tls=Span(start_us=20_500, end_us=50_000), wait=Span(start_us=50_000, end_us=80_000),
        download=Span(start_us=80_000, end_us=90_000),
    )  # fmt: skip
    cached = Timing(start_us=60_000, end_us=60_100)
    rows = (
        row(1, paid, connection=1, reused=False, address="203.0.113.7", resource_type=ResourceType.DOCUMENT,
            mime_type="text/html", transferred_bytes=900, body_bytes=2000, priority="VeryHigh", render_blocking=True,
            initiator_url="https://shop.example/boot.js?a=1", flags=(RowFlag.EARLY_HINTS,)),
        row(2, cached, served_from=ServedFrom.DISK_CACHE, transferred_bytes=0, failure="ERR_ABORTED", status=None,
            blocking=Blocking.PARSER, render_blocking=False, initiator_url="https://shop.example/",
            initiator_at=(3, 18)),
    )  # fmt: skip
    link = Connection(
        number=1, host="shop.example", port=443, address="203.0.113.7", protocol="h2", dns=paid.dns,
        connect=paid.connect, tls=paid.tls, received_bytes=900, requests=1,
    )  # fmt: skip
    measured = PageMeasurement(
        waterfall=Waterfall(requests=rows, connections=(link,)), vitals=VITALS, document=1, title="Shop",
        browser_version="Chromium 156.0.1",
    )  # fmt: skip
    found = again(measured)
    assert found.waterfall == measured.waterfall
    assert found.vitals == measured.vitals
    assert (found.document, found.title, found.browser_version) == (1, "Shop", "Chromium 156.0.1")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("run_result.measured_page*.json")), ids=lambda file: file.stem)
@pytest.mark.parametrize("level", Redaction)
def test_every_example_of_a_page_comes_back_at_every_level(file: Path, level: Redaction) -> None:
    """What is masked changes names and never a time."""
    measured = getattr(decode(file.read_bytes(), RunResult).outcome, "measurement", None)
    if not isinstance(measured, PageMeasurement) or not measured.waterfall.requests:
        return
    first = replace(measured, repeat=None)
    found = again(first, replace(ABOUT, redaction=level))
    assert [one.timing for one in found.waterfall.requests] == [one.timing for one in first.waterfall.requests]
    assert (found.vitals.load_us, found.vitals.lcp_us) == (first.vitals.load_us, first.vitals.lcp_us)
