"""Which experiments begin, and which are refused with a sentence at the field that is at fault."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.experiments.actions import (
    ExperimentLimitError,
    InvalidExperimentError,
    cancel_experiment,
    start_experiment,
)
from backend.experiments.models import Experiment
from backend.experiments.queries import experiment_view, experiments
from backend.experiments.tests.world import HOST, World
from backend.runs.actions import change_monitor, delete_monitor, register_site
from backend.runs.tests.factories import make_agent, make_region
from backend.sites.keeping import settings_of
from backend.sites.models import Monitor, Site
from workers.measurement.page_options import HostMapping

pytestmark = pytest.mark.django_db


def faults(world: World, **asked: Any) -> dict[str, str]:
    """What is said of the question; it may not begin."""
    with pytest.raises(InvalidExperimentError) as refused:
        start_experiment(actor=None, site=world.site, **{"hosts": [HOST], **asked})
    assert not Experiment.objects.exists()
    return refused.value.faults


def test_hosts_are_told_as_the_browser_knows_them_and_once(world: World) -> None:
    experiment = world.start(hosts=(" Tags.Example ", HOST, "b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example"))
    assert experiment.hosts == [HOST, "xn--bcher-kva.example"]
    assert (experiment.region, experiment.url) == (world.region, "https://shop.example/")


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        ([], "Name at least one host to load the page without."),
        (["https://tags.example/"], "'https://tags.example/' is no host name"),
        (["shop.example"], "shop.example is the page's own host: without it there is no page."),
        ([f"h{number}.example" for number in range(51)], "A page can be loaded without 50 hosts at most."),
    ],
)
def test_hosts_that_cannot_be_left_out_are_refused(world: World, hosts: list[str], sentence: str) -> None:
    assert faults(world, hosts=hosts)["hosts"].startswith(sentence)


def test_a_host_that_the_page_has_elsewhere_is_refused_as_by_the_command(world: World) -> None:
    settings = settings_of(world.monitor)
    page = replace(settings.page, host_map=(HostMapping(host=HOST, address="192.0.2.1"),))
    change_monitor(actor=None, monitor=world.monitor, settings=replace(settings, page=page))
    assert faults(world) == {"hosts": f"{HOST} cannot be both left out and mapped or blocked."}


@pytest.mark.parametrize("pairs", [7, 101])
def test_fewer_pairs_than_bear_a_verdict_are_refused_and_so_are_too_many(world: World, pairs: int) -> None:
    assert faults(world, pairs=pairs) == {"pairs": "8 to 100 pairs of loads bear a verdict."}


def test_a_region_without_an_agent_is_refused(world: World) -> None:
    make_region("us", joined_at=None)
    assert faults(world, region="us") == {"region": "There is no agent there that could load the page."}
    assert "region" in faults(world, region="xx")


def test_a_page_that_rests_or_is_not_there_is_refused(world: World) -> None:
    Monitor.objects.update(paused=True)
    assert faults(world) == {"site": "The page is paused: resume it first."}
    delete_monitor(actor=None, monitor=world.monitor)
    assert faults(world) == {"site": "This site loads no page."}
    Site.objects.update(status="draft")
    world.site.refresh_from_db()
    assert faults(world) == {"site": "This site is only a test so far: save it first."}


def test_three_may_be_under_way_at_once(world: World) -> None:
    first, *_ = [world.start() for _ in range(3)]
    with pytest.raises(ExperimentLimitError, match="3 experiments are under way; at most 3 can be"):
        world.start()
    cancel_experiment(actor=world.member.user, experiment=first)
    world.start()


def test_those_of_others_are_none_of_the_three(world: World, charlie: Member) -> None:
    for _ in range(3):
        world.start()
    Experiment.objects.update(organisation=charlie.organisation)
    world.start()


def test_it_loads_the_page_of_its_own_site_in_the_first_region_that_measures_it(world: World) -> None:
    make_agent(make_region("us"), seen_at=timezone.now())
    owner = world.member.organisation
    blog = register_site(actor=None, organisation=owner, name="Blog", url="https://blog.example/")
    Monitor.objects.filter(site=blog).update(regions=["us"])
    for site, url, code in ((world.site, "https://shop.example/", "eu"), (blog, "https://blog.example/", "us")):
        experiment = start_experiment(actor=None, site=site, hosts=[HOST])
        assert (experiment.monitor.site, experiment.url, experiment.region.code) == (site, url, code)


def test_it_has_the_time_that_its_pairs_take(world: World) -> None:
    experiment = world.start(pairs=10)
    assert experiment.deadline - experiment.created_at == timedelta(minutes=15 + 10 * 2)


def test_the_audit_log_says_who_asked_for_what(world: World) -> None:
    experiment = world.start()
    cancel_experiment(actor=world.member.user, experiment=experiment)
    begun, ended = AuditEntry.objects.filter(object_type="experiment").order_by("pk")
    assert (begun.action, begun.actor, begun.detail["hosts"]) == ("start_experiment", world.member.user, [HOST])
    assert ended.action == "cancel_experiment"


def test_an_experiment_is_read_by_two_statements(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    experiment = world.start()
    with django_assert_num_queries(2):
        assert world.view(experiment).experiment.site == world.site


def test_others_see_nothing_of_it(world: World, charlie: Member) -> None:
    experiment = world.start()
    assert experiment_view(charlie.organisation, experiment.public_id) is None
    assert experiments(charlie.organisation, limit=10) == []
    assert experiments(world.member.organisation, site=world.site, limit=10) == [experiment]
    assert experiments(world.member.organisation, before=(timezone.now(), 0), limit=10) == [experiment]
