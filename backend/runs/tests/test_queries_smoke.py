from datetime import timedelta
from uuid import uuid4

import pytest

from backend.runs import queries
from backend.runs.tests.factories import NOW, make_fleet, make_monitors, make_pending

pytestmark = pytest.mark.django_db


def test_nothing_measured_yet_is_an_answer_everywhere() -> None:
    fleet = make_fleet("eu", "us")
    (monitor,) = make_monitors(fleet)
    pending = make_pending(fleet, monitor)
    rows = queries.site_overview(fleet.organisation)
    assert [row.site.name for row in rows] == ["Shop", "Site 0"]
    assert [(last.region.code, last.run) for last in rows[1].monitors[0].last] == [("eu", None), ("us", None)]
    assert queries.recent_runs(monitor) == []
    assert queries.run_detail(fleet.organisation, uuid4()) is None
    assert queries.phase_series(monitor, NOW - timedelta(days=1), NOW) == []
    assert queries.p75_tls(fleet.organisation, "shop.example", NOW - timedelta(days=30)) == []
    (line,) = queries.progress(fleet.organisation, [pending.run_id, uuid4()], now=NOW)
    assert (line.state, line.queue_place, line.about_s) == ("queued", 1, None)
