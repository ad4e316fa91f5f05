from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from backend.runs.models import Schedule
from backend.runs.schedules import Changes, mend_set_back, reconcile, reconcile_all
from backend.runs.slots import offset_us
from backend.runs.tests.factories import NOW, make_fleet, make_monitors, make_region
from backend.sites.models import Monitor, Site
from backend.testing import wait_until
from backend.tests.side_by_side import waiting

pytestmark = pytest.mark.django_db


def test_missing_schedules_are_made_and_a_second_look_changes_nothing() -> None:
    fleet = make_fleet("eu", "us")
    make_monitors(fleet, 3)
    assert reconcile_all(now=NOW) == Changes(made=6)
    assert reconcile_all(now=NOW + timedelta(minutes=5)) == Changes()


def test_a_new_region_interleaves_with_the_old_ones() -> None:
    fleet = make_fleet("eu", "us")
    (monitor,) = make_monitors(fleet)
    reconcile_all(now=NOW)
    make_region("ap")
    assert reconcile_all(now=NOW) == Changes(made=1, changed=2)
    offsets = Schedule.objects.order_by("region__code").values_list("offset_us", flat=True)
    assert list(offsets) == [offset_us(monitor.public_id, 60, position=k, regions=3) for k in range(3)]


def test_nothing_is_due_where_no_agent_ever_came() -> None:
    """Its runs could only be missed, and would fill the lists of every site."""
    make_monitors(make_fleet("eu"))
    make_region("us", joined_at=None)
    assert reconcile_all(now=NOW) == Changes(made=1)
    assert set(Schedule.objects.values_list("region__code", flat=True)) == {"eu"}


def test_a_region_that_was_disabled_is_due_no_more() -> None:
    fleet = make_fleet("eu", "us")
    make_monitors(fleet)
    reconcile_all(now=NOW)
    fleet.region.enabled = False
    fleet.region.save()
    assert reconcile_all(now=NOW).removed == 1
    assert set(Schedule.objects.values_list("region__code", flat=True)) == {"us"}


def test_what_an_edit_past_us_left_behind_is_mended() -> None:
    fleet = make_fleet("eu")
    monitors = make_monitors(fleet, 4)
    reconcile_all(now=NOW)
    Monitor.objects.filter(pk=monitors[0].pk).update(interval_s=120)
    Monitor.objects.filter(pk=monitors[1].pk).update(regions=["nowhere"])
    Monitor.objects.filter(pk=monitors[2].pk).update(paused=True)
    Site.objects.filter(pk=monitors[3].site_id).update(status="draft")
    assert reconcile_all(now=NOW) == Changes(changed=2, removed=2)
    assert set(Schedule.objects.values_list("monitor_id", "interval_s", "enabled")) == {
        (monitors[0].pk, 120, True),
        (monitors[2].pk, 60, False),
    }


@pytest.mark.django_db(transaction=True)
def test_an_edit_that_ends_while_all_are_gone_through_stays() -> None:
    """Who goes through all of them has begun before it, and waits for it."""
    (monitor,) = make_monitors(make_fleet("eu"))
    reconcile_all(now=NOW)
    with ThreadPoolExecutor(1) as others:
        with transaction.atomic():
            Schedule.objects.select_for_update().get()
            through = others.submit(_reconcile_all_and_go)
            wait_until(waiting, "the other to wait for us", timeout_s=60)
            Monitor.objects.filter(pk=monitor.pk).update(interval_s=120)
            reconcile([monitor.pk], now=NOW)
        assert through.result() == Changes()
    assert Schedule.objects.get().interval_s == 120


def _reconcile_all_and_go() -> Changes:
    try:
        return reconcile_all(now=NOW)
    finally:
        connection.close()


def test_monitors_beyond_one_batch_are_reconciled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.runs.schedules._CHUNK", 3)
    make_monitors(make_fleet("eu"), 10)
    assert reconcile_all(now=NOW) == Changes(made=10)


def test_after_the_clock_was_set_back_the_next_slot_is_the_next_by_the_clock() -> None:
    make_monitors(make_fleet("eu"), 2)
    reconcile_all(now=NOW)
    right = list(Schedule.objects.order_by("pk").values_list("next_at", flat=True))
    ahead = Schedule.objects.order_by("pk").first()
    assert ahead is not None
    Schedule.objects.filter(pk=ahead.pk).update(next_at=ahead.next_at + timedelta(hours=1))
    assert mend_set_back(now=NOW) == Changes(changed=1)
    assert list(Schedule.objects.order_by("pk").values_list("next_at", flat=True)) == right
    assert mend_set_back(now=NOW) == Changes()
