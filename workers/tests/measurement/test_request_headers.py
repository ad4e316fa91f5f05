"""Which request headers a person may set."""

import pytest

from workers.measurement.connection import Header
from workers.measurement.request_headers import MAX_HEADERS, header_fault


def header(name: str, value: str = "x") -> Header:
    return Header(name=name, value=value)


def test_usual_headers_can_be_sent() -> None:
    usual = (
        header("Authorization", "Bearer abc"),
        header("Cookie", "a=b; c=d"),
        header("X-Überschrift".encode("ascii", "ignore").decode(), "ä\t"),
    )
    assert header_fault(usual) is None
    assert header_fault(()) is None


@pytest.mark.parametrize("name", ["", "X Y", "X:Y", "X\r\nHost", "Ä", "a" * 65])
def test_what_is_no_header_name_is_refused(name: str) -> None:
    assert "header name" in (header_fault((header(name),)) or "")


@pytest.mark.parametrize(
    "name", ["Host", "HOST", "content-length", "Transfer-Encoding", "Connection", "Accept-Encoding"]
)
def test_what_decides_where_the_request_goes_or_ends_is_ours(name: str) -> None:
    assert "leave it out" in (header_fault((header(name),)) or "")


@pytest.mark.parametrize("value", ["a\r\nHost: evil", "a\nb", "a\x00b", "a\x7f", "a\x85b", "\ud800"])
def test_a_value_cannot_break_out_of_its_line(value: str) -> None:
    assert "control character" in (header_fault((header("X-Test", value),)) or "")


def test_headers_are_bounded() -> None:
    assert "at most 4096" in (header_fault((header("X-Test", "a" * 5000),)) or "")
    assert f"at most {MAX_HEADERS}" in (header_fault((header("X-Test"),) * (MAX_HEADERS + 1)) or "")
