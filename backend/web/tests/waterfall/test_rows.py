from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.web.tests import measurements
from backend.web.tests.waterfall.strategies import timings
from backend.web.waterfall.axis import axis_of
from backend.web.waterfall.connections import connection_chart, lanes_of
from backend.web.waterfall.flags import FLAG_NOTES, FLAG_SENTENCES
from backend.web.waterfall.rows import Chart, Row, own_axis, page_chart, probe_chart
from backend.web.waterfall.wanted import wanted_of
from workers.measurement import examples, wire
from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.messages import Measured, PageMeasurement, ProbeMeasurement, RunResult
from workers.measurement.page_view import Activity, Film, FilmFrame
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, RowFlag, Waterfall

EXAMPLES = Path(examples.__file__).parent


def one(page: PageMeasurement, number: int) -> Row:
    return next(row for row in page_chart(page).rows if row.number == number)


def page_of(*requests: Request) -> PageMeasurement:
    return PageMeasurement(waterfall=Waterfall(requests=requests, connections=()), vitals=Vitals())


@given(st.lists(timings(), max_size=6))
def test_bars_lie_within_the_axis_whatever_was_measured(found: list[Timing]) -> None:
    requests = [replace(measurements.document(), number=n, timing=timing) for n, timing in enumerate(found, start=1)]
    for row in page_chart(page_of(*requests)).rows:
        assert all(bar.width > 0 and bar.x >= 0 and bar.x + bar.width <= 100.001 for bar in row.bars)


def test_a_page_has_one_row_a_request_in_order_of_start() -> None:
    chart = page_chart(measurements.page(30))
    assert len(chart.rows) == 30
    assert chart.rows[0].number == 1
    assert chart.hosts == tuple(sorted(measurements.HOSTS))
    assert [mark.key for mark in chart.marks] == ["first-byte", "fcp", "lcp", "load"]


def test_names_of_hosts_are_shown_as_people_write_them_and_found_by_either_form() -> None:
    request = replace(measurements.document(), url="https://www.xn--bcher-kva.example/a")
    chart = page_chart(page_of(request))
    (row,) = chart.rows
    assert (row.host, row.url) == ("www.bücher.example", "https://www.bücher.example/a")
    for name in ("www.bücher.example", "www.xn--bcher-kva.example"):
        assert wanted_of({"host": name}).wants(row)


def test_a_row_says_in_words_what_its_bars_show() -> None:
    row = page_chart(measurements.page(1)).rows[0]
    assert row.spoken == "starts at 0 ms; DNS 9.0 ms; connect 30 ms; TLS 35 ms; waiting 212 ms; download 31 ms"
    assert (row.name, row.host, row.status, row.size, row.time) == ("/", "www.shop.example", "200", "24 kB", "317 ms")


@pytest.mark.parametrize(
    "later",
    [
        {"vitals": Vitals(long_tasks=(Span(start_us=253_000, end_us=1_432_000),))},
        {"film": Film(frames=(FilmFrame(at_us=1_432_000, complete_ppm=1_000_000),), width=8, height=5, columns=1)},
        {"activity": Activity(step_us=179_000, script_us=(0,) * 8)},
        {"activity": Activity(step_us=179_000, received_bytes=(0,) * 8)},
    ],
)
def test_the_axis_holds_what_came_after_the_last_row(later: dict[str, Any]) -> None:
    page = replace(measurements.page(1), **later)
    axis = own_axis(page)
    assert axis.end_us == axis_of(0, 1_432_000).end_us
    assert page_chart(page).axis == connection_chart(page).axis == axis


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/%E7%94%BB%E5%83%8F.png?q=caf%C3%A9", "画像.png?q=café"),
        ("%d9%85%d9%84%d9%81.js", "ملف.js"),
        ("a%20b%2Fc%0A.js", "a%20b%2Fc%0A.js"),
        ("caf%E9.js", "caf%E9.js"),
        ("%E2%80%AEgnp.exe", "%E2%80%AEgnp.exe"),
    ],
)
def test_letters_of_all_scripts_are_shown_and_what_could_mislead_stays_encoded(path: str, name: str) -> None:
    url = f"https://www.shop.example/{path}"
    row = page_chart(page_of(replace(measurements.document(), url=url))).rows[0]
    assert (row.name, row.url) == (name, url)


@pytest.mark.parametrize(
    ("number", "tint", "status", "notes", "traits"),
    [
        (9, "redirect", "302", (), {"redirect", "third-party"}),
        (13, "cached", "200", ("from disk cache",), {"cached", "third-party"}),
        (18, "error", "404", ("blocks rendering",), {"failed", "blocking"}),
        (22, "error", "failed", ("ERR_CONNECTION_RESET",), {"failed"}),
        (6, "blocking", "200", ("blocks rendering",), {"blocking"}),
        (8, "", "200", ("largest paint",), set()),
        (5, "", "200", ("TLS resumed", "0-RTT"), {"third-party"}),
    ],
)
def test_what_is_unusual_is_tinted_and_named(
    number: int, tint: str, status: str, notes: tuple[str, ...], traits: set[str]
) -> None:
    row = one(measurements.eventful_page(30), number)
    assert (row.tint, row.status, row.notes, set(row.traits)) == (tint, status, notes, traits)


def test_every_flag_has_words() -> None:
    assert set(FLAG_NOTES) == set(FLAG_SENTENCES) == set(RowFlag)


def test_the_browsers_own_requests_are_no_third_party() -> None:
    own = replace(
        measurements.document(), number=2, url="https://update.browser.example/x", flags=(RowFlag.BROWSER_INTERNAL,)
    )
    page = replace(page_of(measurements.document(), own), document=1)
    assert "third-party" not in one(page, 2).traits


def test_not_modified_is_an_answer_from_a_cache_and_no_redirect() -> None:
    assert one(page_of(replace(measurements.document(), status=304)), 1).tint == "cached"


def test_a_request_without_an_end_has_no_answer_and_no_time() -> None:
    unfinished = replace(
        measurements.document(), status=None, timing=Timing(start_us=0, connect=measurements.span(0, 8))
    )
    row = one(page_of(unfinished), 1)
    assert (row.status, row.time) == ("no answer", "\N{EN DASH}")
    assert [bar.phase for bar in row.bars] == ["connect"]


def test_what_hung_is_drawn_until_the_load_was_left() -> None:
    page = measurements.hanging_page()
    row, axis = one(page, 3), own_axis(page)
    assert axis == axis_of(0, 6_000_000)
    queued, sent, still_open = row.bars
    assert (queued.phase, sent.phase, still_open.phase) == ("queued", "wait", "open")
    assert still_open.x == axis.x(401_000)
    assert still_open.x + still_open.width == pytest.approx(axis.x(6_000_000))
    assert (row.time, row.total_us, row.open_us) == (">5.62 s", None, 5_620_000)
    assert "still open" in row.notes
    assert row.spoken == "starts at 380 ms; queued 20 ms; waiting 1.0 ms; still open after 5.62 s"


def test_of_a_request_that_never_came_to_its_connection_all_of_the_wait_is_drawn() -> None:
    page = measurements.hanging_page()
    *rows, hung = page.waterfall.requests
    waited = replace(hung, timing=Timing(start_us=380_000), connection=None)
    page = replace(page, waterfall=replace(page.waterfall, requests=(*rows, waited)))
    assert [bar.phase for bar in one(page, 3).bars] == ["open"]


def test_a_page_that_was_complete_is_not_drawn_longer_for_what_it_left_open() -> None:
    hanging = measurements.hanging_page()
    page = replace(hanging, vitals=Vitals(load_us=900_000, fully_loaded_us=900_000))
    (*_, still_open) = one(page, 3).bars
    assert own_axis(page) == axis_of(0, 900_000)
    assert still_open.phase == "open"
    assert still_open.x + still_open.width == pytest.approx(100)


def test_what_failed_without_an_end_is_not_called_open() -> None:
    page = measurements.hanging_page()
    *rows, hung = page.waterfall.requests
    failed = replace(hung, failure="ERR_FAILED")
    page = replace(page, waterfall=replace(page.waterfall, requests=(*rows, failed)))
    assert "open" not in [bar.phase for bar in one(page, 3).bars]
    assert own_axis(page).end_us < 1_000_000


def test_a_connection_shows_what_hung_on_it() -> None:
    page = measurements.hanging_page()
    number = page.waterfall.requests[-1].connection
    row = next(row for row in connection_chart(page).rows if row.number == number)
    assert row.bars[-1].phase == "open"
    assert "still open 5.60 s" in row.spoken


def test_texts_of_the_page_are_shown_without_their_tricks() -> None:
    evil = replace(measurements.document(), url="https://evil.example/\u202egnp.exe\x00?" + "x" * 5_000)
    row = one(page_of(evil), 1)
    assert "\u202e" not in row.name + row.url
    assert "\x00" not in row.name + row.url
    assert len(row.name) <= 120


def test_the_shortest_bar_has_its_true_length_and_is_drawn_all_the_same() -> None:
    long = replace(measurements.document(), number=2, timing=Timing(start_us=0, end_us=1_000_000_000))
    bars = one(page_of(measurements.document(), long), 1).bars
    assert 0 < min(bar.width for bar in bars) < 0.001


def test_connections_show_their_setting_up_and_what_travelled_over_them() -> None:
    chart = connection_chart(measurements.page(30))
    assert [row.name for row in chart.rows] == list(measurements.HOSTS)
    assert {bar.phase for bar in chart.rows[1].bars} == {"dns", "connect", "tls", "wait", "download"}
    assert sum(int(row.notes[0].split()[0]) for row in chart.rows) == 29


def test_a_connection_that_no_request_used_says_so_first() -> None:
    measured = measurements.page(3)
    idle = replace(measured.waterfall.connections[0], number=9, requests=0, preconnected=True)
    (row,) = connection_chart(replace(measured, waterfall=Waterfall(requests=(), connections=(idle,)))).rows
    assert row.notes == ("never used", "opened ahead")
    assert row.spoken.endswith("; never used")


def test_only_a_connection_that_its_certificate_ended_is_told_as_failed() -> None:
    measured = measurements.page(3)
    wrong = replace(measured.waterfall.connections[0], certificate_error="ERR_CERT_DATE_INVALID")
    answered = replace(measured.waterfall.requests[0], connection=wrong.number)
    unanswered = replace(answered, status=None, failure="ERR_CERT_DATE_INVALID")

    def row(*requests: Request) -> Row:
        waterfall = Waterfall(requests=requests, connections=(wrong,))
        return connection_chart(replace(measured, waterfall=waterfall)).rows[0]

    refused, accepted = row(unanswered), row(answered)
    assert (refused.tint, refused.traits, refused.notes[0]) == ("error", ("failed",), "ERR_CERT_DATE_INVALID")
    assert (accepted.tint, accepted.traits) == ("", ())
    assert accepted.notes[0] == "accepted all the same: ERR_CERT_DATE_INVALID"
    assert row().tint == "error"


def test_the_setting_up_of_a_connection_is_drawn_once_over_all_lanes() -> None:
    bars = connection_chart(measurements.page(30)).rows[1].bars
    assert [bar.phase for bar in bars if bar.lane == -1] == ["dns", "connect", "tls"]
    assert {bar.phase for bar in bars if bar.lane >= 0} == {"wait", "download"}


def test_a_request_that_had_to_wait_for_the_connection_shares_its_lane() -> None:
    """It was wished first and sent second."""
    waited = Timing(start_us=0, end_us=90_000, wait=Span(start_us=60_000, end_us=90_000))
    first = Timing(start_us=10_000, end_us=50_000, wait=Span(start_us=20_000, end_us=50_000))
    template = measurements.page(12).waterfall.requests[1]
    requests = [replace(template, number=number, timing=timing) for number, timing in ((1, waited), (2, first))]
    page = replace(measurements.page(12), waterfall=replace(measurements.page(12).waterfall, requests=tuple(requests)))
    (row,) = [row for row in connection_chart(page).rows if row.number == template.connection]
    assert row.lanes == 1


def test_requests_that_travel_at_a_time_lie_in_lanes_of_their_own() -> None:
    assert lanes_of([(0, 10), (5, 20), (6, 8), (8, 9), (10, 12), (30, 31)]) == [0, 1, 2, 2, 0, 0]
    (row,) = [row for row in connection_chart(measurements.page(30)).rows if row.number == 2]
    assert row.lanes > 1
    assert f"up to {row.lanes} at a time" in row.spoken
    assert any(bar.title == "3. inter.woff2 from cdn.shop.example" for bar in row.bars)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=30))
def test_no_two_requests_of_a_lane_overlap(found: list[tuple[int, int]]) -> None:
    extents = sorted((start, start + length) for start, length in found)
    by_lane: dict[int, int] = {}
    for (start, end), lane in zip(extents, lanes_of(extents), strict=True):
        assert by_lane.get(lane, 0) <= start
        by_lane[lane] = end


def test_a_connection_that_several_hosts_share_names_them() -> None:
    page = measurements.page(2)
    second = replace(page.waterfall.requests[1], connection=1)
    shared = replace(page, waterfall=replace(page.waterfall, requests=(page.waterfall.requests[0], second)))
    assert "also img.shop.example" in connection_chart(shared).rows[0].notes


def test_a_probe_has_one_row_a_hop() -> None:
    chart = probe_chart(measurements.probe())
    assert [(row.status, row.tint) for row in chart.rows] == [("301", "redirect"), ("200", "")]
    assert [mark.text for mark in chart.marks] == ["First byte after redirects 311 ms"]


@pytest.mark.parametrize("name", ["run_result.measured_page", "run_result.measured_probe", "run_result.measured_pair"])
def test_the_golden_messages_can_be_drawn(name: str) -> None:
    result = wire.decode((EXAMPLES / f"{name}.json").read_bytes(), RunResult)
    assert isinstance(result.outcome, Measured)
    measurement = as_probe(result.outcome.measurement)
    chart = page_chart(measurement) if isinstance(measurement, PageMeasurement) else probe_chart(measurement)
    assert chart.rows
    assert all(row.bars and row.name and row.time != "\N{EN DASH}" for row in chart.rows)


@pytest.mark.parametrize("chart", [page_chart(page_of()), connection_chart(page_of()), probe_chart(ProbeMeasurement())])
def test_nothing_measured_is_an_empty_chart(chart: Chart) -> None:
    assert (chart.rows, chart.marks, chart.lanes) == ((), (), 0)
