"""The first runs of the demo sites, and of no others."""

import pytest

from backend.runs.first_runs import Waiting, first_runs
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun
from backend.runs.tests.factories import NOW, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import line_of
from backend.sites.models import Site

pytestmark = pytest.mark.django_db


def test_sites_that_nobody_named_are_neither_measured_nor_drawn() -> None:
    fleet = make_fleet("eu")
    demo, other = make_monitors(fleet, 2)
    Site.objects.filter(pk=other.site.pk).update(url="https://other.example/")
    ingest(fleet.regions[0], [line_of(make_pending(fleet, demo, scheduled_for=NOW))], now=NOW)
    kept = Waiting(seconds=0, tell=lambda _: None)
    runs = first_runs(fleet.organisation, ["https://shop.example/"], kept)
    assert [run.monitor for run in runs] == [demo]
    assert not PendingRun.objects.exists()
