"""Runs that somebody asks for besides the schedule: confirmations and gates."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import redis

from backend.runs import actions
from backend.runs.actions import RunsError
from backend.runs.ingest import ingest
from backend.runs.leases import sweep
from backend.runs.models import PendingRun, Rollup, Run, Trigger
from backend.runs.outbox import waiting
from backend.runs.queries import Wanted, newest_measurements, phase_series, recent_runs, site_overview
from backend.runs.queries.findings import JUDGED_SQL
from backend.runs.rollups import roll_up
from backend.runs.sql import fetch
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.processes import queued
from backend.runs.tests.results import line_of, page
from backend.sites.models import Monitor
from backend.sites.page_settings import stored
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import Cookie, HostMapping, Login, PageOptions, PageState, TypeText
from workers.measurement.wire import decode

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet)[0]


@pytest.fixture
def publish(
    broker_client: redis.Redis, django_capture_on_commit_callbacks: Callable[..., object], monitor: Monitor
) -> Callable[..., list[RunRequest]]:
    def requested(queue: str, **asked: object) -> list[RunRequest]:
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]  # a context manager, untyped
            actions.request_runs(actor=None, monitor=monitor, **asked)  # type: ignore[arg-type]  # as the test says
        return queued(broker_client, queue)

    return requested


def test_a_gates_runs_wait_in_a_lane_of_their_own_each_with_a_slot_of_its_own(
    publish: Callable[..., list[RunRequest]],
) -> None:
    for _ in range(3):
        requests = publish("eu:probe.gate", regions=["eu", "us"], trigger=Trigger.GATE)
    assert len({request.scheduled_for for request in requests}) == 3
    assert len({request.run_id for request in requests}) == 3
    assert not any(request.urgent for request in requests)
    pending = PendingRun.objects.filter(trigger="gate")
    assert sorted(pending.values_list("region__code", flat=True)) == ["eu"] * 3 + ["us"] * 3
    assert all(run.published_at for run in pending)


def test_a_confirmation_waits_where_a_persons_test_waits(publish: Callable[..., list[RunRequest]]) -> None:
    (request,) = publish("us:probe.now", regions=["us"], trigger=Trigger.CONFIRM)
    assert request.urgent


def test_a_lost_run_of_a_gate_goes_back_to_the_lane_it_came_from(monitor: Monitor, fleet: Fleet) -> None:
    lost = make_pending(fleet, monitor, trigger="gate", lease_until=NOW - HOUR, expires_at=NOW + HOUR, agent="a")
    from_outbox = make_pending(
        fleet, monitor, trigger="gate", scheduled_for=NOW, published_at=None, lease_until=None, publish_after=NOW - HOUR
    )
    assert sweep(NOW).retried == 1
    again = PendingRun.objects.get(first_run_id=lost.run_id)
    messages = waiting(NOW)
    assert {message.run_id for message in messages} == {again.run_id, from_outbox.run_id}
    assert {message.queue for message in messages} == {"eu:probe.gate"}


def test_gates_may_have_more_under_way_than_people_and_neither_takes_the_others_room(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_URGENT", 2)
    monkeypatch.setattr(actions, "MAX_GATE_RUNS", 4)
    for _ in range(2):
        actions.request_runs(actor=None, monitor=monitor, regions=["eu", "us"], trigger=Trigger.GATE)
    with pytest.raises(RunsError, match="4 runs of gates are under way; at most 4"):
        actions.request_runs(actor=None, monitor=monitor, regions=["eu"], trigger=Trigger.GATE)
    actions.test_now(actor=None, monitor=monitor, regions=["eu", "us"])
    with pytest.raises(RunsError, match="2 tests are under way"):
        actions.request_runs(actor=None, monitor=monitor, regions=["eu"], trigger=Trigger.CONFIRM)


@pytest.mark.parametrize("trigger", [Trigger.SCHEDULE, Trigger.MAPPED, Trigger.COST])
def test_the_schedule_is_not_for_asking_nor_what_has_a_door_of_its_own(monitor: Monitor, trigger: Trigger) -> None:
    with pytest.raises(ValueError, match="not asked for here"):
        actions.request_runs(actor=None, monitor=monitor, regions=["eu"], trigger=trigger)


@pytest.mark.parametrize("trigger", ["gate", "confirm", "mapped", "cost"])
def test_runs_that_were_asked_for_enter_no_chart_and_no_rollup(monitor: Monitor, fleet: Fleet, trigger: str) -> None:
    for minute, why in enumerate(["schedule", trigger]):
        at = NOW - 2 * HOUR + timedelta(minutes=minute)
        ingest(fleet.region, [line_of(make_pending(fleet, monitor, scheduled_for=at, trigger=why))], now=NOW)
    assert Run.objects.count() == 2
    (series,) = phase_series(monitor, Wanted(since=NOW - 3 * HOUR, until=NOW))
    assert sum(point.measured for point in series.points) == 1
    roll_up(NOW)
    assert set(Rollup.objects.values_list("measured", flat=True)) == {1}


@pytest.mark.parametrize("trigger", ["gate", "mapped", "cost"])
def test_what_measured_another_server_is_no_newest_run_of_its_monitor(fleet: Fleet, trigger: str) -> None:
    (monitor,) = make_monitors(fleet, kind="page")
    runs = []
    for minute, why in enumerate(["schedule", trigger]):
        pending = make_pending(fleet, monitor, scheduled_for=NOW + timedelta(minutes=minute), trigger=why)
        ingest(fleet.region, [line_of(pending, page())], now=NOW + HOUR)
        runs.append(pending.run_id)
    Run.objects.update(depth="deep")
    assert [line.run.run_id for line in recent_runs(monitor)] == runs[:1]
    assert [run_id for (run_id,) in fetch(f"SELECT run_id FROM runs_run WHERE {JUDGED_SQL}")] == runs[:1]
    (row,) = site_overview(fleet.organisation, monitor.site)
    assert [one.run.run_id for each in row.monitors for one in each.last if one.run is not None] == runs[:1]
    assert len(newest_measurements(monitor)) == 1


def test_a_page_is_loaded_once_with_a_host_at_another_address_and_without_secrets(
    broker_client: redis.Redis, django_capture_on_commit_callbacks: Callable[..., object], fleet: Fleet
) -> None:
    (monitor,) = make_monitors(fleet, kind="page")
    before = (
        HostMapping(host="cdn.example", address="192.0.2.9"),
        HostMapping(host="img.example", address="192.0.2.8"),
    )
    monitor.headers = [["Authorization", "sesame"]]
    cookies = (Cookie(name="session", value="sesame"),)
    monitor.page = stored(PageOptions(cookies=cookies, host_map=before, black_holes=("cdn.example", "ads.example")))
    monitor.save()
    mapping = HostMapping(host="cdn.example", address="2001:db8::1", port=8443)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]  # a context manager, untyped
        actions.load_elsewhere(actor=None, monitor=monitor, regions=["eu"], mapping=mapping)
    (request,) = queued(broker_client, "eu:page.now")
    assert request.page == PageOptions(host_map=(before[1], mapping), black_holes=("ads.example",))
    assert (request.headers, request.urgent) == ((), True)
    assert PendingRun.objects.get().trigger == "mapped"
    PendingRun.objects.update(lease_until=NOW - HOUR, expires_at=NOW + HOUR, agent="a")
    assert sweep(NOW).retried == 1
    (again,) = waiting(NOW)
    assert decode(again.message, RunRequest).page == request.page


@pytest.mark.parametrize("hosts", [[], ["cdn.example", "ads.example"]])
def test_a_page_is_loaded_without_hosts_by_a_single_first_view_and_with_its_own_secrets(
    broker_client: redis.Redis,
    django_capture_on_commit_callbacks: Callable[..., object],
    fleet: Fleet,
    hosts: list[str],
) -> None:
    (monitor,) = make_monitors(fleet, kind="page")
    mapping = HostMapping(host="cdn.example", address="192.0.2.9")
    cookies = (Cookie(name="a", value="b"),)
    usual = PageOptions(
        host_map=(mapping,), black_holes=("ads.example",), cookies=cookies, loads=3, repeat=PageState.WARM_CACHE
    )
    monitor.page, monitor.headers = stored(usual), [["X-Key", "secret"]]
    monitor.save()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]  # a context manager, untyped
        actions.load_without(monitor=monitor, region="eu", hosts=hosts)
    (request,) = queued(broker_client, "eu:page.gate")
    # Whoever is loaded as it is comes from a browser of its own as well, as cold or warm as the other.
    alone = PageOptions(cookies=cookies, without=tuple(hosts) or ("nobody.invalid",))
    assert request.page == (alone if hosts else replace(alone, host_map=(mapping,), black_holes=("ads.example",)))
    assert ([header.value for header in request.headers], request.urgent) == (["secret"], False)
    assert PendingRun.objects.get().trigger == "cost"
    PendingRun.objects.update(lease_until=NOW - HOUR, expires_at=NOW + HOUR, agent="a")
    assert sweep(NOW).retried == 1
    (again,) = waiting(NOW)
    assert (again.queue, decode(again.message, RunRequest).page) == ("eu:page.gate", request.page)


def test_only_a_page_has_hosts(monitor: Monitor) -> None:
    mapping = HostMapping(host="cdn.example", address="192.0.2.1")
    with pytest.raises(RunsError, match="Only a page"):
        actions.load_elsewhere(actor=None, monitor=monitor, regions=["eu"], mapping=mapping)


def test_another_address_is_measured_in_place_of_the_monitors_own_also_by_another_agent(
    publish: Callable[..., list[RunRequest]], fleet: Fleet, monitor: Monitor
) -> None:
    other = "https://before.example/"
    (request,) = publish("eu:probe.gate", regions=["eu"], trigger=Trigger.GATE, url=other)
    assert request.url == other
    lost = {"lease_until": NOW - HOUR, "expires_at": NOW + HOUR, "agent": "a"}
    make_pending(fleet, monitor, trigger="gate", url=other, **lost)
    assert sweep(NOW).retried == 1
    (again,) = waiting(NOW)
    assert decode(again.message, RunRequest).url == other


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        (None, True),
        ("https://one.example/other", True),
        ("http://one.example/", False),
        ("https://one.example:8443/", False),
        ("https://two.example/", False),
    ],
)
def test_what_may_be_secret_goes_to_the_monitors_own_server_only(
    publish: Callable[..., list[RunRequest]], monitor: Monitor, url: str | None, sent: bool
) -> None:
    secret = PageOptions(
        locale="de",
        cookies=(Cookie(name="session", value="sesame"),),
        login=Login(user="me", password="sesame"),
        steps=(TypeText(selector="#password", text="sesame", secret=True),),
    )
    monitor.url, monitor.headers = "https://one.example/", [["Authorization", "sesame"]]
    monitor.page = stored(secret)
    monitor.save()
    (request,) = publish("eu:probe.gate", regions=["eu"], trigger=Trigger.GATE, url=url)
    assert bool(request.headers) is sent
    assert request.page == (secret if sent else PageOptions(locale="de"))


def test_a_diagnosis_is_deep_and_waits_with_the_schedule(publish: Callable[..., list[RunRequest]]) -> None:
    (request,) = publish("eu:probe", regions=["eu"], trigger=Trigger.DIAGNOSE)
    assert (request.depth.value, request.urgent) == ("deep", False)


def test_what_a_gate_asks_for_is_light(publish: Callable[..., list[RunRequest]]) -> None:
    (request,) = publish("eu:probe.gate", regions=["eu"], trigger=Trigger.GATE)
    assert request.depth.value == "light"


def test_a_persons_test_of_a_probe_is_deep_and_of_a_page_is_a_page(fleet: Fleet, monitor: Monitor) -> None:
    (page_monitor,) = make_monitors(fleet, kind="page")
    for tested in (monitor, page_monitor):
        actions.test_now(actor=None, monitor=tested, regions=["eu"])
    assert dict(PendingRun.objects.values_list("kind", "depth")) == {"probe": "deep", "page": "light"}


def test_so_many_diagnoses_of_an_organisation_may_be_under_way(
    monitor: Monitor, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_DIAGNOSES", 2)
    actions.request_runs(actor=None, monitor=monitor, regions=["eu", "us"], trigger=Trigger.DIAGNOSE)
    with pytest.raises(RunsError, match="2 diagnoses are under way; at most 2"):
        actions.request_runs(actor=None, monitor=monitor, regions=["eu"], trigger=Trigger.DIAGNOSE)
    assert actions.test_now(actor=None, monitor=monitor, regions=["eu"])


def test_the_second_attempt_of_a_diagnosis_is_deep_too(fleet: Fleet, monitor: Monitor) -> None:
    lost = make_pending(fleet, monitor, depth="deep", lease_until=NOW, agent="agent-1")
    sweep(NOW + timedelta(seconds=1))
    pending = PendingRun.objects.get()
    assert (pending.attempt, pending.first_run_id, pending.depth) == (2, lost.run_id, "deep")
