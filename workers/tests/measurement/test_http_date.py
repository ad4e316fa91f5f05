"""Dates of HTTP, as servers send them and as they should not."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.http_date import http_date

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Sat, 21 Nov 2026 12:00:00 GMT",
        "Saturday, 21-Nov-26 12:00:00 GMT",
        "Sat, 21 Nov 2026 14:00:00 +0200",
        "Sat, 21 Nov 2026 12:00:00 -0000",
    ],
)
def test_a_date_is_an_instant_in_utc(text: str) -> None:
    assert http_date(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "yesterday",
        "Sat, 99 Nov 2026 12:00:00 GMT",
        "Sat, 21 Nov 99999 12:00:00 GMT",
        "Sat, 21 Nov 99999999999999999999 12:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 -1200",
        "Sat, 21 Nov 2026 12:00:00 +99999999999",
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert http_date(text) is None


@given(st.text(max_size=60) | st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,3} Nov [0-9]{1,25} [0-9:]{1,12} [+-]?[0-9]{0,12}"))
def test_anything_is_a_date_in_utc_or_none(text: str) -> None:
    instant = http_date(text)
    assert instant is None or instant.tzinfo is UTC
