"""The same run has the same name wherever it is named."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from workers.measurement.identity import run_id
from workers.tests.builders import MONITOR, SLOT

NAMED: dict[str, Any] = {"monitor_id": MONITOR, "region": "eu", "scheduled_for": SLOT, "attempt": 1}


def test_the_name_follows_from_what_it_names_for_ever() -> None:
    """Both sides and every version must agree: a change here doubles the runs in flight at an update."""
    assert run_id(**NAMED) == UUID("b3c64b1f-d85a-5c9e-b796-633f3e80dc39")


@pytest.mark.parametrize(
    "change",
    [
        {"monitor_id": UUID(int=1)},
        {"region": "us"},
        {"scheduled_for": SLOT + timedelta(microseconds=1)},
        {"attempt": 2},
    ],
)
def test_another_run_has_another_name(change: dict[str, object]) -> None:
    assert run_id(**NAMED | change) != run_id(**NAMED)


def test_an_instant_is_the_same_in_any_time_zone() -> None:
    elsewhere = SLOT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert run_id(**NAMED | {"scheduled_for": elsewhere}) == run_id(**NAMED)


def test_whole_seconds_and_microseconds_are_told_apart() -> None:
    names = {
        run_id(**NAMED | {"scheduled_for": datetime(2026, 1, 1, second=1, microsecond=us, tzinfo=UTC)})
        for us in (0, 1, 100_000)
    }
    assert len(names) == 3
