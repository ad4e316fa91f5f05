"""What a detector would have told, alert by alert."""

from backend.analysis.events import AlertClass
from backend.analysis.replay import replay
from backend.analysis.settings import HOUR_S, settings_for
from backend.analysis.simulation import START, Step, World, simulate

_AT = 4 * 24 * HOUR_S
_ENDS = _AT + 3 * HOUR_S + 50 * 60


def test_what_lasted_in_one_region_and_was_over_soon_after_it_spread_was_known_to_last() -> None:
    world = World(cv=0.1, regions=3, days=5)
    first = Step(at=_AT, factor=1.6, until=_ENDS, regions=["region-2"])
    others = Step(at=_AT + 3 * HOUR_S, factor=1.6, until=_ENDS, regions=["region-0", "region-1"])
    (told,) = replay(simulate(world, 7, [first, others]), [], settings_for("ttfb_ms", interval_s=world.interval_s))
    assert (told.alert.alert_class, told.alert.confirmed_at) == (AlertClass.SLOWDOWN, None)
    assert told.ended_at is not None
    assert told.lasting_at is not None
    assert 1 * HOUR_S <= told.lasting_at - START - _AT <= 2 * HOUR_S
