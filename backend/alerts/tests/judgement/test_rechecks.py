from backend.alerts.judgement.rechecks import EVERY_US, LATER_US, MOST_AN_HOUR, Held, Turn, lately, next_turn

MINUTE_US = 60_000_000
INTERVAL_US = 15 * MINUTE_US


def held(*, is_back: bool = False, since_us: int = 0, newest_us: int = 0, **regions: int) -> Held:
    return Held(since_us=since_us, regions=regions, newest_us=newest_us, is_back=is_back)


def test_a_look_comes_two_minutes_after_the_last_and_ten_once_it_has_lasted() -> None:
    early = next_turn(held(fra=0), [], now_us=MINUTE_US, interval_us=INTERVAL_US)
    assert early == Turn(at_us=EVERY_US, region="fra")
    late = next_turn(held(fra=0), [], now_us=40 * MINUTE_US, interval_us=INTERVAL_US)
    assert late == Turn(at_us=LATER_US, region="fra")


def test_regions_take_turns() -> None:
    turn = next_turn(held(fra=0, iad=1), [("fra", 2)], now_us=MINUTE_US, interval_us=INTERVAL_US)
    assert turn == Turn(at_us=2 + EVERY_US, region="iad")


def test_once_one_region_sees_it_well_the_next_follows_soon_and_the_same_after_a_minute() -> None:
    back = held(is_back=True, newest_us=100, fra=100, iad=0)
    assert next_turn(back, [], now_us=200, interval_us=INTERVAL_US) == Turn(at_us=MINUTE_US, region="iad")
    later = held(is_back=True, newest_us=2 * MINUTE_US, iad=0)
    turn = next_turn(later, [], now_us=2 * MINUTE_US, interval_us=INTERVAL_US)
    assert turn == Turn(at_us=2 * MINUTE_US + 20_000_000, region="iad")


def test_what_is_measured_as_often_is_never_asked_about() -> None:
    assert next_turn(held(fra=0), [], now_us=0, interval_us=EVERY_US) is None
    assert next_turn(held(fra=0), [], now_us=40 * MINUTE_US, interval_us=LATER_US) is None
    assert next_turn(held(), [], now_us=0, interval_us=INTERVAL_US) is None


def test_an_hour_has_no_more_looks_than_it_may_have() -> None:
    asked = [("fra", number * MINUTE_US) for number in range(MOST_AN_HOUR)]
    turn = next_turn(held(is_back=True, fra=0), asked, now_us=20 * MINUTE_US, interval_us=INTERVAL_US)
    assert turn == Turn(at_us=60 * MINUTE_US, region="fra")
    assert lately(asked, 60 * MINUTE_US) == asked[1:]
