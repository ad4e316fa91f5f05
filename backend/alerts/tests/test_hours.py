"""From when on a channel may be told, on days of 23, 24 and 25 hours, wherever it is."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.alerts.hours import DAYS, Hours

MINUTE = timedelta(minutes=1)
WORKDAYS = DAYS[:5]
# Clocks that are set by an hour, by half an hour, at midnight, never, and by a whole day.
ZONES = (
    "Europe/Berlin",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "UTC",
)
TIMES = st.times().map(lambda at: at.replace(second=0, microsecond=0))
HOURS = st.builds(
    Hours,
    days=st.sets(st.sampled_from(DAYS), min_size=1).map(lambda days: tuple(day for day in DAYS if day in days)),
    begins=TIMES,
    ends=TIMES,
    time_zone=st.sampled_from(ZONES),
    critical_at_any_time=st.booleans(),
)
# Samoa had no 30 December 2011.
INSTANTS = st.datetimes(datetime(2011, 12, 1), datetime(2012, 12, 1), timezones=st.just(UTC))  # noqa: DTZ001 # of UTC


def hours(
    days: tuple[str, ...] = DAYS, begins: str = "08:00", ends: str = "18:00", zone: str = "Europe/Berlin"
) -> Hours:
    return Hours(days=days, begins=time.fromisoformat(begins), ends=time.fromisoformat(ends), time_zone=zone)


def berlin(text: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=fold).astimezone(UTC)


def open_minutes(of: Hours, begin: datetime, end: datetime) -> int:
    minutes = int((end - begin) / MINUTE)
    return sum(of.next_at(begin + minute * MINUTE) == begin + minute * MINUTE for minute in range(minutes))


@given(HOURS, INSTANTS)
def test_the_next_moment_is_not_before_and_lies_in_the_hours(of: Hours, at: datetime) -> None:
    found = of.next_at(at)
    assert found >= at
    assert of.next_at(found) == found


@given(HOURS, INSTANTS, st.floats(0, 1))
def test_nothing_in_between_lies_in_the_hours(of: Hours, at: datetime, share: float) -> None:
    found = of.next_at(at)
    assert of.next_at(at + share * (found - at)) == found


@given(HOURS, INSTANTS)
def test_who_waits_is_told_when_the_clock_comes_to_the_beginning_on_a_chosen_day(of: Hours, at: datetime) -> None:
    found = of.next_at(at)
    if found == at:
        return
    zone = ZoneInfo(of.time_zone)
    before, then = ((found - gone).astimezone(zone).replace(tzinfo=None) for gone in (MINUTE, timedelta(0)))
    # The clock may leave the beginning out, or the whole day.
    wanted = [day for day in (before.date(), then.date()) if DAYS[day.weekday()] in of.days]
    begun = [datetime.combine(day, of.begins) for day in wanted]
    assert then in begun or any(before < begin < then for begin in begun)


@given(HOURS, INSTANTS)
def test_far_from_days_on_which_clocks_are_set_the_hours_are_what_the_clock_shows(of: Hours, at: datetime) -> None:
    zone = ZoneInfo(of.time_zone)
    if len({(at + days * timedelta(days=1)).astimezone(zone).utcoffset() for days in range(-9, 10)}) > 1:
        return
    shown = at.astimezone(zone)
    minutes = int((shown - shown.replace(hour=of.begins.hour, minute=of.begins.minute)) / MINUTE) % (24 * 60)
    length = (of.ends.hour * 60 + of.ends.minute - of.begins.hour * 60 - of.begins.minute) % (24 * 60) or 24 * 60
    began = shown - minutes * MINUTE
    assert (of.next_at(at) == at) is (DAYS[began.weekday()] in of.days and minutes < length)


@given(HOURS)
def test_hours_survive_storage(of: Hours) -> None:
    assert Hours.from_json(of.to_json()) == of


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-11-20 17:59:59", "2026-11-20 17:59:59"),
        ("2026-11-20 18:00", "2026-11-23 08:00"),
        ("2026-11-21 12:00", "2026-11-23 08:00"),
        ("2026-11-23 07:59", "2026-11-23 08:00"),
        # The clock is set back, and forward, in the night before that Monday.
        ("2026-10-24 12:00", "2026-10-26 08:00"),
        ("2026-03-28 12:00", "2026-03-30 08:00"),
    ],
)
def test_outside_office_hours_the_next_moment_is_when_they_begin(at: str, told: str) -> None:
    assert hours(WORKDAYS).next_at(berlin(at)) == berlin(told)


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-11-20 23:30", "2026-11-20 23:30"),
        ("2026-11-21 05:59", "2026-11-21 05:59"),
        ("2026-11-21 06:00", "2026-11-27 22:00"),
        ("2026-11-20 05:00", "2026-11-20 22:00"),
    ],
)
def test_a_night_belongs_to_the_day_on_which_it_begins(at: str, told: str) -> None:
    assert hours(("fri",), "22:00", "06:00").next_at(berlin(at)) == berlin(told)


@pytest.mark.parametrize(("day", "length"), [("2026-03-29", 23), ("2026-06-01", 24), ("2026-10-25", 25)])
def test_a_whole_day_is_as_long_as_the_clock_makes_it(day: str, length: int) -> None:
    begin, weekday = berlin(day), DAYS[datetime.fromisoformat(day).weekday()]
    whole = hours((weekday,), "00:00", "00:00")
    assert open_minutes(whole, begin - timedelta(hours=3), begin + timedelta(hours=30)) == length * 60


def test_an_hour_that_comes_twice_is_in_them_twice() -> None:
    night = hours(("sun",), "02:15", "02:45")
    begin = berlin("2026-10-25 02:15")
    assert open_minutes(night, begin - timedelta(hours=3), begin + timedelta(hours=4)) == 90
    assert night.next_at(berlin("2026-10-25 00:00")) == begin
    assert night.next_at(berlin("2026-10-25 02:45", fold=1)) == berlin("2026-11-01 02:15")


def test_hours_that_begin_in_the_hour_that_is_left_out_begin_where_the_clock_goes_on() -> None:
    early = hours(("sun",), "02:30", "10:00")
    assert early.next_at(berlin("2026-03-29 01:00")) == berlin("2026-03-29 03:00")


def test_a_night_that_ends_in_the_hour_that_is_left_out_ends_where_the_clock_goes_on() -> None:
    night = hours(("sat",), "22:00", "02:30")
    begin = berlin("2026-03-28 22:00")
    assert open_minutes(night, begin, begin + timedelta(hours=12)) == 4 * 60
    assert night.next_at(berlin("2026-03-29 03:00")) == berlin("2026-04-04 22:00")


def test_a_day_that_a_calendar_left_out_waits_for_that_of_the_next_week() -> None:
    apia = ZoneInfo("Pacific/Apia")
    fridays = hours(("fri",), zone="Pacific/Apia")
    found = fridays.next_at(datetime(2011, 12, 24, tzinfo=apia))
    assert found == datetime(2012, 1, 6, 8, tzinfo=apia)


def test_hours_that_lie_in_the_hour_that_is_left_out_wait_for_the_next_day() -> None:
    assert hours(begins="02:10", ends="02:50").next_at(berlin("2026-03-29 01:00")) == berlin("2026-03-30 02:10")


def test_a_zone_that_nobody_knows_any_more_costs_no_alert() -> None:
    at = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
    assert hours(zone="Mars/Olympus").next_at(at) == datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "shown"),
    [
        (WORKDAYS, "Mon-Fri 08:00-18:00 Europe/Berlin"),
        (DAYS, "every day 08:00-18:00 Europe/Berlin"),
        (DAYS[:6], "Mon-Sat 08:00-18:00 Europe/Berlin"),
        (("mon", "wed", "thu", "sun"), "Mon, Wed-Thu, Sun 08:00-18:00 Europe/Berlin"),
    ],
)
def test_hours_are_told_in_a_line(days: tuple[str, ...], shown: str) -> None:
    assert str(hours(days)) == shown
