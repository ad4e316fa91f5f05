"""Status pages: what they may be, and how sites are for guests."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry, Organisation
from backend.alerts.models import Maintenance, Outage
from backend.alerts.tests.world import World, make_world, put_run
from backend.instants import from_us
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor, Site, SiteStatus
from backend.status.actions import (
    InvalidStatusPageError,
    Wanted,
    change_status_page,
    create_status_page,
    delete_status_page,
)
from backend.status.models import StatusPage
from backend.status.queries import Condition, PublicPage, public_page, status_page, status_pages

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def world() -> World:
    """A site that was measured a minute ago."""
    world = make_world("fra", "iad", now=NOW)
    Site.objects.update(created_at=NOW - 30 * DAY)
    put_run(world.monitor, world.regions[0], NOW - MINUTE, ".")
    return world


def wanted(world: World, **fields: object) -> Wanted:
    usual: dict[str, object] = {"title": "Acme status", "slug": "acme", "sites": [world.fleet.site.public_id]}
    return Wanted(**usual | fields)  # type: ignore[arg-type]  # of a test's own making


def made(world: World, **fields: object) -> StatusPage:
    return create_status_page(actor=None, organisation=world.fleet.organisation, wanted=wanted(world, **fields))


def seen(world: World, now: datetime = NOW) -> PublicPage:
    if not StatusPage.objects.exists():
        made(world)
    page = public_page("acme", now=now)
    assert page is not None
    return page


def outage(world: World, *, ago: timedelta, lasted: timedelta | None, state: str = "failing") -> None:
    began_at = NOW - ago
    ended_at = None if lasted is None else began_at + lasted
    Outage.objects.create(monitor=world.monitor, state=state, began_at=began_at, ended_at=ended_at)


def maintenance(world: World, begin: timedelta, end: timedelta, site: Site | None = None) -> None:
    Maintenance.objects.create(
        organisation=world.fleet.organisation, site=site, starts_at=NOW + begin, ends_at=NOW + end, reason="secret"
    )


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"title": " "}, {"title"}),
        ({"title": "x" * 101}, {"title"}),
        ({"title": "Acme\u202estatus"}, {"title"}),
        ({"slug": "ab"}, {"slug"}),
        ({"slug": "x" * 51}, {"slug"}),
        ({"slug": "Acme"}, {"slug"}),
        ({"slug": "acme-"}, {"slug"}),
        ({"slug": "acme\n"}, {"slug"}),
        ({"sites": []}, {"sites"}),
        ({"sites": [uuid4()]}, {"sites"}),
        ({"title": "", "slug": "", "sites": []}, {"title", "slug", "sites"}),
    ],
)
def test_a_page_that_cannot_be_is_refused_with_a_sentence_for_each_field(
    world: World, fields: dict[str, object], at_fault: set[str]
) -> None:
    with pytest.raises(InvalidStatusPageError) as refused:
        made(world, **fields)

    assert set(refused.value.faults) == at_fault
    assert not StatusPage.objects.exists()


def test_sites_of_others_and_drafts_cannot_be_shown(world: World) -> None:
    theirs = Site.objects.create(
        organisation=Organisation.objects.create(name="Other"), name="x", url="https://x.example/", status="active"
    )
    draft = Site.objects.create(organisation=world.fleet.organisation, name="d", url="https://d.example/")
    for site in (theirs, draft):
        with pytest.raises(InvalidStatusPageError):
            made(world, sites=[site.public_id])


def test_an_address_is_one_page_s_alone(world: World) -> None:
    made(world)
    second = made(world, slug="acme-2")
    with pytest.raises(InvalidStatusPageError) as at_making:
        made(world)
    with pytest.raises(InvalidStatusPageError) as at_change:
        change_status_page(actor=None, page=second, wanted=wanted(world))

    assert set(at_making.value.faults) == set(at_change.value.faults) == {"slug"}
    assert StatusPage.objects.count() == 2


def test_an_organisation_has_so_many_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.status.actions.MAX_PAGES", 1)
    made(world)
    with pytest.raises(InvalidStatusPageError):
        made(world, slug="another")


def test_all_that_is_done_to_pages_is_in_the_audit_log(world: World) -> None:
    page = made(world)
    change_status_page(actor=None, page=page, wanted=wanted(world, title="Acme"))
    delete_status_page(actor=None, page=page)

    acts = AuditEntry.objects.order_by("pk").values_list("action", "detail__name")
    assert list(acts) == [
        ("create_status_page", "Acme status"),
        ("change_status_page", "Acme"),
        ("delete_status_page", "Acme"),
    ]
    assert public_page("acme", now=NOW) is None


def test_pages_are_their_organisation_s(world: World) -> None:
    page = made(world)
    other = Organisation.objects.create(name="Other")

    assert [one.pk for one in status_pages(world.fleet.organisation)] == [page.pk]
    assert status_page(world.fleet.organisation, page.public_id) is not None
    assert (list(status_pages(other)), status_page(other, page.public_id)) == ([], None)


def test_a_site_that_answers_is_up(world: World) -> None:
    page = seen(world)

    assert (page.title, page.condition) == ("Acme status", Condition.UP)
    assert [(site.name, site.since) for site in page.sites] == [(world.fleet.site.name, None)]


@pytest.mark.parametrize(("state", "condition"), [("failing", Condition.DOWN), ("degraded", Condition.PARTLY)])
def test_an_outage_that_goes_on_is_told_since_it_began(world: World, state: str, condition: Condition) -> None:
    outage(world, ago=10 * MINUTE, lasted=None, state=state)

    (site,) = seen(world).sites
    assert (site.condition, site.since) == (condition, NOW - 10 * MINUTE)


def test_of_several_outages_the_one_that_goes_on_is_told(world: World) -> None:
    outage(world, ago=3 * HOUR, lasted=HOUR)
    outage(world, ago=10 * MINUTE, lasted=None)

    (site,) = seen(world).sites
    assert (site.condition, site.since) == (Condition.DOWN, NOW - 10 * MINUTE)


def test_as_much_is_known_as_there_are_bars(world: World) -> None:
    Site.objects.update(created_at=NOW - 100 * DAY)
    outage(world, ago=91 * DAY, lasted=HOUR)
    outage(world, ago=92 * DAY, lasted=HOUR)

    (site,) = seen(world).sites
    assert [from_us(since_us) for since_us, _ in site.seen.down] == [NOW - 91 * DAY]


def test_one_that_is_over_is_not_told_as_going_on(world: World) -> None:
    outage(world, ago=10 * MINUTE, lasted=9 * MINUTE)

    assert seen(world).condition is Condition.UP


def test_of_a_site_that_nobody_measures_now_nothing_is_said(world: World) -> None:
    assert seen(world, NOW + 8 * MINUTE).condition is Condition.UNKNOWN


def test_of_a_site_that_is_measured_no_more_nothing_is_said_whatever_was_seen_last(world: World) -> None:
    Monitor.objects.update(paused=True)

    assert seen(world).condition is Condition.UNKNOWN


def test_what_compares_a_site_says_nothing_of_whether_it_can_be_reached(world: World) -> None:
    Monitor.objects.update(kind="pair", pair={"url": "https://origin.example/", "address": None})

    assert seen(world).condition is Condition.UNKNOWN


def test_a_site_that_failed_once_is_up(world: World) -> None:
    put_run(world.monitor, world.regions[0], NOW, "x")

    assert seen(world).condition is Condition.UP


def test_runs_that_fail_without_an_outage_do_not_say_that_it_is_up(world: World) -> None:
    for region in world.regions:
        put_run(world.monitor, region, NOW + 8 * MINUTE, "x")

    assert seen(world, NOW + 9 * MINUTE).condition is Condition.UNKNOWN
    outage(world, ago=-5 * MINUTE, lasted=None)
    assert seen(world, NOW + 9 * MINUTE).condition is Condition.DOWN


def test_a_test_of_a_site_says_nothing_of_how_it_is_measured(world: World) -> None:
    seen(world)
    put_run(world.monitor, world.regions[0], NOW + 8 * MINUTE, ".", trigger="manual")

    assert seen(world, NOW + 8 * MINUTE).condition is Condition.UNKNOWN


def test_what_failed_by_a_fault_of_ours_says_nothing(world: World) -> None:
    seen(world)
    put_run(world.monitor, world.regions[0], NOW + 7 * MINUTE, "o")

    assert seen(world, NOW + 8 * MINUTE).condition is Condition.UNKNOWN


def test_maintenance_explains_an_outage(world: World) -> None:
    outage(world, ago=10 * MINUTE, lasted=None)
    maintenance(world, -5 * MINUTE, 5 * MINUTE)

    page = seen(world)
    assert [(site.condition, site.since) for site in page.sites] == [(Condition.MAINTENANCE, NOW - 5 * MINUTE)]


def test_what_is_planned_for_its_sites_within_two_weeks_is_told(world: World) -> None:
    other = Site.objects.create(organisation=world.fleet.organisation, name="o", url="https://o.example/")
    maintenance(world, -3 * HOUR, -2 * HOUR)
    maintenance(world, 2 * HOUR, 3 * HOUR)
    maintenance(world, HOUR, 2 * HOUR, world.fleet.site)
    maintenance(world, HOUR, 2 * HOUR, other)
    maintenance(world, 15 * DAY, 16 * DAY)

    planned = seen(world).planned
    assert [one.starts_at - NOW for one in planned] == [HOUR, 2 * HOUR]
    assert {one.names for one in planned} == {(world.fleet.site.name,)}


def test_the_worst_of_its_sites_is_how_a_page_is(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    other = Site.objects.create(
        organisation=world.fleet.organisation, name="Blog", url="https://b.example/", status=SiteStatus.ACTIVE
    )
    monitor = Monitor.objects.create(site=other, kind="probe", url=other.url, interval_s=60, timeout_s=10)
    put_run(monitor, world.regions[0], NOW - MINUTE, ".")
    outage(world, ago=10 * MINUTE, lasted=None)
    made(world, sites=[world.fleet.site.public_id, other.public_id])

    with django_assert_num_queries(13):
        page = public_page("acme", now=NOW)

    assert page is not None
    assert page.condition is Condition.DOWN
    assert [(site.name, site.condition) for site in page.sites] == [
        ("Blog", Condition.UP),
        (world.fleet.site.name, Condition.DOWN),
    ]


def test_outages_of_two_weeks_are_told_by_whichever_monitor_was_judged_first(world: World) -> None:
    page = Monitor.objects.create(
        site=world.fleet.site, kind="page", url=world.fleet.site.url, interval_s=900, timeout_s=60
    )
    outage(world, ago=20 * DAY, lasted=DAY)
    outage(world, ago=2 * HOUR, lasted=HOUR)
    Outage.objects.create(monitor=page, state="degraded", began_at=NOW - 3 * HOUR, ended_at=None)

    (site,) = seen(world).sites
    assert [(one.condition, NOW - from_us(one.since_us), NOW - from_us(one.until_us)) for one in site.judged] == [
        (Condition.DOWN, 2 * HOUR, HOUR),
        (Condition.PARTLY, 3 * HOUR, timedelta(0)),
    ]


def test_a_site_that_is_deleted_leaves_its_pages(world: World) -> None:
    made(world)
    maintenance(world, -HOUR, HOUR)
    world.fleet.site.delete()

    page = seen(world)
    assert (page.sites, page.planned, page.condition) == ((), (), Condition.UNKNOWN)
