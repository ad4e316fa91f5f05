from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from backend.runs.slots import is_first_of_day, newest_slot, next_slot, offset_us, window_end

INTERVALS = st.integers(min_value=30, max_value=86_400)
INSTANTS = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def schedules(draw: st.DrawFn) -> tuple[int, int]:
    interval_s = draw(INTERVALS)
    return interval_s, draw(st.integers(min_value=0, max_value=interval_s * 1_000_000 - 1))


@given(INSTANTS, schedules())
def test_the_newest_slot_is_at_most_one_interval_old(at: datetime, schedule: tuple[int, int]) -> None:
    slot = newest_slot(at, *schedule)
    assert slot <= at < slot + timedelta(seconds=schedule[0])


@given(INSTANTS, schedules())
def test_a_slot_is_found_again_from_any_instant_of_its_interval(at: datetime, schedule: tuple[int, int]) -> None:
    slot = newest_slot(at, *schedule)
    assert newest_slot(slot, *schedule) == slot
    assert newest_slot(slot + timedelta(seconds=schedule[0]) - timedelta(microseconds=1), *schedule) == slot


@given(INSTANTS, schedules())
def test_the_next_slot_follows_the_newest_by_one_interval(at: datetime, schedule: tuple[int, int]) -> None:
    following = next_slot(at, *schedule)
    assert following > at
    assert newest_slot(following, *schedule) == following
    assert following - newest_slot(at, *schedule) == timedelta(seconds=schedule[0])


@given(INSTANTS, schedules())
def test_a_slot_lies_at_its_offset_whatever_the_time_zone_of_the_clock(at: datetime, schedule: tuple[int, int]) -> None:
    interval_s, offset = schedule
    since_epoch_us = (newest_slot(at, interval_s, offset) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )
    assert since_epoch_us % (interval_s * 1_000_000) == offset


@given(st.uuids(), INTERVALS, st.integers(min_value=1, max_value=12))
def test_the_regions_of_a_monitor_are_interleaved_evenly(monitor_id: UUID, interval_s: int, regions: int) -> None:
    interval_us = interval_s * 1_000_000
    offsets = sorted(offset_us(monitor_id, interval_s, position=k, regions=regions) for k in range(regions))
    gaps = [later - earlier for earlier, later in zip(offsets, [*offsets[1:], offsets[0] + interval_us], strict=True)]
    assert sum(gaps) == interval_us
    assert max(gaps) - min(gaps) <= 2


def test_monitors_are_spread_over_the_whole_interval() -> None:
    tenths = [0] * 10
    for _ in range(5_000):
        tenths[offset_us(uuid4(), 3600) * 10 // 3_600_000_000] += 1
    assert min(tenths) > 400
    assert max(tenths) < 600


def test_the_offset_of_a_monitor_never_changes_between_releases() -> None:
    assert offset_us(UUID(int=1), 60) == 33_145_536


def test_a_slot_may_begin_until_the_next_one_but_never_an_hour_late() -> None:
    slot = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert window_end(slot, 60) == slot + timedelta(minutes=1)
    assert window_end(slot, 86_400) == slot + timedelta(hours=1)


@given(INSTANTS, st.sampled_from([900, 3600, 43_200, 86_400]), st.uuids())
def test_one_slot_of_every_day_is_its_first(at: datetime, interval_s: int, monitor_id: UUID) -> None:
    slots = [newest_slot(at, interval_s, 0) + timedelta(seconds=n * interval_s) for n in range(86_400 // interval_s)]
    firsts = [is_first_of_day(monitor_id, "eu", since=slot, slot=slot, interval_s=interval_s) for slot in slots]
    assert sum(firsts) == 1


@given(INSTANTS, schedules(), st.uuids(), st.integers(min_value=0, max_value=50))
def test_what_slots_that_nobody_ran_had_to_do_is_done_by_the_newest(
    at: datetime, schedule: tuple[int, int], monitor_id: UUID, missed: int
) -> None:
    interval_s, offset = schedule
    slots = [newest_slot(at, interval_s, offset) - timedelta(seconds=n * interval_s) for n in range(missed + 1)]
    alone = [is_first_of_day(monitor_id, "eu", since=slot, slot=slot, interval_s=interval_s) for slot in slots]
    together = is_first_of_day(monitor_id, "eu", since=slots[-1], slot=slots[0], interval_s=interval_s)
    assert together is any(alone)
