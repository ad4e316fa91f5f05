"""What the message of an incident says of the runs and releases behind it."""

import pytest

from backend.alerts.models import Notice, Rule
from backend.alerts.stories import going_on, story_of
from backend.alerts.tests.world import MINUTE, make_rule, make_world, only_incident, put_run, told
from backend.alerts.wording import clock
from backend.runs.models import Schedule
from backend.sites.models import Deploy, Monitor, Site, SiteStatus
from workers.diagnosis.catalogue.failures import advice_on
from workers.measurement.failure import FailureKind, failure

pytestmark = pytest.mark.django_db


def test_the_message_of_a_budget_names_the_phase_that_grew() -> None:
    world = make_world("fra", rules=["budget"])
    rule = Rule.objects.get()
    rule.params |= {"metric": "ttfb_ms", "limit": 250, "of_last": 1}
    rule.save()
    world.minutes(". .")
    put_run(world.monitor, world.regions[0], world.now, ".", ttfb_us=420_000, wait_us=315_000, tls_us=4_000)
    world.now += MINUTE
    world.judge()
    assert told() == ["opened"]
    assert Notice.objects.get().message["sentences"][1:] == [
        "The last run took 420 ms; the limit is 250 ms.",
        "First byte: the newest run over the limit took 220 ms longer than the last one within it, most of it in"
        " waiting for the server: 315 ms instead of 100 ms.",
    ]


@pytest.mark.parametrize(("before_min", "is_told"), [(2, True), (20, False), (-1, False)])
def test_an_outage_names_the_release_that_it_follows(before_min: int, is_told: bool) -> None:
    world = make_world("fra", rules=["availability"])
    world.minutes(". .")
    at = world.now - before_min * MINUTE
    Deploy.objects.create(
        organisation=world.fleet.organisation, site=world.fleet.site, at=at, external_id="r1234", version="9f3c2e1"
    )
    world.minutes("x x")
    said = Notice.objects.get().message["sentences"]
    assert (f"It follows the deploy of 9f3c2e1 at {clock(at)}." in said) is is_told
    assert any("It follows the deploy" in one for one in said) is is_told


@pytest.mark.parametrize(
    ("kind", "params"), [("availability", {}), ("failures", {"failed": 2, "of_last": 4, "regions": 1})]
)
def test_the_message_of_failed_runs_says_what_to_do(kind: str, params: dict[str, int]) -> None:
    world = make_world("fra")
    Rule.objects.all().delete()
    make_rule(world, kind, params=params)
    world.minutes(". . x x")
    assert told() == ["opened"]
    assert Notice.objects.get().message["sentences"][-1] == advice_on(failure(FailureKind.CONNECT_REFUSED))


def test_of_two_sites_that_are_down_each_is_told_by_what_was_seen_of_it() -> None:
    world = make_world("fra", rules=["availability"])
    blog = Site.objects.create(
        organisation=world.fleet.organisation, name="Blog", url="https://blog.example/", status=SiteStatus.ACTIVE
    )
    other = Monitor.objects.create(site=blog, kind="probe", url=blog.url, interval_s=60, timeout_s=10)
    Schedule.objects.create(
        monitor=other, region=world.regions[0], kind="probe", interval_s=60, offset_us=0, next_at=world.now + MINUTE
    )
    Rule.objects.update(site=None)
    world.judge()
    for letter in "..xxxxx":
        put_run(other, world.regions[0], world.now + MINUTE / 2, letter, failure_detail="The name is not known")
        world.minute("x")
    assert told() == ["opened", "opened"]
    shop, blog_told = (notice.message for notice in Notice.objects.order_by("pk"))
    assert shop["title"].startswith("Shop is down")
    assert blog_told["title"] == "Blog is down in Fra: The name is not known"
    assert [len(message["data"]["members"]) for message in (shop, blog_told)] == [1, 1]


def test_runs_of_two_regions_are_not_held_against_each_other_where_the_first_is_well_again() -> None:
    world = make_world("fra", "sin", rules=["budget"])
    rule = Rule.objects.get()
    rule.params |= {"metric": "ttfb_ms", "limit": 600, "of_last": 1, "regions": 1}
    rule.save()
    for fra_ms, sin_ms in [(100, 500), (800, 500), (800, 900), (100, 900)]:
        for place, ttfb_ms in zip(world.regions, (fra_ms, sin_ms), strict=True):
            put_run(world.monitor, place, world.now + MINUTE / 2, ".", ttfb_us=1000 * ttfb_ms, wait_us=900 * ttfb_ms)
        world.now += MINUTE
        world.judge()
    assert told() == ["opened"]
    account = story_of(only_incident(), going_on(only_incident())).accounts[0]
    assert account.regions == ("Sin",)
    assert any("took 400 ms longer than the last one within it" in one for one in account.facts["sentences"])
