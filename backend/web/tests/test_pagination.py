from datetime import UTC, datetime

import pytest
from django.test import RequestFactory

from backend.web.pagination import position_before, position_of, time_before

AT = datetime(2026, 9, 1, 12, 0, 0, 123456, tzinfo=UTC)


def test_a_row_is_found_again_by_its_position(rf: RequestFactory) -> None:
    assert position_before(rf.get("/", {"before": position_of(AT, 41)})) == (AT, 41)


def test_a_time_is_found_again_by_its_text(rf: RequestFactory) -> None:
    assert time_before(rf.get("/", {"before": AT.isoformat()})) == AT


def test_a_zone_that_is_nowhere_on_earth_is_none_of_the_databases(rf: RequestFactory) -> None:
    time = time_before(rf.get("/", {"before": "2026-09-01T23:59:00+23:59"}))
    assert time is not None
    assert (time, time.tzinfo) == (datetime(2026, 9, 1, tzinfo=UTC), UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        AT.isoformat(),
        f"{AT.isoformat()},",
        f"{AT.isoformat()},-1",
        f"{AT.isoformat()},\u0661",
        f"{AT.isoformat()},{'9' * 19}",
        "2026-09-01T12:00:00,1",
        "2026-13-41T12:00:00Z,1",
        "yesterday,1",
        "0001-01-01T00:00:00+14:00,1",
        "9999-12-31T23:59:59-14:00,1",
    ],
)
def test_what_names_no_row_is_the_newest_page(rf: RequestFactory, text: str) -> None:
    assert position_before(rf.get("/", {"before": text})) is None


@pytest.mark.parametrize("text", ["", "2026-09-01T12:00:00", "2026-13-41T12:00:00Z", "yesterday"])
def test_what_names_no_moment_is_none(rf: RequestFactory, text: str) -> None:
    assert time_before(rf.get("/", {"before": text})) is None
