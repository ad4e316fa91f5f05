from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import redis
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.runs import actions
from backend.runs.actions import RunsError
from backend.runs.models import PendingRun, Schedule
from backend.runs.slots import newest_slot
from backend.runs.tests.factories import make_region
from backend.runs.tests.processes import queued
from backend.sites.models import Monitor, Site
from backend.sites.monitor_settings import stored_settings
from workers.measurement.target import TargetError

pytestmark = pytest.mark.django_db
URL = "https://shop.example/"


@pytest.fixture(autouse=True)
def _regions(alice: Member, charlie: Member) -> None:
    make_region("eu")
    make_region("us", alice.organisation)
    make_region("theirs", charlie.organisation)


@pytest.fixture
def site(alice: Member) -> Site:
    return actions.register_site(actor=alice.user, organisation=alice.organisation, name="Shop", url=URL)


def _probe(site: Site) -> Monitor:
    return site.monitors.select_related("site__organisation").get(kind="probe")


def _places(monitor: Monitor) -> set[str]:
    return set(monitor.schedules.filter(enabled=True).values_list("region__code", flat=True))


def test_a_registered_site_is_due_in_all_regions_that_its_organisation_may_use(site: Site) -> None:
    assert set(Schedule.objects.values_list("kind", "interval_s", "region__code")) == {
        ("probe", 60, "eu"),
        ("probe", 60, "us"),
        ("page", 900, "eu"),
        ("page", 900, "us"),
    }
    for entry in Schedule.objects.all():
        assert entry.next_at > site.created_at
        assert newest_slot(entry.next_at, entry.interval_s, entry.offset_us) == entry.next_at


def test_a_trial_measures_at_once_and_is_due_never(
    alice: Member, broker_client: redis.Redis, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]  # a context manager, untyped
        trial = actions.start_trial(
            actor=alice.user, organisation=alice.organisation, url="shop.example", regions=["eu"]
        )
    assert not Schedule.objects.exists()
    published = queued(broker_client, "eu:probe.now") + queued(broker_client, "eu:page.now")
    assert {request.run_id for request in published} == set(trial.run_ids)
    pending = PendingRun.objects.filter(run_id__in=trial.run_ids)
    assert {(run.trigger, run.urgent, run.published_at is not None) for run in pending} == {("manual", True, True)}


def test_saving_a_trial_keeps_its_monitors_and_makes_them_due(alice: Member) -> None:
    trial = actions.start_trial(actor=alice.user, organisation=alice.organisation, url=URL, regions=["eu"])
    saved = actions.save_site(actor=alice.user, site=trial.site, name="My shop")
    assert (saved.pk, saved.name, saved.status) == (trial.site.pk, "My shop", "active")
    assert Schedule.objects.count() == 4
    assert PendingRun.objects.filter(monitor__site=saved).count() == 2


def test_without_a_broker_a_test_waits_in_the_outbox_and_nobody_sees_an_error(
    site: Site, alice: Member, settings: Settings, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]  # a context manager, untyped
        (run,) = actions.test_now(actor=alice.user, monitor=_probe(site), regions=["eu"])
    assert PendingRun.objects.get(run_id=run).published_at is None


@pytest.mark.parametrize("regions", [["theirs"], ["nowhere"], []])
def test_a_region_that_is_not_the_organisations_cannot_measure_for_it(
    site: Site, alice: Member, regions: list[str]
) -> None:
    with pytest.raises(RunsError, match=r"region"):
        actions.test_now(actor=alice.user, monitor=_probe(site), regions=regions)


def test_one_organisation_cannot_fill_the_queues_with_tests(
    site: Site, alice: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_URGENT", 2)
    actions.test_now(actor=alice.user, monitor=_probe(site), regions=["eu", "us"])
    with pytest.raises(RunsError, match="2 tests are under way"):
        actions.test_now(actor=alice.user, monitor=_probe(site), regions=["eu"])


def test_a_url_that_cannot_be_measured_leaves_nothing_behind(alice: Member) -> None:
    with pytest.raises(TargetError):
        actions.start_trial(
            actor=alice.user, organisation=alice.organisation, url="ftp://shop.example/", regions=["eu"]
        )
    assert not Site.objects.exists()


def test_an_edit_moves_the_slots_and_regions_at_once(site: Site, alice: Member) -> None:
    probe = _probe(site)
    settings = replace(stored_settings(probe), interval_s=300, regions=("us",))
    actions.change_monitor(actor=alice.user, monitor=probe, settings=settings)
    (entry,) = probe.schedules.all()
    assert (entry.interval_s, entry.region.code) == (300, "us")
    assert newest_slot(entry.next_at, 300, entry.offset_us) == entry.next_at


def test_an_edit_that_changes_no_slot_leaves_the_next_one_as_it_was(site: Site, alice: Member) -> None:
    probe = _probe(site)
    before = list(probe.schedules.values_list("pk", "next_at"))
    settings = replace(stored_settings(probe), body_text="Basket")
    actions.change_monitor(actor=alice.user, monitor=probe, settings=settings)
    assert list(probe.schedules.values_list("pk", "next_at")) == before


def test_a_paused_monitor_is_due_nowhere_and_misses_nothing_when_it_is_resumed(site: Site, alice: Member) -> None:
    probe = _probe(site)
    actions.pause_monitor(actor=alice.user, monitor=probe)
    assert _places(probe) == set()
    Schedule.objects.filter(monitor=probe).update(next_at=site.created_at - timedelta(days=365))
    before = timezone.now()
    actions.resume_monitor(actor=alice.user, monitor=probe)
    assert _places(probe) == {"eu", "us"}
    assert all(entry.next_at > before for entry in probe.schedules.all())


def test_a_deleted_site_leaves_no_schedule_and_no_pending_run(site: Site, alice: Member) -> None:
    actions.test_now(actor=alice.user, monitor=_probe(site), regions=["eu"])
    actions.delete_site(actor=alice.user, site=site)
    assert not Schedule.objects.exists()
    assert not PendingRun.objects.exists()
    assert AuditEntry.objects.filter(action="delete_site", actor=alice.user).exists()
