"""Archives: valid by HAR 1.2, with phases that add up, and without secrets."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from workers.measurement.connection import Connection, Header
from workers.measurement.har import About, har_document
from workers.measurement.har_timing import timings_of
from workers.measurement.messages import Hop, PageMeasurement, ProbeMeasurement, RunResult
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView, ViewSample
from workers.measurement.redaction import REDACTED, Masks, Redaction, is_secret_name
from workers.measurement.timing import PHASES, Span, Timing
from workers.measurement.vitals import TimingKind, UserTiming, Vitals
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, TimingSource, Waterfall
from workers.measurement.wire import decode

EXAMPLES = Path(__file__).parents[2] / "measurement" / "examples"
SCHEMA = Draft202012Validator(json.loads(Path(__file__).with_name("har-1.2.schema.json").read_text()))
ABOUT = About(url="https://shop.example/", started_at=datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC), version="0.1.0")
TIMING = Timing(
    start_us=1_000,
    end_us=111_000,
    dns=Span(start_us=3_000, end_us=11_000),
    connect=Span(start_us=11_000, end_us=31_000),
    tls=Span(start_us=31_000, end_us=65_000),
    send=Span(start_us=65_500, end_us=65_600),
    wait=Span(start_us=65_600, end_us=105_600),
    download=Span(start_us=105_600, end_us=111_000),
)
REUSED = Timing(start_us=0, end_us=9_000, send=Span(start_us=0, end_us=100), wait=Span(start_us=100, end_us=9_000))


def page(*rows: Request, **fields: Any) -> PageMeasurement:
    connection = Connection(number=1, host="shop.example", port=443, address="203.0.113.7", protocol="h2")
    return PageMeasurement(
        waterfall=Waterfall(requests=rows, connections=(connection,)), vitals=Vitals(load_us=500_000), **fields
    )


def row(**fields: Any) -> Request:
    usual: dict[str, Any] = {
        "number": 1,
        "url": "https://shop.example/",
        "method": "GET",
        "resource_type": ResourceType.DOCUMENT,
        "timing": TIMING,
        "timing_source": TimingSource.NETLOG,
        "connection": 1,
        "status": 200,
    }
    return Request(**usual | fields)


def archive(measurement: Any, about: About = ABOUT) -> dict[str, Any]:
    """A valid archive, as it reads after it was sent."""
    document: dict[str, Any] = json.loads(json.dumps(har_document(measurement, about)))
    faults = [f"{error.instance_path}: {error.message}" for error in SCHEMA.iter_errors(document)]
    assert not faults, faults[:5]
    log: dict[str, Any] = document["log"]
    return log


def entry(measurement: Any, about: About = ABOUT) -> dict[str, Any]:
    (found,) = archive(measurement, about)["entries"]
    return dict(found)


def sum_of(timings: dict[str, float]) -> float:
    return sum(took for name, took in timings.items() if name != "ssl" and took > 0)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("run_result.*.json")), ids=lambda file: file.stem)
def test_every_example_of_the_wire_becomes_a_valid_archive(file: Path) -> None:
    result = decode(file.read_bytes(), RunResult)
    archive(getattr(result.outcome, "measurement", None))


def test_the_phases_are_those_of_har_and_add_up() -> None:
    found = entry(page(row()))
    assert found["timings"] == {
        "blocked": 2.5,
        "dns": 8.0,
        "connect": 54.0,
        "ssl": 34.0,
        "send": 0.1,
        "wait": 40.0,
        "receive": 5.4,
    }
    assert found["time"] == 110.0


def test_a_reused_connection_has_neither_connect_nor_ssl() -> None:
    timings = entry(page(row(timing=REUSED, reused=True)))["timings"]
    assert (timings["dns"], timings["connect"], timings["ssl"], timings["receive"]) == (-1, -1, -1, 0)


def test_quic_has_one_handshake() -> None:
    timings = timings_of(Timing(start_us=0, end_us=10, tls=Span(start_us=0, end_us=10)))
    assert (timings["connect"], timings["ssl"]) == (0.01, 0.01)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)) | st.none(), min_size=6, max_size=6),
    st.integers(0, 10**6) | st.none(),
)
def test_phases_add_up_for_any_spans(spans: list[tuple[int, int] | None], end_us: int | None) -> None:
    made = {
        phase: None if span is None else Span(start_us=min(span), end_us=max(span))
        for phase, span in zip(PHASES, spans, strict=True)
    }
    found = entry(page(row(timing=Timing(start_us=0, end_us=end_us, **made))))
    assert found["time"] == pytest.approx(sum_of(found["timings"]), abs=0.002)
    assert found["timings"]["ssl"] <= max(found["timings"]["connect"], 0) + 1e-9


def test_an_entry_says_when_and_where() -> None:
    found = entry(page(row()))
    assert found["startedDateTime"] == "2026-11-21T12:00:00.001005Z"
    assert (found["serverIPAddress"], found["connection"]) == ("203.0.113.7", "1")
    assert found["request"]["httpVersion"] == "HTTP/2"


def test_where_the_parser_found_a_request_is_told_as_devtools_counts() -> None:
    found = entry(page(row(initiator_url="https://a.example/", initiator_at=(3, 18))))
    assert found["_initiator"] == {
        "type": "parser",
        "url": "https://a.example/",
        "lineNumber": 2,
        "columnNumber": 17,
    }
    without = entry(page(row(initiator_url="https://a.example/")))
    assert without["_initiator"] == {"type": "other", "url": "https://a.example/"}


def test_extras_stand_under_an_underscore_and_only_when_known() -> None:
    found = entry(
        page(
            row(
                priority="VeryHigh",
                transferred_bytes=900,
                render_blocking=True,
                initiator_url="https://a.example/x.js?token=1",
            )
        )
    )
    assert found["_priority"] == "VeryHigh"
    assert found["_transferSize"] == 900
    assert found["_initiator"]["url"] == f"https://a.example/x.js?token={REDACTED}"
    assert "_servedFrom" not in found
    assert "_error" not in found
    cached = entry(page(row(served_from=ServedFrom.DISK_CACHE)))
    assert (cached["_servedFrom"], cached["_fromCache"], cached["response"]["bodySize"]) == ("disk_cache", "disk", 0)


def test_the_true_places_stand_beside_the_phases() -> None:
    found = entry(page(row(), document=1))
    names = ("_dns_start", "_dns_end", "_connect_start", "_connect_end", "_ssl_start", "_ssl_end", "_load_start")
    assert [found[name] for name in names] == [3.0, 11.0, 11.0, 31.0, 31.0, 65.0, 65.5]
    names = ("_created", "_ttfb_start", "_ttfb_end", "_download_start", "_download_end", "_load_end", "_all_end")
    assert [found[name] for name in names] == [1.0, 65.5, 105.6, 105.6, 111.0, 111.0, 111.0]
    assert found["_final_base_page"] is True
    assert "_dns_start" not in entry(page(row(timing=REUSED)))


def test_an_entry_begins_with_a_connection_that_was_opened_ahead() -> None:
    """The spans add up from there, and the wait for the page's wish is a gap like any other."""
    ahead = Timing(
        start_us=50_000,
        end_us=90_000,
        connect=Span(start_us=-2_000, end_us=20_000),
        wait=Span(start_us=50_000, end_us=80_000),
        download=Span(start_us=80_000, end_us=90_000),
    )
    found = entry(page(row(timing=ahead)))
    assert found["startedDateTime"] == "2026-11-21T11:59:59.998005Z"
    assert (found["time"], found["timings"]["blocked"], found["timings"]["connect"]) == (92.0, 30.0, 22.0)
    assert (found["_connect_start"], found["_created"]) == (-2.0, 50.0)


def test_the_second_view_is_a_second_page() -> None:
    measured = page(row(), row(number=2, timing=REUSED))
    again = RepeatView(
        state=PageState.WARM_CACHE, waterfall=Waterfall(requests=(row(timing=REUSED),), connections=()), vitals=Vitals()
    )
    log = archive(replace(measured, repeat=again))
    assert [(one["id"], one["_cached"]) for one in log["pages"]] == [("page_1", 0), ("page_2", 1)]
    assert [one["pageref"] for one in log["entries"]] == ["page_1", "page_1", "page_2"]
    assert log["pages"][1]["startedDateTime"] == "2026-11-21T12:00:00.111005Z"
    assert "not kept" in log["pages"][1]["comment"]


def test_each_view_began_when_the_browser_says_and_bears_the_number_of_its_load() -> None:
    begun, again = datetime(2026, 11, 21, 12, 0, 7, tzinfo=UTC), datetime(2026, 11, 21, 12, 0, 11, tzinfo=UTC)
    waterfall = Waterfall(requests=(row(),), connections=())
    repeat = RepeatView(state=PageState.WARM_CACHE, waterfall=waterfall, vitals=Vitals(), began_at=again)
    loads = [ViewSample(load=1, state=PageState.COLD, vitals=Vitals(), failure="page_timeout")]
    loads += [ViewSample(load=2, state=PageState.COLD, vitals=Vitals(fcp_us=500), ttfb_us=100)]
    log = archive(replace(page(row()), began_at=begun, repeat=repeat, samples=tuple(loads)))
    assert [one["startedDateTime"] for one in log["pages"]] == [
        "2026-11-21T12:00:07.000000Z",
        "2026-11-21T12:00:11.000000Z",
    ]
    assert log["entries"][0]["startedDateTime"] == "2026-11-21T12:00:07.001000Z"
    assert [one["_run"] for one in log["pages"]] == [2, 2]
    assert log["pages"][1]["comment"] == "The second view."


def test_figures_have_the_names_that_other_tools_look_for() -> None:
    vitals = Vitals(fcp_us=1_000, lcp_us=2_500, cls=0.1, speed_index_us=2_000, start_render_us=900, tbt_us=0)
    tasks = (Span(start_us=1_000, end_us=61_000),)
    (found,) = archive(replace(page(row(), document=1), vitals=replace(vitals, long_tasks=tasks)))["pages"]
    names = ("_TTFB", "_render", "_SpeedIndex", "_TotalBlockingTime", "_longTasks")
    assert [found[name] for name in names] == [105.6, 0.9, 2.0, 0.0, [[1.0, 61.0]]]
    assert found["pageTimings"]["_largestContentfulPaint"] == 2.5
    assert found["pageTimings"]["onLoad"] == -1


def test_what_the_page_measured_is_told_in_webpagetests_names_and_not_at_the_strict_level() -> None:
    mark = UserTiming(kind=TimingKind.MARK, name="hero", at_us=12_500)
    measure = UserTiming(kind=TimingKind.MEASURE, name="a https://a.example/?token=x", at_us=1_000, duration_us=2_000)
    told = replace(page(row(), document=1), vitals=Vitals(user_timings=(mark, measure)))
    (found,) = archive(told)["pages"]
    assert found["_userTimes"] == {"hero": 12.5}
    [first] = found["_userTimingMeasures"]
    assert (first["startTime"], first["duration"], "token=x" in first["name"]) == (1.0, 2.0, False)
    (strict,) = archive(told, replace(ABOUT, redaction=Redaction.STRICT))["pages"]
    assert "_userTimes" not in strict
    assert "_userTimingMeasures" not in strict


def test_a_request_that_failed_has_status_0_and_its_error() -> None:
    found = entry(page(row(status=None, failure="ERR_CONNECTION_REFUSED", timing=Timing(start_us=0))))
    assert (found["response"]["status"], found["_error"], found["time"]) == (0, "ERR_CONNECTION_REFUSED", 0)


def test_a_probe_has_an_entry_for_each_hop() -> None:
    first = Hop(
        url="https://shop.example/",
        connection=1,
        timing=TIMING,
        status=301,
        head_bytes=200,
        body_bytes=0,
        response_headers=(Header(name="Location", value="/en?sid=abc&page=2"),),
    )
    last = Hop(
        url="https://shop.example/en",
        connection=1,
        timing=REUSED,
        status=200,
        head_bytes=300,
        body_bytes=900,
        response_headers=(Header(name="Content-Encoding", value="br"), Header(name="content-type", value="text/html")),
    )
    one, two = archive(ProbeMeasurement(hops=(first, last)))["entries"]
    assert one["response"]["redirectURL"] == f"/en?sid={REDACTED}&page={REDACTED}"
    assert two["response"]["content"] == {"size": -1, "mimeType": "text/html"}
    assert (two["response"]["headersSize"], two["response"]["bodySize"]) == (300, 900)


def test_nothing_seen_is_an_archive_without_entries() -> None:
    assert archive(None)["entries"] == []


def test_the_browser_is_named_with_its_version() -> None:
    assert archive(page(browser_version="Chromium 156.0.1"))["browser"] == {"name": "Chromium", "version": "156.0.1"}
    assert archive(page(browser_version="156"))["browser"] == {"name": "Chromium", "version": "156"}


SECRETS = (
    "s3cret-cookie",
    "s3cret-bearer",
    "s3cret-key",
    "s3cret-user",
    "s3cret-token",
    "s3cret-referer",
    "s3cret-fragment",
)
HEADERS = (
    Header(name="Cookie", value="a=s3cret-cookie"),
    Header(name="AUTHORIZATION", value="Bearer s3cret-bearer"),
    Header(name="X-Api-Key", value="s3cret-key"),
    Header(name="Referer", value="https://a.example/?access_token=s3cret-referer"),
    Header(name="Accept", value="text/html"),
)


def test_secrets_stay_at_home() -> None:
    url = "https://bob:s3cret-user@shop.example/cart?page=2&Token=s3cret-token#id_token=s3cret-fragment"
    answer = (Header(name="Set-Cookie", value="a=s3cret-cookie"), Header(name="Content-Type", value="text/html"))
    log = archive(page(row(url=url, request_headers=HEADERS, response_headers=answer)))
    text = json.dumps(log)
    assert not [secret for secret in SECRETS if secret in text]
    (found,) = log["entries"]
    masked = [{"name": "page", "value": REDACTED}, {"name": "Token", "value": REDACTED}]
    assert found["request"]["queryString"] == masked
    assert found["response"]["cookies"] == [{"name": "a", "value": REDACTED}]
    assert {"name": "Accept", "value": "text/html"} in found["request"]["headers"]
    assert [header["name"] for header in found["request"]["headers"]] == [header.name for header in HEADERS]


def shown(level: Redaction, **fields: Any) -> str:
    about = replace(ABOUT, redaction=level)
    return json.dumps(archive(page(row(**fields), title="Bob's basket"), about))


def test_who_asks_for_all_gets_all_but_what_opens_doors() -> None:
    url = "https://bob:s3cret-user@shop.example/cart?page=2"
    text = shown(Redaction.FULL, url=url, request_headers=HEADERS)
    assert "s3cret-key" in text
    assert "/cart?page=2" in text
    assert not [name for name in ("s3cret-bearer", "s3cret-cookie", "s3cret-user") if name in text]


def test_strangers_see_hosts_times_and_types_only() -> None:
    url = "https://shop.example/orders/bob@mail.example/invoice-77.pdf?page=2"
    text = shown(Redaction.STRICT, url=url, request_headers=HEADERS, initiator_url="https://shop.example/orders/")
    hidden = ("s3cret", "orders", "bob", "Bob", "invoice", "page=2", "203.0.113.7", 'Accept"')
    assert not [word for word in hidden if word in text]
    assert "https://shop.example/1.pdf" in text
    assert '"wait": 40.0' in text


def test_the_same_path_has_the_same_number() -> None:
    masks = Masks(Redaction.STRICT)
    asked = ["https://a.example/x.js", "https://a.example/x.js?v=2", "https://a.example/x.js", "https://a.example/"]
    assert [masks.url(url) for url in asked] == [
        "https://a.example/1.js",
        "https://a.example/2.js",
        "https://a.example/1.js",
        "https://a.example/",
    ]


def test_headers_about_caches_are_for_strangers_too() -> None:
    given = [Header(name="Age", value="3"), Header(name="X-User", value="bob"), Header(name="X-Cache", value="HIT")]
    assert [header.name for header in Masks(Redaction.STRICT).headers(given)] == ["Age", "X-Cache"]


@pytest.mark.parametrize(
    "name",
    ["Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "X-Auth-Token", "x-api-key", "apikey", "api_key",
     "access_token", "client_secret", "password", "PHPSESSID_token", "sid", "sig", "X-Amz-Signature",
     "X-Amz-Credential", "X-Amz-Security-Token", "jwt", "auth", "key", "session_id",
     "code", "state", "X-CSRF-Token", "pwd"],
)  # fmt: skip
def test_these_name_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["Accept", "Content-Type", "Server", "Server-Timing", "page", "q", "design", "monkey", "keyboard", "country_code",
     "sidebar", "signal", "X-Cache", "Age", "Cache-Control", "ETag", "postcode", "author", "sessions", "v"],
)  # fmt: skip
def test_these_do_not(name: str) -> None:
    assert not is_secret_name(name)


@given(st.text(max_size=300), st.sampled_from(Redaction))
def test_any_text_can_stand_for_an_address_or_a_value(text: str, level: Redaction) -> None:
    masks = Masks(level)
    masks.url(text)
    masks.headers([Header(name="Location", value=text), Header(name=text, value="x")])


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/a?b=&d#e",
        "/relative?x",
        "data:text/plain,a?token=b",
        "about:blank",
        "https://shop.example/?flag",
    ],
)
def test_an_address_without_values_stays_as_it_is(url: str) -> None:
    assert Masks(Redaction.STANDARD).url(url) == url


def test_a_long_parameter_without_a_name_is_a_value() -> None:
    assert Masks(Redaction.STANDARD).url("https://a.example/?eyJhbGciOiJIUzI1NiJ9") == f"https://a.example/?{REDACTED}"


def test_long_names_take_no_time() -> None:
    assert not is_secret_name("a-" * 100_000)
    assert not is_secret_name("_" * 100_000)
