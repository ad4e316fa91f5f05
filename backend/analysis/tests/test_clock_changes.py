"""Where people's clocks are set, what comes at the same hour of their day is still known."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from backend.analysis.clock_changes import same_hour
from backend.analysis.events import AlertClass
from backend.analysis.replay import replay
from backend.analysis.settings import DAY_S, HOUR_S, settings_for

SPRING, AUTUMN = datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)
CHANGES = [
    ("Europe/Berlin", SPRING),
    ("Europe/Berlin", AUTUMN),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
]
_QUIET_DAYS, _EVERY_S = 12, 300.0


@pytest.mark.parametrize(("zone", "change"), CHANGES)
def test_a_nightly_job_that_is_known_is_not_told_again_when_clocks_are_set(zone: str, change: datetime) -> None:
    random, place = np.random.default_rng(1), ZoneInfo(zone)
    times = np.arange(change.timestamp() - _QUIET_DAYS * DAY_S, change.timestamp() + 4 * DAY_S, _EVERY_S)
    hours = [(local := datetime.fromtimestamp(at, place)).hour + local.minute / 60 for at in times]
    factors = np.array([1.5 if 4 <= hour < 4.5 else 1.0 for hour in hours])
    values = 200 * factors * np.exp(random.normal(0, 0.05, times.size))
    told = replay(
        {"fra": list(zip(times.tolist(), values.tolist(), strict=True))},
        [],
        settings_for("ttfb_ms", interval_s=_EVERY_S),
    )
    slower = [one.alert for one in told if one.alert.alert_class is not AlertClass.IMPROVEMENT]
    assert [alert for alert in slower if alert.opened_at > change.timestamp() - DAY_S] == []


@pytest.mark.parametrize(("_zone", "change"), CHANGES)
def test_for_as_many_days_after_a_clock_is_set_an_hour_off_is_the_same_hour(_zone: str, change: datetime) -> None:
    an_hour_off = (2 * DAY_S, 2 * DAY_S - HOUR_S, 2 * DAY_S + HOUR_S)
    assert same_hour((change + timedelta(hours=3)).timestamp(), 2) == an_hour_off
    assert same_hour((change + timedelta(days=1, hours=3)).timestamp(), 2) == an_hour_off
    assert same_hour((change + timedelta(days=5)).timestamp(), 2) == (2 * DAY_S,)
    assert same_hour((change - timedelta(days=2)).timestamp(), 2) == (2 * DAY_S,)


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Australia/Sydney", "Pacific/Auckland", "America/Santiago"]
)
def test_every_night_on_which_a_clock_is_set_counts(zone: str) -> None:
    place, begin = ZoneInfo(zone), datetime(2024, 1, 1, tzinfo=UTC)
    hours = [begin + timedelta(hours=hour) for hour in range(4 * 366 * 24)]
    offsets = [at.astimezone(place).utcoffset() for at in hours]
    changes = [at for at, before, after in zip(hours[1:], offsets, offsets[1:], strict=False) if before != after]
    assert len(changes) >= 8
    assert all(len(same_hour((at + timedelta(hours=3)).timestamp(), 1)) == 3 for at in changes)


def test_on_no_other_sunday_is_an_hour_off_the_same() -> None:
    for day in (
        datetime(2026, 3, 15, tzinfo=UTC),
        datetime(2026, 6, 28, tzinfo=UTC),
        datetime(2026, 10, 18, tzinfo=UTC),
    ):
        assert same_hour((day + timedelta(hours=20)).timestamp(), 1) == (DAY_S,)
