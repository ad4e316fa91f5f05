"""A small world for the API's tests: an organisation with a region, a site, runs that ended and one that has not."""

from dataclasses import dataclass, replace
from datetime import timedelta

from backend.cast import Member
from backend.compare.actions import create_pairing
from backend.compare.models import Pairing, StoredVerdict
from backend.compare.pairings import PairingDraft
from backend.fleet.models import Region
from backend.runs import actions
from backend.runs.agents import keep_picture
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun
from backend.runs.tests.factories import NOW, Fleet, make_agent, make_pending, make_region
from backend.runs.tests.results import line_of
from backend.sites.models import Monitor, Site
from workers.diagnosis.pair.samples import Verdict
from workers.measurement.messages import Outcome
from workers.measurement.routes import PictureKind

PICTURE = b"\xff\xd8\xff" + b"a picture"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    member: Member
    region: Region
    site: Site
    page_run: PendingRun
    pending: PendingRun

    @property
    def fleet(self) -> Fleet:
        return Fleet(organisation=self.member.organisation, regions=(self.region,), site=self.site)

    def elsewhere(self, code: str) -> "World":
        """The same, measured from another region."""
        return replace(self, region=Region.objects.get(code=code))

    def monitor(self, kind: str) -> Monitor:
        return self.site.monitors.get(kind=kind)

    def ended(self, kind: str, outcome: Outcome | None = None, *, ago_s: int = 10, **fields: object) -> PendingRun:
        """A run of the site, so long ago, whose result has come."""
        pending = make_pending(self.fleet, self.monitor(kind), scheduled_for=NOW - timedelta(seconds=ago_s), **fields)
        ingest(self.region, [line_of(pending, outcome)], now=NOW)
        return pending


def make_world(member: Member, *, code: str = "eu") -> World:
    """With a page run that has a screenshot, and a probe that is under way."""
    region = make_region(code, member.organisation)
    make_agent(region)
    url = f"https://shop.{member.organisation.slug}.example/"
    name = f"{member.organisation.name} shop"
    site = actions.register_site(actor=member.user, organisation=member.organisation, name=name, url=url)
    fleet = Fleet(organisation=member.organisation, regions=(region,), site=site)
    page_run = make_pending(fleet, site.monitors.get(kind="page"))
    for kind in PictureKind:
        keep_picture(region, page_run.run_id, kind, PICTURE)
    ingest(region, [line_of(page_run)], now=NOW)
    pending = make_pending(fleet, site.monitors.get(kind="probe"))
    return World(member=member, region=region, site=site, page_run=page_run, pending=pending)


def make_pairing(world: World) -> Pairing:
    """The CDN is slower than its origin in one region, and nobody can say which it is over all."""
    draft = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example", name="app.js")
    made = create_pairing(actor=None, site=world.site, draft=draft)
    told = {"pairing": made, "since": NOW, "judged_at": NOW, "pairs": 40, "sentence": "", "reason": ""}
    figures = {"estimate_us": 20_000, "low_us": 12_000, "high_us": 31_000}
    StoredVerdict.objects.create(region=world.region, verdict=Verdict.ORIGIN_FASTER, **told, **figures)
    StoredVerdict.objects.create(region=None, verdict=Verdict.INCONCLUSIVE, **told)
    return made
