"""Files that nobody meant, or somebody meant badly: bounded, and told by the place of the fault."""

import gzip
import json
import re
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.imports import source
from workers.measurement.imports.read import UnreadableFileError, read_import
from workers.measurement.timing import PHASES
from workers.tests.measurement.imports import samples
from workers.tests.measurement.imports.samples import at, entry, har, written


def fault(data: bytes) -> str:
    with pytest.raises(UnreadableFileError) as found:
        read_import(data)
    return str(found.value)


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The document with another value at a dotted place."""
    copy: Any = json.loads(json.dumps(document))
    inner = copy
    *way, last = path.split(".")
    for part in way:
        inner = inner[int(part) if isinstance(inner, list) else part]
    inner[int(last) if isinstance(inner, list) else last] = value
    return dict(copy)


TWO = har(entry(), at("https://shop.example/b"))
WHERE = "log.entries.1."


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("timings.wait", "long", "entry 2: timings.wait is not a number"),
        ("timings.wait", True, "entry 2: timings.wait is not a number"),
        ("timings.dns", [1], "entry 2: timings.dns is not a number"),
        ("timings.wait", float("nan"), "entry 2: timings.wait is not a number"),
        ("timings.receive", float("inf"), "entry 2: timings.receive is inf ms, longer than any page load"),
        ("timings.receive", 1e12, "entry 2: timings.receive is 1e+12 ms, longer than any page load"),
        ("startedDateTime", "yesterday", "entry 2: startedDateTime is not a date and time"),
        ("startedDateTime", 7, "entry 2: startedDateTime is not a date and time"),
        ("startedDateTime", "0001-01-01T00:00:00+23:00", "entry 2: startedDateTime is not a date and time"),
        ("startedDateTime", "1970-01-01T00:00:00Z", "entry 2: startedDateTime lies in the year 1970"),
        ("request.url", 7, "entry 2: request.url is missing"),
        ("request", None, "entry 2: request.url is missing"),
    ],
)
def test_an_entry_that_cannot_be_read_is_left_out_and_told(place: str, value: Any, said: str) -> None:
    found = read_import(written(changed(TWO, WHERE + place, value)))
    assert (found.skipped, found.remarks) == (1, (said,))
    assert len(found.pages[0].measurement.waterfall.requests) == 1


@pytest.mark.parametrize("junk", [None, 7, "x", [], [1]])
def test_an_entry_that_is_no_object_is_left_out(junk: Any) -> None:
    found = read_import(written(changed(TWO, "log.entries.1", junk)))
    assert found.remarks == ("entry 2: it is not an object",)


@pytest.mark.parametrize(
    "path",
    ["response", "cache", "timings", "response.content", "response.headers", "request.headers", "time",
     "response.status", "request.method", "response.httpVersion"],
)  # fmt: skip
@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, [[]], {"a": {}}])
def test_what_is_not_needed_may_be_anything(path: str, junk: Any) -> None:
    if path == "time" and junk is not None:
        junk = 7
    found = read_import(written(changed(TWO, WHERE + path, junk)))
    assert len(found.pages[0].measurement.waterfall.requests) == 2


def test_when_nothing_can_be_read_the_first_reason_is_told() -> None:
    said = fault(written(har(entry("never"))))
    assert (
        said == "None of the file's requests can be read. The first: entry 1: startedDateTime is not a date and time."
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "The file is empty."),
        (b"\xef\xbb\xbf \n", "The file is empty."),
        (b"[]", "holds JSON, but no object"),
        (b"{}", "neither an HTTP Archive"),
        (b'{"log": 7}', "neither an HTTP Archive"),
        (b'{"log": {}}', "has no entries"),
        (b'{"log": {"entries": []}}', "The file holds no requests. Load the page while the tool records"),
        (b'{"log": {"entries": [', "not JSON: "),
        (b"<html>", "not JSON but "),
        (b'{"a": "\xff"}', "not UTF-8: byte 7 is wrong"),
        (b"\xff\xfe{", "not UTF-16-LE: byte 2 is wrong"),
        (b"PK\x03\x04rest", "ZIP archive. Unpack it"),
        (b"\x1f\x8brest", "cannot be unpacked"),
        (gzip.compress(b"{}", mtime=0)[:-4], "its end is missing"),
        (gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "packed with gzip twice"),
        (b'{"data": {"runs": {"1": {"firstView": {}}}}}', "no view with requests"),
        (b"\n<!DOCTYPE html><html>", "not JSON but a web page (HTML), perhaps of a sign-in or of an error"),
        (written(TWO)[:-300], "not JSON: its end is missing"),
        (b'{"log": {"entries"', "not JSON: its end is missing"),
        (b'{"log" 7, "entries"', "not JSON: Expecting ':' delimiter (line 1, column 8)"),
        (written({"statusCode": 100, "statusText": "Test Started"}), "WebPageTest says: Test Started."),
        (written({"statusCode": 400, "data": {"statusText": "Test not found."}}), "WebPageTest says: Test not found."),
        (b'{"lighthouseVersion": "12.2.1", "audits": {}}', "a Lighthouse report, which tells no phases"),
        (b'{"constants": {"logEventTypes": {}}, "events": []}', "a network log of Chrome. firstbyte netlog reads it"),
        (b'{"traceEvents": []}', "a trace of Chrome, which tells no phases"),
        (b'{"data": {"runs": {"1": {"firstView": {"requests": [7]}}}}}', "request 1: it is not an object"),
    ],
)
def test_a_file_that_is_none_is_told_as_what_it_is(data: bytes, said: str) -> None:
    assert said in fault(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zlib.compress])
def test_any_unicode_is_read_packed_or_not(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """Also as zlib packs, which mitmproxy calls a .zhar."""
    text = json.dumps(har(at("https://shop.example/ü")), ensure_ascii=False).encode(encoding)
    found = read_import(pack(text))
    assert found.pages[0].url == "https://shop.example/ü"


def test_what_was_packed_piece_by_piece_is_read_whole() -> None:
    """RFC 1952, section 2.2: a file is a series of members. What follows the last one is none."""
    data = written(TWO)
    pieces = b"".join(gzip.compress(data[start : start + 100]) for start in range(0, len(data), 100))
    for packed in (pieces, pieces + bytes(512), pieces + b"junk"):
        assert len(read_import(packed).pages[0].measurement.waterfall.requests) == 2


def test_half_a_surrogate_pair_in_a_body_spoils_nothing() -> None:
    made = entry()
    made["response"]["content"]["text"] = "\ud83d"
    made["request"]["headers"] = [{"name": "x", "value": "\udc00"}]
    (row,) = read_import(written(har(made))).pages[0].measurement.waterfall.requests
    assert row.request_headers[0].value == "\ufffd"


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 5_000_000)
    assert "more than" in fault(gzip.compress(b" " * 3_000_000) * 2)
    assert "more than" in fault(gzip.compress(b" " * 50_000_000))
    assert "more than" in fault(b" " * 5_000_001)


def test_a_file_of_very_many_empty_members_is_given_up_early() -> None:
    assert "more than 10000 parts" in fault(gzip.compress(b"", mtime=0) * 1_000_000)


def test_small_brackets_do_not_make_large_objects() -> None:
    began = time.process_time()
    assert "values" in fault(b'{"log": [' + b"[]," * (source.MAX_VALUES + 1) + b"0]}")
    assert time.process_time() - began < 10


def test_commas_in_bodies_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_VALUES", 1_000)
    made = entry()
    made["response"]["content"]["text"] = 'a,"b\\",' * 1_000
    assert read_import(written(har(made))).pages


@pytest.mark.parametrize("depth", [150, 3_000, 500_000])
def test_what_is_nested_deeply_is_refused_or_ignored(depth: int) -> None:
    """Whatever the parser makes of it, it answers."""
    data = b'{"log": {"entries": [], "x": ' + b"[" * depth + b"]" * depth + b"}}"
    assert fault(data)


def test_numbers_as_long_as_books_are_refused() -> None:
    assert "numbers too long" in fault(b'{"log": {"entries": [' + b"9" * 50_000 + b"]}}")


def test_more_pages_and_entries_than_anybody_needs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.measurement.imports.har_file.MAX_PAGES", 2)
    monkeypatch.setattr("workers.measurement.imports.har_file.MAX_ENTRIES", 4)
    entries = [at(f"https://shop.example/{n}", pageref=f"p{n}") for n in range(6)]
    found = read_import(written(har(*entries, pages=[samples.page(f"p{n}") for n in range(6)])))
    assert (len(found.pages), found.skipped) == (2, 4)
    assert found.remarks == (
        "The file has 6 entries, of which 4 are read.",
        "The file has 4 pages, of which 2 are read.",
    )


@pytest.mark.parametrize("pages", [[], [samples.page()]])
@pytest.mark.parametrize("stray", ["2025-11-21T12:00:00Z", "2027-01-01T00:00:00Z"])
def test_one_clock_that_went_wrong_takes_no_other_row_with_it(pages: list[dict[str, Any]], stray: str) -> None:
    entries = [at(f"https://shop.example/{n}", started=f"2026-11-21T12:00:0{n}Z") for n in range(1, 6)]
    found = read_import(written(har(entry(stray), *entries, pages=pages)))
    assert found.skipped == 1
    assert found.remarks[0].startswith("entry 1: startedDateTime is ")
    assert len(found.pages[0].measurement.waterfall.requests) == 5
    assert found.pages[0].measurement.vitals.load_us == (500_000 if pages else None)


def test_remarks_are_few() -> None:
    found = read_import(written(har(entry(), *(entry(f"x{n}") for n in range(100)))))
    assert (found.skipped, len(found.remarks)) == (100, 20)


def test_a_large_file_is_read_in_seconds() -> None:
    """4,000 entries, every one on a connection of its own."""
    entries = [at(f"https://shop.example/{n}", connection=str(n)) for n in range(4_000)]
    data = written(har(*entries))
    began = time.process_time()
    assert len(read_import(data).pages[0].measurement.waterfall.requests) == 2_000
    assert time.process_time() - began < 10


KEYS = st.sampled_from(
    ["log", "pages", "entries", "startedDateTime", "time", "request", "response", "timings", "wait", "connect", "ssl",
     "url", "status", "headers", "name", "value", "pageref", "id", "_created", "_load_start", "_ttfb_end", "_dns_start",
     "_dns_end", "_load_end", "pageTimings", "onLoad", "_longTasks", "connection", "_initiator", "content", "data",
     "runs", "1", "firstView", "steps", "completed", "full_url", "load_start", "socket", "_run", "_cached"]
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-10, 10**20), st.floats(), st.text(max_size=8),
    st.sampled_from([samples.START, "https://shop.example/", "http://[", "-1", "1e5"]),
)  # fmt: skip
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6))
DOCUMENTS = [samples.devtools(), samples.firefox(), samples.playwright(), samples.browsertime(),
             samples.webpagetest(900, 1000)]  # fmt: skip


def places(value: Any, path: str = "") -> list[str]:
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = [(str(place), one) for place, one in enumerate(value)]
    else:
        return [path]
    found = [
        place for name, one in inner if "." not in name for place in places(one, f"{path}.{name}" if path else name)
    ]
    return ([path] if path else []) + found


@given(st.data())
def test_a_file_with_anything_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(DOCUMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(document)))
        document = changed(document, place, data.draw(ANYTHING))
    check(written(document))


@given(ANYTHING)
def test_any_document_is_read_or_refused(document: Any) -> None:
    check(written(document if isinstance(document, dict) else {"log": {"entries": [document]}}))


@given(
    st.binary(max_size=200)
    | st.sampled_from(DOCUMENTS).map(written).flatmap(lambda one: st.integers(0, len(one)).map(lambda end: one[:end]))
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check(data)


def check(data: bytes) -> None:
    """Either a sentence, or rows that can be stored and drawn."""
    try:
        pages, said = read_import(data).pages, "."
    except UnreadableFileError as error:
        pages, said = (), str(error)
    assert re.fullmatch(r"[^\n]*[.!?]", said)
    for page in pages:
        numbers = {connection.number for connection in page.measurement.waterfall.connections}
        for row in page.measurement.waterfall.requests:
            spans = [span for phase in PHASES if (span := getattr(row.timing, phase)) is not None]
            assert all(span.duration_us >= 0 for span in spans)
            assert row.connection is None or row.connection in numbers
