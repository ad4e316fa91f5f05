"""Pairs of CDN and origin: from the monitor to the message, and from the result to one row an exchange."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.runs import actions
from backend.runs.actions import test_now as measure_now
from backend.runs.claim import claim
from backend.runs.ingest import ingest
from backend.runs.models import Connection, Leg, PendingRun, Run, Schedule
from backend.runs.queries import run_detail, site_overview
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_pending
from backend.runs.tests.results import FAILED, leg, line_of, pair, probe
from backend.sites import actions as sites
from backend.sites import queries
from backend.sites.models import Monitor
from backend.sites.monitor_settings import InvalidMonitorError, defaults, stored_settings
from workers.measurement import pair as wire
from workers.measurement.messages import Failed, Kind, Measured, PairMeasurement, ReceiptStatus, RunRequest
from workers.measurement.pair import PairTarget
from workers.measurement.wire import decode

pytestmark = pytest.mark.django_db
OTHER = PairTarget(url="https://www.shop.example/app.js")
SETTINGS = defaults(Kind.PAIR, "https://cdn.shop.example/app.js", OTHER)


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return actions.add_pair(actor=None, site=fleet.site, settings=SETTINGS)


def store(fleet: Fleet, monitor: Monitor, outcome: Any = None, **fields: object) -> ReceiptStatus:
    pending = make_pending(fleet, monitor, **fields)
    return ingest(fleet.region, [line_of(pending, outcome)], now=NOW)[0]


def test_a_pair_is_scheduled_like_any_monitor_and_a_site_may_have_several(fleet: Fleet, monitor: Monitor) -> None:
    second = actions.add_pair(actor=None, site=fleet.site, settings=replace(SETTINGS, interval_s=60))
    schedules = Schedule.objects.filter(monitor__in=[monitor, second])
    assert {(one.monitor_id, one.kind, one.interval_s) for one in schedules} == {
        (monitor.pk, "pair", 300),
        (second.pk, "pair", 60),
    }
    assert schedules.count() == 4
    assert stored_settings(monitor) == SETTINGS


def test_a_probe_and_a_page_remain_one_each(fleet: Fleet, monitor: Monitor) -> None:
    settings = {"url": "https://shop.example/", "interval_s": 60, "timeout_s": 10}
    Monitor.objects.create(site=fleet.site, kind="probe", **settings)
    with pytest.raises(IntegrityError), transaction.atomic():
        Monitor.objects.create(site=fleet.site, kind="probe", **settings)
    with pytest.raises(IntegrityError), transaction.atomic():
        Monitor.objects.create(site=fleet.site, kind="pair", **settings)
    with pytest.raises(IntegrityError), transaction.atomic():
        Monitor.objects.create(site=fleet.site, kind="page", pair={"url": "https://x.example/"}, **settings)


def test_there_are_only_so_many_pairs_of_a_site(
    fleet: Fleet, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sites, "MAX_PAIRS", 1)
    with pytest.raises(sites.SiteLimitError, match="has 1 pairs; delete one"):
        actions.add_pair(actor=None, site=fleet.site, settings=SETTINGS)


def test_an_origin_inside_is_refused_as_it_is_typed(fleet: Fleet) -> None:
    inside = replace(SETTINGS, other=PairTarget(url=SETTINGS.url, address="192.168.1.7"))
    with pytest.raises(InvalidMonitorError, match="inside your network"):
        actions.add_pair(actor=None, site=fleet.site, settings=inside)


def test_addresses_are_stored_in_one_form(fleet: Fleet) -> None:
    typed = PairTarget(url="https://CDN.shop.example/app.js#top", address="[2606:4700:0::1]:443")
    monitor = actions.add_pair(actor=None, site=fleet.site, settings=replace(SETTINGS, other=typed))
    monitor.refresh_from_db()
    assert monitor.pair == {"url": "https://cdn.shop.example/app.js", "address": "[2606:4700::1]:443"}
    bare = PairTarget(url=SETTINGS.url, address="2606:4700:0::1")
    changed = actions.change_monitor(actor=None, monitor=monitor, settings=replace(SETTINGS, other=bare))
    assert changed.pair == {"url": SETTINGS.url, "address": "2606:4700::1"}
    assert AuditEntry.objects.get(action="change_monitor").detail["changed"] == ["other"]


def test_the_message_carries_both_legs(fleet: Fleet, monitor: Monitor) -> None:
    Schedule.objects.filter(monitor=monitor).update(next_at=NOW - timedelta(seconds=1))
    requests = [decode(outgoing.message, RunRequest) for outgoing in claim(NOW)]
    assert {(request.kind, request.url, request.other) for request in requests} == {(Kind.PAIR, SETTINGS.url, OTHER)}


def test_a_pair_can_be_measured_now(alice: Member, fleet: Fleet, monitor: Monitor, broker: str) -> None:
    runs = measure_now(actor=alice.user, monitor=monitor, regions=["eu"])
    assert PendingRun.objects.get(run_id=runs[0]).kind == "pair"


def test_each_exchange_becomes_a_row_and_the_run_holds_the_cdns_cold_one(fleet: Fleet, monitor: Monitor) -> None:
    assert store(fleet, monitor) is ReceiptStatus.STORED
    rows = list(Leg.objects.order_by("position"))
    assert [(row.leg, row.reused, row.total_us) for row in rows] == [
        ("a", False, 60_000),
        ("b", False, 100_000),
        ("b", True, 50_000),
        ("a", True, 30_000),
    ]
    cdn, origin, reused, _ = rows
    assert (cdn.dns_us, cdn.connect_us, cdn.tls_us, cdn.send_us, cdn.wait_us, cdn.download_us) == (
        6_000,
        12_000,
        12_000,
        6_000,
        18_000,
        6_000,
    )
    assert (reused.dns_us, reused.connect_us, reused.tls_us) == (None, None, None)
    assert (cdn.cache, cdn.cache_evidence, cdn.age_s, cdn.etag) == ("hit", "X-Cache: HIT", 321, '"5f2a"')
    assert (origin.cache, origin.cache_evidence, origin.age_s) == ("unknown", None, None)
    assert (cdn.kept, cdn.monitor_id, cdn.region_id) == (True, monitor.pk, fleet.region.pk)
    assert (cdn.encoding, cdn.head_bytes, cdn.body_bytes, cdn.status_code) == ("gzip", 300, 14_000, 200)
    run = Run.objects.get()
    assert (run.kind, run.total_us, run.requests, run.connections, run.bytes) == ("pair", 60_000, 4, 2, 57_200)
    assert Connection.objects.count() == 2


def test_a_server_that_closes_its_connection_is_marked(fleet: Fleet, monitor: Monitor) -> None:
    seen = pair().measurement
    assert isinstance(seen, PairMeasurement)
    closing = replace(seen, exchanges=seen.exchanges[:2], not_kept=(wire.Leg.B,))
    assert store(fleet, monitor, Measured(measurement=closing)) is ReceiptStatus.STORED
    assert [(row.leg, row.kept) for row in Leg.objects.order_by("position")] == [("a", True), ("b", False)]


def test_a_failed_leg_leaves_what_was_seen_before(fleet: Fleet, monitor: Monitor) -> None:
    seen = PairMeasurement(exchanges=(leg(wire.Leg.A, 60_000, 1),))
    assert isinstance(FAILED, Failed)
    assert store(fleet, monitor, replace(FAILED, measurement=seen)) is ReceiptStatus.STORED
    assert Leg.objects.get().leg == "a"
    assert Run.objects.get().outcome == "failed"


def test_a_pair_that_failed_before_anything_has_no_rows(fleet: Fleet, monitor: Monitor) -> None:
    assert store(fleet, monitor, FAILED) is ReceiptStatus.STORED
    assert not Leg.objects.exists()
    assert Run.objects.get().ttfb_us is None


def test_texts_from_outside_fit_their_columns(fleet: Fleet, monitor: Monitor) -> None:
    assert store(fleet, monitor, pair(etag="\x00" + "e" * 5_000, content_encoding="x" * 5_000)) is ReceiptStatus.STORED
    row = Leg.objects.order_by("position")[0]
    assert row.etag is not None
    assert len(row.etag) == 1_000
    assert "\x00" not in row.etag


def test_a_pair_result_of_a_probe_is_a_dead_letter(fleet: Fleet, monitor: Monitor) -> None:
    assert store(fleet, monitor, probe()) is ReceiptStatus.UNREADABLE


def test_the_run_page_can_read_the_whole_measurement(fleet: Fleet, monitor: Monitor) -> None:
    store(fleet, monitor)
    detail = run_detail(fleet.organisation, Run.objects.get().run_id)
    assert detail is not None
    assert detail.measurement == pair().measurement


def test_pairs_stay_out_of_lists_of_probes_and_pages(fleet: Fleet, monitor: Monitor) -> None:
    store(fleet, monitor, FAILED)
    (row,) = site_overview(fleet.organisation)
    assert row.monitors == ()
    found = queries.site(fleet.organisation, fleet.site.public_id)
    assert found is not None
    assert list(found.monitors.all()) == []


def test_an_ended_pair_is_not_scheduled_any_more(alice: Member, fleet: Fleet, monitor: Monitor) -> None:
    make_pending(fleet, monitor)
    actions.delete_monitor(actor=alice.user, monitor=monitor)
    assert not Schedule.objects.exists()
    assert not PendingRun.objects.exists()
    assert AuditEntry.objects.get(action="delete_monitor").detail["kind"] == "pair"
