"""Times as a reader sees them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.utils import timezone

from backend.web import times
from backend.web.templatetags.format import moment


@pytest.fixture(autouse=True)
def new_years_eve() -> Iterator[None]:
    """Half past eleven in London: in Tokyo it is the next year."""
    with time_machine.travel(datetime(2026, 12, 31, 23, 30, tzinfo=UTC), tick=False):
        yield


def test_a_time_of_another_year_has_its_year() -> None:
    assert times.short(datetime(2026, 1, 2, 3, 4, tzinfo=UTC)) == "2 Jan 03:04"
    assert times.short(datetime(2025, 12, 31, 23, 59, tzinfo=UTC)) == "31 Dec 2025 23:59"
    assert times.short(datetime(2027, 10, 31, 2, 30, tzinfo=UTC)) == "31 Oct 2027 02:30"
    assert ">31 Oct 2027 02:30</time>" in moment(datetime(2027, 10, 31, 2, 30, tzinfo=UTC))
    assert times.as_read("Since 2025-12-31 23:59 UTC.") == "Since 31 Dec 2025 23:59."


def test_which_year_it_is_the_readers_zone_says() -> None:
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        assert times.short(datetime(2026, 12, 31, 14, 0, tzinfo=UTC)) == "31 Dec 2026 23:00"
        assert times.short(datetime(2026, 12, 31, 15, 0, tzinfo=UTC)) == "1 Jan 00:00"
        assert times.as_read("Since 2026-12-31 15:00 UTC.") == "Since 1 Jan 00:00."
