"""A region that is asked about a first failure and says nothing: the next other one is asked, and each of them once."""

import json
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.alerts import judging
from backend.alerts.looks import CONFIRM_WITHIN
from backend.alerts.models import Rule, Watch
from backend.alerts.tests.outages import MINUTE, SECOND, a_page, answer, under_way
from backend.alerts.tests.world import World, make_rule, put_run, told
from backend.runs.models import PendingRun, Schedule

pytestmark = pytest.mark.django_db


def fails_once(*codes: str) -> World:
    """A page that was well everywhere, and has just failed in the first of its regions."""
    world = a_page(*(codes or ("fra", "iad", "sin")))
    for _ in range(2):
        world.minute("." * len(world.regions))
    own_slot(world, "x")
    return world


def own_slot(world: World, letter: str, position: int = 0) -> None:
    """A slot of a region's own comes to this, and is judged."""
    put_run(world.monitor, world.regions[position], world.now, letter)
    pass_by(world, MINUTE)


def pass_by(world: World, span: timedelta = 10 * SECOND) -> None:
    world.now += span
    world.beat()
    world.judge()


def asked() -> list[str]:
    """Which regions are being asked, in order."""
    return [run.region.code for run in sorted(under_way(), key=lambda run: run.scheduled_for)]


def says(world: World, letter: str) -> None:
    answer(world, letter)
    pass_by(world)


def answer_of(world: World, code: str, letter: str, at: datetime) -> None:
    """One of several that are being asked comes to this."""
    run = PendingRun.objects.select_related("region").get(trigger="confirm", region__code=code)
    put_run(world.monitor, run.region, at, letter, trigger="confirm", run_id=run.run_id)
    run.delete()
    pass_by(world)


@pytest.mark.parametrize("letter", ["o", "m"])
def test_where_a_region_says_nothing_the_next_one_confirms_within_the_minute(letter: str) -> None:
    world = fails_once()
    assert asked() == ["iad"]
    says(world, letter)
    assert (asked(), told()) == (["sin"], [])
    says(world, "x")
    assert (asked(), told()) == ([], ["opened"])


def test_where_a_region_says_nothing_the_next_one_denies_and_nobody_is_asked_again() -> None:
    world = fails_once()
    says(world, "o")
    says(world, ".")
    for _ in range(3):
        pass_by(world, MINUTE)
    assert (asked(), told()) == ([], [])


def test_of_one_failure_each_other_region_is_asked_once_and_then_the_next_slots_tell() -> None:
    world, codes = fails_once("fra", "iad", "lhr", "sin"), []
    while under_way():
        codes += asked()
        says(world, "o")
    assert codes == ["iad", "lhr", "sin"]
    for _ in range(3):
        pass_by(world, MINUTE)
    assert (asked(), told()) == ([], [])
    own_slot(world, "x", position=1)
    assert told() == ["opened"]


def test_the_only_region_is_not_asked_again_where_it_says_nothing() -> None:
    world = fails_once("fra")
    assert asked() == ["fra"]
    says(world, "o")
    for _ in range(3):
        pass_by(world, MINUTE)
    assert (asked(), told()) == ([], [])


def test_a_region_that_does_not_answer_in_its_time_is_followed_by_the_next() -> None:
    world = fails_once()
    pass_by(world, CONFIRM_WITHIN - 20 * SECOND)
    assert asked() == ["iad"]
    pass_by(world, 20 * SECOND)
    assert asked() == ["iad", "sin"]
    answer_of(world, "sin", "x", world.now)
    assert told() == ["opened"]


def test_what_a_region_says_after_its_time_is_heard_beside_what_the_next_one_said() -> None:
    world = fails_once()
    asked_at = world.now
    pass_by(world, CONFIRM_WITHIN)
    assert asked() == ["iad", "sin"]
    answer_of(world, "sin", "o", world.now)
    assert (asked(), told()) == (["iad"], [])
    answer_of(world, "iad", "x", asked_at)
    pass_by(world, MINUTE)
    assert told() == ["opened"]


def test_what_a_region_saw_before_the_next_one_reached_the_site_is_no_outage() -> None:
    world = fails_once()
    asked_at = world.now
    pass_by(world, CONFIRM_WITHIN)
    answer_of(world, "sin", ".", world.now)
    answer_of(world, "iad", "x", asked_at)
    pass_by(world, MINUTE)
    assert (asked(), told()) == ([], [])


def test_a_failure_that_is_over_is_asked_about_no_further() -> None:
    world = fails_once()
    own_slot(world, ".")
    says(world, "o")
    assert (asked(), told()) == ([], [])


def test_a_failure_that_a_second_one_has_followed_is_asked_about_no_further() -> None:
    world = fails_once()
    own_slot(world, "x")
    says(world, "o")
    assert (asked(), told()) == ([], [])


def test_a_failure_that_another_region_has_seen_too_is_asked_about_no_further() -> None:
    world = fails_once()
    own_slot(world, "x", position=2)
    assert told() == ["opened"]
    says(world, "o")
    assert (asked(), told()) == ([], ["opened"])


def test_a_failure_is_asked_about_no_further_once_its_own_next_slot_is_due() -> None:
    world = fails_once()
    PendingRun.objects.all().delete()
    pass_by(world, 15 * MINUTE)
    assert (asked(), told()) == ([], [])


def test_where_a_region_reached_it_meanwhile_by_itself_nobody_else_is_asked() -> None:
    world = fails_once("fra", "iad", "sin", "lhr")
    own_slot(world, ".", position=2)
    assert asked() == ["iad"]
    says(world, "o")
    assert (asked(), told()) == ([], [])


def test_a_region_that_was_taken_out_while_it_was_asked_is_followed_by_the_next() -> None:
    world = fails_once()
    Schedule.objects.filter(region__code="iad").delete()
    says(world, "x")
    assert (asked(), told()) == (["sin"], [])


def test_a_region_whose_agents_are_gone_is_passed_over() -> None:
    world = fails_once("fra", "iad", "lhr", "sin")
    answer(world, "m")
    world.now += 10 * MINUTE
    world.beat("fra", "sin")
    world.judge()
    assert asked() == ["sin"]


def test_of_the_next_failure_the_first_region_is_asked_again() -> None:
    world = fails_once()
    says(world, "o")
    says(world, ".")
    own_slot(world, ".")
    own_slot(world, "x")
    assert asked() == ["iad"]


def test_a_paused_monitor_is_asked_about_no_further() -> None:
    world = fails_once()
    world.monitor.paused = True
    world.monitor.save()
    says(world, "o")
    assert asked() == []


def test_two_rules_ask_about_one_failure_together() -> None:
    world = a_page()
    make_rule(world, "availability")
    world.minute("...")
    own_slot(world, "x")
    codes = []
    while under_way():
        codes += asked()
        says(world, "." if codes == ["iad", "sin"] else "o")
    assert (codes, told()) == (["iad", "sin"], [])
    assert Rule.objects.filter(kind="availability").count() == 2


def test_a_judge_goes_on_from_what_an_earlier_version_asked() -> None:
    world = fails_once()
    watch = Watch.objects.get()
    memory = json.loads(watch.memory)
    memory.pop("doubted", None)
    watch.memory = json.dumps(memory)
    watch.save()
    says(world, "o")
    assert asked() == ["sin"]


def test_whom_it_asked_is_forgotten_with_the_failure() -> None:
    world = fails_once()
    says(world, ".")
    pass_by(world, 15 * MINUTE)
    assert "doubted" not in json.loads(Watch.objects.get().memory)


def test_asking_the_next_region_takes_as_many_statements_as_asking_the_first() -> None:
    world = a_page()
    world.minute("...")
    put_run(world.monitor, world.regions[0], world.now, "x")
    counts = []
    for code in ("iad", "sin"):
        world.now += MINUTE
        world.beat()
        Schedule.objects.update(next_at=world.now + timedelta(hours=1))
        with CaptureQueriesContext(connection) as statements:
            assert judging.judge_batch(world.now).monitors == 1
        counts.append(len(statements))
        assert asked() == [code]
        answer(world, "o")
    # Once something is awaited, its answer is read.
    assert counts[1] == counts[0] + 1
