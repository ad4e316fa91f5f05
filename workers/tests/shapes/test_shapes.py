"""Page shapes: what the reader makes of golden captures is what was written by hand."""

import pytest

from workers.measurement.compute.page.page import compute_page
from workers.measurement.waterfall import RowFlag, ServedFrom
from workers.tests.shapes import golden
from workers.tests.shapes.catalogue import SHAPES
from workers.tests.shapes.table import differences


@pytest.mark.parametrize("name", SHAPES)
def test_rows_and_connections_are_those_that_were_written_by_hand(name: str) -> None:
    assert differences(SHAPES[name], compute_page(golden.load(name)).measurement) == []


@pytest.mark.parametrize("name", SHAPES)
def test_an_answer_that_came_whole_has_its_bytes_counted(name: str) -> None:
    """Also what a script fetches, of which DevTools counts none."""
    for row in compute_page(golden.load(name)).measurement.waterfall.requests:
        told = next(
            (int(header.value) for header in row.response_headers if header.name.lower() == "content-length"), None
        )
        encoded = any(header.name.lower() == "content-encoding" for header in row.response_headers)
        assert row.served_from is not ServedFrom.NETWORK or row.status is None or row.transferred_bytes != 0, row.url
        whole = row.failure is None and row.method != "HEAD" and row.status == 200 and not encoded
        if told is not None and whole and row.timing.end_us is not None and row.served_from is ServedFrom.NETWORK:
            # Of what is kept for later, or asked for once more, without being read nobody counts the bytes.
            is_unread = RowFlag.PREFETCH in row.flags or row.redirected_to is not None
            assert row.body_bytes == told or (row.body_bytes is None and is_unread), row.url


@pytest.mark.parametrize(
    ("name", "url", "protocol"),
    [
        ("cancelled", "https://two.test/never", "h2"),
        ("hung-up", "https://also.test/a.js", "http/1.1"),
        ("refused-host", "https://closed.test:444/0.png", None),
        ("untrusted-host", "https://bad.test/0.png", None),
    ],
)
def test_what_nobody_answered_was_asked_in_the_protocol_that_the_log_tells(
    name: str, url: str, protocol: str | None
) -> None:
    rows = compute_page(golden.load(name)).measurement.waterfall.requests
    assert [row.protocol for row in rows if row.url == url] == [protocol]
