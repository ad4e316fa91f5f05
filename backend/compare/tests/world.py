"""A site of alice's organisation with a region and page loads; the page is on host-0.example."""

from dataclasses import dataclass
from datetime import timedelta

from backend.cast import Member
from backend.fleet.models import Region
from backend.runs.ingest import ingest
from backend.runs.tests.factories import NOW, Fleet, make_pending, make_region
from backend.runs.tests.results import line_of
from backend.sites import actions
from backend.sites.models import Monitor, Site
from workers.measurement.messages import Outcome

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    member: Member
    regions: tuple[Region, ...]
    site: Site

    def monitor(self, kind: str) -> Monitor:
        return self.site.monitors.get(kind=kind)

    def measure(self, monitor: Monitor, outcome: Outcome, *, minutes: float = 1, region: int = 0) -> None:
        """A result that was due so many minutes ago arrives."""
        place = self.regions[region]
        fleet = Fleet(organisation=self.member.organisation, regions=(place,), site=self.site)
        pending = make_pending(fleet, monitor, scheduled_for=NOW - minutes * MINUTE)
        ingest(place, [line_of(pending, outcome)], now=NOW)


def make_world(member: Member, *codes: str, url: str = "https://host-0.example/") -> World:
    regions = tuple(make_region(code, member.organisation) for code in codes or ("eu",))
    site = actions.create_draft(actor=member.user, organisation=member.organisation, url=url)
    return World(member=member, regions=regions, site=actions.activate(actor=member.user, site=site, name="Shop"))
