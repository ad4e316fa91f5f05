"""When a site could not be reached is written down, whatever rules there are."""

from datetime import datetime, timedelta
from importlib import import_module

import pytest

from backend.alerts.models import Incident, Outage, Rule
from backend.alerts.outages import Turned, write_down
from backend.alerts.states import State
from backend.alerts.tests.test_blind_agents import many_sites, minutes
from backend.alerts.tests.world import DETAIL, DOWN, MINUTE, World, make_rule, make_world, put_run
from backend.runs.sql import execute
from backend.sites.actions import set_paused

pytestmark = pytest.mark.django_db

ALL = ["fra", "iad", "sin"]
Spell = tuple[str, list[str], float, float | None]


def spells(begin: datetime) -> list[Spell]:
    """State, regions, and after how many minutes each outage began and ended."""

    def minute(at: datetime | None) -> float | None:
        return None if at is None else round((at - begin) / MINUTE, 1)

    rows = Outage.objects.order_by("began_at")
    return [(row.state, row.regions, minute(row.began_at) or 0.0, minute(row.ended_at)) for row in rows]


def told_of(minutes: str) -> list[Spell]:
    """What is written down of so many minutes in three regions."""
    world = make_world()
    begin = world.now
    world.minutes(minutes)
    return spells(begin)


def test_an_outage_lasts_from_the_first_failed_run_to_the_first_good_one() -> None:
    assert told_of(f"{DOWN} xxx ... ...") == [("failing", ALL, 1.0, 4.0)]
    outage = Outage.objects.get()
    assert outage.why == DETAIL
    assert outage.run_id is not None


def test_one_that_goes_on_has_no_end() -> None:
    assert told_of(f"{DOWN} xxx") == [("failing", ALL, 1.0, None)]


def test_a_failure_that_nobody_else_sees_is_none() -> None:
    assert told_of("... x.. ... .x. ...") == []


def test_it_needs_no_rule() -> None:
    world = make_world()
    Rule.objects.all().delete()
    begin = world.now
    world.minutes(f"{DOWN} ... ...")

    assert spells(begin) == [("failing", ALL, 1.0, 3.0)]
    assert not Incident.objects.exists()


def test_one_that_is_too_short_for_the_rule_to_tell_is_one() -> None:
    world = make_world(rules=("certificate",))
    make_rule(world, "availability", delay_s=600)
    begin = world.now
    world.minutes(f"{DOWN} ... ...")

    assert spells(begin) == [("failing", ALL, 1.0, 3.0)]
    assert not Incident.objects.exists()


def test_each_time_that_a_site_comes_and_goes_is_one_of_its_own() -> None:
    assert told_of(f"{DOWN} ... ... xxx xxx ... ...") == [("failing", ALL, 1.0, 3.0), ("failing", ALL, 5.0, 7.0)]
    assert Incident.objects.count() == 1


def test_from_one_region_alone_it_is_partly_down_and_down_from_when_most_regions_are() -> None:
    assert told_of("... ..x ..x ..x ..x x.x x.x x.x ..x ..x ... ...") == [
        ("degraded", ["sin"], 1.7, 5.0),
        ("failing", ["fra", "sin"], 5.0, 8.0),
        ("degraded", ["sin"], 8.0, 10.0),
    ]


def test_a_region_that_joins_the_others_is_named_with_them() -> None:
    assert told_of("... xx. xx. xxx ... ...") == [("failing", ALL, 1.0, 4.0)]


def test_a_pause_ends_it_and_what_was_before_counts() -> None:
    world = make_world()
    begin = world.now
    world.minutes(f"{DOWN} xxx")
    set_paused(actor=None, monitor=world.monitor, paused=True)
    world.now += MINUTE
    world.judge()

    assert spells(begin) == [("failing", ALL, 1.0, 5.0)]


def test_what_an_agent_that_sees_nothing_says_of_sites_is_none() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x. .. ..")

    assert not Outage.objects.exists()


@pytest.mark.parametrize(("blind_for", "is_kept"), [(MINUTE, True), (3 * MINUTE, False)])
def test_what_only_regions_saw_that_see_nothing_since_before_it_began_is_taken_back(
    blind_for: timedelta, is_kept: bool
) -> None:
    world = make_world()
    began, over = world.now, world.now + 3 * MINUTE
    write_down([Turned(monitor_id=world.monitor.pk, state=State.FAILING, at=began + MINUTE, regions=ALL)])
    write_down([Turned(monitor_id=world.monitor.pk, state=State.OK, at=over, blind_since=over - blind_for)])

    assert Outage.objects.filter(ended_at=over).exists() is is_kept
    assert Outage.objects.count() == int(is_kept)


@pytest.mark.parametrize(("lasted", "count"), [(-MINUTE, 0), (timedelta(0), 0), (timedelta(microseconds=1), 1)])
def test_what_is_over_as_it_begins_is_none(lasted: timedelta, count: int) -> None:
    world = make_world()
    write_down([Turned(monitor_id=world.monitor.pk, state=State.FAILING, at=world.now, regions=ALL)])
    write_down([Turned(monitor_id=world.monitor.pk, state=State.OK, at=world.now + lasted)])

    assert Outage.objects.count() == count


@pytest.mark.parametrize(
    ("first", "second", "begins", "kept"),
    [
        (State.FAILING, State.DEGRADED, 2, [("failing", 0.0, 5.0), ("degraded", 5.0, 9.0)]),
        (State.DEGRADED, State.FAILING, 2, [("degraded", 0.0, 2.0), ("failing", 2.0, 9.0)]),
        (State.DEGRADED, State.FAILING, 0, [("failing", 0.0, 9.0)]),
        (State.FAILING, State.FAILING, 2, [("failing", 0.0, 9.0)]),
        (State.FAILING, State.FAILING, 5, [("failing", 0.0, 9.0)]),
        (State.FAILING, State.FAILING, 6, [("failing", 0.0, 5.0), ("failing", 6.0, 9.0)]),
    ],
)
def test_of_what_late_results_tell_no_two_overlap(
    first: State, second: State, begins: int, kept: list[tuple[str, float, float]]
) -> None:
    world = make_world()
    turns = [(first, 0), (State.OK, 5), (second, begins), (State.OK, 9)]
    for state, minute in turns:
        write_down([Turned(monitor_id=world.monitor.pk, state=state, at=world.now + minute * MINUTE, regions=ALL)])

    assert [(state, began, ended) for state, _, began, ended in spells(world.now)] == kept


def test_a_region_whose_results_come_late_saw_it_down_longer_than_the_others_did() -> None:
    world = make_world()
    begin, fra = world.now, world.regions[0]
    world.minutes("... xxx")
    late = [world.now + minute * MINUTE + timedelta(seconds=1) for minute in range(5)]
    for pattern in ("-xx", "-xx", "-..", "-..", "-.."):
        world.minute(pattern)
    for at in late:
        put_run(world.monitor, fra, at, "x")
    world.minutes("x.. x.. ... ...")

    (failing, began, ended), (degraded, went_on, over) = [(row[0], *row[2:]) for row in spells(begin)]
    assert (failing, degraded) == ("failing", "degraded")
    assert (began, ended, over) == (1.0, went_on, 9.0)


def told_of_before(world: World, minutes: str) -> tuple[list[Spell], list[Spell]]:
    """What is written down of so many minutes, and what incidents told of them once outages were first kept."""
    begin = world.now
    world.minutes(minutes)
    written = spells(begin)
    Outage.objects.all().delete()
    execute(import_module("backend.alerts.migrations.0013_outages").OF_INCIDENTS)
    return written, spells(begin)


def test_of_the_time_before_incidents_tell_whichever_rules_did() -> None:
    world = make_world()
    make_rule(world, "availability")
    written, found = told_of_before(world, f"{DOWN} xxx ... ...")

    assert found == written == [("failing", ALL, 1.0, 4.0)]


def test_what_came_and_went_was_not_down_in_between() -> None:
    written, found = told_of_before(make_world(), f"{DOWN} xxx" + " ... ... ... ... xxx xxx xxx" * 4 + " ... ...")

    assert len(found) == len(written) == 5
    for (_, regions, began, ended), (_, _, begun, over) in zip(written, found, strict=True):
        assert regions == ALL
        assert began == pytest.approx(begun, abs=1)
        assert ended == pytest.approx(over, abs=2)


def test_what_went_on_when_outages_were_first_kept_was_down_until_then() -> None:
    _, found = told_of_before(make_world(), f"{DOWN} xxx")

    ((state, _, began, ended),) = found
    assert (state, began) == ("failing", 1.0)
    assert ended is not None
