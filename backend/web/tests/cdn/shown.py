"""What the tests of the CDN page share: pairs that were measured, pages that were loaded."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

from backend.compare.actions import look_at_hosts
from backend.compare.models import Pairing
from backend.fleet.models import Region
from backend.runs.ingest import ingest
from backend.runs.tests.factories import NOW, Fleet, make_pending
from backend.runs.tests.results import line_of, pair
from backend.sites.actions import activate, create_draft
from backend.sites.models import Monitor
from backend.sites.page_settings import stored
from backend.web.tests import measurements
from backend.web.tests.world import World
from workers.measurement.messages import Measured
from workers.measurement.page_options import PLAIN
from workers.measurement.page_rules import parse_mapping

Show = Callable[..., str]


def feed(world: World, pairing: Pairing, count: int, *, cdn_ms: int = 60, region: Region | None = None) -> None:
    """So many pairs against an origin that takes 100 ms, five minutes apart."""
    place = region or world.region
    fleet = Fleet(organisation=world.member.organisation, regions=(place,), site=world.site)
    random = Random(count)
    for n in range(count):
        outcome = pair(cdn_ms * 1_000 + random.randrange(2_000), 100_000 + random.randrange(2_000))
        pending = make_pending(fleet, pairing.monitor, scheduled_for=NOW - timedelta(minutes=1 + 5 * n))
        ingest(place, [line_of(pending, outcome)], now=NOW)


def loaded(world: World) -> None:
    world.end(world.pending("page"), Measured(measurement=measurements.page(40)))
    look_at_hosts(site=world.site, now=NOW)


def second_site(world: World, *mappings: str, loads: int = 1) -> World:
    """The same page as another site, with hosts at other addresses."""
    user, organisation = world.member.user, world.member.organisation
    draft = create_draft(actor=user, organisation=organisation, url="https://shop.example/")
    second = replace(world, site=activate(actor=user, site=draft, name="Shop at its origin"))
    options = replace(PLAIN, loads=loads, host_map=tuple(map(parse_mapping, mappings)))
    Monitor.objects.filter(site=second.site, kind="page").update(page=stored(options))
    return second


def load_page(world: World, requests: int = 30) -> str:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.page(requests)))
    return str(pending.run_id)
