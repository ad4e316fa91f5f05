"""What is told of an incident while it goes on, and that its end says what was true."""

from datetime import timedelta
from uuid import uuid4

import pytest

from backend.alerts.judgement.availability import Availability
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.models import Incident, Maintenance, Notice
from backend.alerts.states import State
from backend.alerts.tests.test_hindsight import DAY, show
from backend.alerts.tests.world import DOWN, World, make_rule, make_world, only_incident, put_run, titles, told
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db


def facts(event: str) -> dict[str, str]:
    (message,) = [notice.message for notice in Notice.objects.all() if notice.message["event"] == event]
    return dict(message["facts"])


def test_the_end_says_how_long_it_lasted_and_not_when_it_was_told() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=world.now, ends_at=world.now + timedelta(hours=3), reason="x"
    )
    world.minutes("... ... ...")
    world.now += timedelta(hours=4)
    world.minute("...")
    assert told() == ["opened", "recovered"]
    assert titles()[-1] == "Shop can be reached again, after 2 min"
    assert facts("recovered")["Lasted"] == "2 min"


def test_what_comes_again_lasted_from_when_it_did_and_not_from_the_first_time_on() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    world.minutes("... " * 10 + "xxx xxx xxx ... ...")
    assert told() == ["opened", "recovered", "opened", "recovered"]
    assert titles()[-1] == "Shop can be reached again, after 3 min"
    again, over = (notice.message for notice in Notice.objects.order_by("pk")[2:])
    assert again["sentences"][1] == f"Since {dict(over['facts'])['Since']}."


def test_what_was_over_while_it_was_muted_is_not_said_to_be_well_where_it_has_begun_again() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    Incident.objects.update(muted_until=world.now + timedelta(minutes=40))
    world.minutes("... " * 25 + "xxx " * 20)
    assert told() == ["opened", "opened", "resolved"]
    assert titles()[-1].startswith("Closed after 2 min: Shop is down")
    (last,) = Notice.objects.filter(message__event="resolved")
    assert last.message["sentences"] == ["It was over, and has begun again since: that is another incident."]


def test_what_is_over_was_bad_in_all_of_its_regions_and_not_only_in_the_last_to_be_well() -> None:
    world = make_world("fra", "iad", rules=["availability"])
    world.minutes(".. .. xx xx")
    first = only_incident().title
    world.minute(".x")
    assert only_incident().title != first
    world.minutes(".. ..")
    assert only_incident().title == first
    assert only_incident().members.get().regions == ["fra", "iad"]


def test_an_end_is_the_first_good_run_and_not_the_one_that_makes_sure() -> None:
    """Two regions, measured every ten minutes in turn, see a site that was down for twenty minutes."""
    eyes = Availability({}, interval_s=600)
    state = State.OK
    for minute, region, seen in [
        (0, "fra", Seen.UP),
        (5, "iad", Seen.UP),
        (10, "fra", Seen.DOWN),
        (15, "iad", Seen.DOWN),
        (20, "fra", Seen.DOWN),
        (25, "iad", Seen.DOWN),
        (30, "fra", Seen.UP),
        (35, "iad", Seen.UP),
    ]:
        eyes.observe(_sample(region, minute, seen))
        standing = eyes.standing(state, minute * 60_000_000)
        state = standing.state
    assert state is State.OK
    assert standing.since_us == 30 * 60_000_000


def test_a_region_that_has_not_looked_since_the_others_recovered_is_not_said_to_be_down_alone() -> None:
    eyes = Availability({}, interval_s=600)
    for minute in (0, 10, 20):
        for place, region in enumerate(("fra", "iad")):
            eyes.observe(_sample(region, minute + 5 * place, Seen.DOWN))
    for minute in (30, 40):
        eyes.observe(_sample("fra", minute, Seen.UP))
    assert eyes.standing(State.FAILING, 0).state is State.FAILING
    eyes.observe(_sample("iad", 45, Seen.DOWN))
    assert eyes.standing(State.FAILING, 0).state is State.DEGRADED


def test_a_region_that_is_not_measured_any_more_has_not_recovered() -> None:
    """It was down there alone, and its agent is away: nobody has seen that the site can be reached from there."""
    eyes = Availability({}, interval_s=600)
    state = State.OK
    for minute in range(0, 200, 10):
        if minute < 60:
            eyes.observe(_sample("fra", minute, Seen.DOWN if minute else Seen.UP))
        eyes.observe(_sample("iad", minute + 5, Seen.UP))
        state = eyes.standing(state, 0).state
    assert state is State.DEGRADED
    for minute in (200, 210):
        eyes.observe(_sample("fra", minute, Seen.UP))
    ended = eyes.standing(state, 0)
    assert (ended.state, ended.since_us) == (State.OK, 200 * 60_000_000)
    eyes.observe(_sample("fra", 220, Seen.DOWN))
    eyes.keep(["iad"])
    assert eyes.standing(State.DEGRADED, 0).state is State.OK


def _sample(region: str, minute: int, seen: Seen) -> Sample:
    return Sample(region, minute * 60_000_000, uuid4(), seen, "", ())


def test_an_end_names_no_region_since_they_recover_one_by_one() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... xxx xxx .xx ... ...")
    assert told() == ["opened", "recovered"]
    assert "Regions" not in facts("recovered")


def test_a_site_that_was_down_in_one_region_only_is_not_said_to_be_reached_again() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ..x ..x ..x ... ...")
    assert titles()[-1] == "Shop can be reached from everywhere again, after 3 min"


def test_a_site_that_is_down_is_not_told_again_by_its_other_monitor() -> None:
    world = make_world(kinds=["probe", "page"], rules=["availability"])
    probe, page = world.monitors
    Monitor.objects.filter(pk=page.pk).update(interval_s=1800)
    world.minutes(DOWN)
    for minute in range(60):
        if minute == 30:
            for region in world.regions:
                put_run(page, region, world.now + timedelta(seconds=5), "x")
        world.minute("xxx", monitor=probe)
    assert told() == ["opened"]
    assert only_incident().members.count() == 2


def test_runs_that_fail_where_a_site_is_down_are_no_news() -> None:
    world = make_world(rules=["availability", "failures"])
    world.minutes("... ..x ..x ..x ..x ..x")
    assert told() == ["opened"]
    assert titles()[0].startswith("Shop is down in Sin only")


def test_what_goes_on_stands_in_the_title_once_the_rest_is_over() -> None:
    world = make_world("fra", rules=["availability", "failures"])
    world.minutes(". x x x")
    assert only_incident().title.startswith("Shop is down")
    world.minutes(". .")
    assert only_incident().title == "Shop: 3 of the last 5 runs failed in Fra"
    world.minutes(". .")
    assert not only_incident().is_open
    assert [member.regions for member in only_incident().members.all()] == [["fra"], ["fra"]]


def test_a_site_that_goes_down_while_single_runs_fail_is_told() -> None:
    world = make_world(rules=["availability", "failures"])
    world.minutes("... x.. ... x.. ... x..")
    assert told() == ["opened"]
    world.minutes("xxx xxx")
    assert told() == ["opened", "worse"]
    assert titles()[-1].startswith("Shop is down in Fra and Iad: ")


def test_a_limit_that_is_exceeded_again_and_again_in_one_incident_is_told_once() -> None:
    world = make_world(rules=["budget"])
    for limit in (100, 150):
        make_rule(world, "budget", params={"metric": "ttfb_ms", "limit": limit, "of_last": 1, "regions": 1})
    world.minutes("... ...")
    before = told()
    for _ in range(3):
        _answer_in(world, 120, minutes=25)
        _answer_in(world, 200, minutes=25)
    assert told() == before


def _answer_in(world: World, ms: int, *, minutes: int) -> None:
    for _ in range(minutes):
        for place, region in enumerate(world.regions):
            put_run(world.monitor, region, world.now + timedelta(seconds=20 * place + 1), ".", ttfb_us=1000 * ms)
        world.minute("---")


def test_what_is_known_better_stands_in_the_title() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... xx. xx.")
    assert only_incident().title.startswith("Shop is down")
    world.minutes("xxx xxx")
    world.minutes("..x ..x ..x ..x")
    assert only_incident().title.startswith("Shop is down in Sin only")


def test_a_silent_region_counts_its_monitors_in_good_english() -> None:
    world = make_world(rules=["agent"])
    world.beat("fra", "iad")
    world.now += timedelta(minutes=10)
    world.beat("fra", "iad")
    world.judge()
    (sentence,) = [text for text in Notice.objects.get().message["sentences"] if "measured there" in text]
    assert sentence == "1 monitor is not measured there; its site raises no alert of its own for it."


def test_a_certificate_that_was_renewed_is_known_to_be_within_minutes() -> None:
    world = make_world("fra", rules=["certificate"])
    show(world, world.now + timedelta(seconds=1), ("shop.example", 2 * DAY))
    world.minute("-")
    assert told() == ["opened"]
    for _ in range(6):
        show(world, world.now + timedelta(seconds=1), ("shop.example", 90 * DAY))
        world.minute("-")
    assert told() == ["opened", "recovered"]
