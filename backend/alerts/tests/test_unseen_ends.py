"""What is said of a slowdown that was over while nobody looked."""

import pytest

from backend.alerts.models import Notice
from backend.alerts.tests.slow_site import STEP, Site, slower, usual
from backend.alerts.tests.world import only_incident, titles, told
from backend.alerts.wording import clock

pytestmark = pytest.mark.django_db


def test_a_slowdown_that_was_over_while_nothing_was_measured_is_not_said_to_have_ended_at_a_moment() -> None:
    site = Site()
    site.pass_time(90, slower)
    site.world.now += 24 * STEP
    heard_at = site.world.now
    site.pass_time(120, usual)
    assert told() == ["opened", "recovered"]
    over_at = only_incident().resolved_at
    assert over_at is not None
    assert heard_at <= over_at < heard_at + STEP
    (sentence,) = Notice.objects.latest("pk").message["sentences"]
    assert sentence.endswith(f" to {clock(over_at)}: it was over at some time between.")
    assert "at most" in titles()[-1]
