"""Judges that are killed, and judges that work side by side: real connections, real commits."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from backend.alerts import judging
from backend.alerts.models import Delivery, Incident, Notice, Watch
from backend.alerts.tests.world import MINUTE, World, make_world, put_run, told
from backend.runs.models import Schedule
from backend.runs.tests.factories import make_monitors
from backend.runs.tests.processes import managed
from backend.testing import wait_until
from backend.tests.side_by_side import side_by_side

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_judge_that_dies_before_it_has_remembered_has_judged_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    before = Watch.objects.get().memory

    def die(looks: object) -> None:
        raise OperationalError("terminating connection due to administrator command")

    with monkeypatch.context() as patch:
        patch.setattr(judging, "_remember", die)
        with pytest.raises(OperationalError):
            world.minute("xxx")
    assert (told(), Incident.objects.count(), Watch.objects.get().memory) == ([], 0, before)
    world.judge()
    assert told() == ["opened"]
    assert Delivery.objects.count() == 1


def test_a_monitor_that_cannot_be_judged_keeps_no_other_from_its_turn() -> None:
    world = make_world(rules=["availability"])
    others = make_monitors(world.fleet, 3)
    world.judge()
    Watch.objects.filter(monitor=world.monitor).update(memory="{broken")
    for monitor in others:
        Schedule.objects.create(
            monitor=monitor, region=world.regions[0], kind="probe", interval_s=60, offset_us=0, next_at=world.now
        )
    world.now += timedelta(minutes=2)
    world.judge()
    assert Watch.objects.get(monitor=world.monitor).due_at == world.now + judging.PUT_OFF
    assert not Watch.objects.filter(monitor__in=others, due_at__lte=world.now).exists()


def judge_all(world: World) -> None:
    """A monitor at a time."""
    while judging.judge_batch(world.now, limit=1).monitors:
        pass


def test_two_judges_at_the_same_time_open_one_incident_and_tell_once() -> None:
    world = make_world(kinds=("probe", "page"), rules=["availability"])
    for monitor in world.monitors:
        world.minute("...", monitor=monitor)
    for _ in range(3):
        for monitor in world.monitors:
            for seconds, region in enumerate(world.regions):
                put_run(monitor, region, world.now + timedelta(seconds=seconds + 1), "x")
        world.now += MINUTE
        world.beat()
        Schedule.objects.update(next_at=world.now + timedelta(hours=1))
        assert side_by_side(2, lambda _: judge_all(world)) == []
    assert Incident.objects.count() == 1
    assert told() == ["opened"]
    assert Notice.objects.count() == 1


def test_judges_that_are_killed_again_and_again_tell_once() -> None:
    world = make_world(rules=["availability"], now=timezone.now() - 4 * MINUTE)
    world.minute("...")
    world.minute("xxx", judge=False)
    world.minute("xxx", judge=False)
    Schedule.objects.update(next_at=timezone.now() + timedelta(hours=1))
    for _ in range(3):
        Watch.objects.update(due_at=world.now)
        with managed("judge"):
            wait_until(lambda: Watch.objects.filter(due_at__gt=timezone.now()).exists(), "a look")
    assert told() == ["opened"]
    assert Incident.objects.count() == 1
