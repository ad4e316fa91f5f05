"""A small world for page tests: alice's organisation with a region, a site and runs of it."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.utils import timezone

from backend.accounts.actions import NewToken, create_token
from backend.accounts.models import ApiToken
from backend.accounts.permissions import Role, Scope
from backend.alerts.actions.channels import create_channel
from backend.alerts.channels.config import Destination
from backend.alerts.models import Channel, ChannelKind
from backend.cast import Member
from backend.compare.actions import create_pairing
from backend.compare.models import Pairing
from backend.compare.pairings import PairingDraft
from backend.experiments.actions import start_experiment
from backend.experiments.models import Experiment
from backend.fleet.models import Region
from backend.gates.actions import create_gate
from backend.gates.models import Gate
from backend.gates.questions import AskedRule, Question
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Upload
from backend.runs.tests.factories import NOW, Fleet, make_agent, make_pending, make_region
from backend.runs.tests.results import line_of
from backend.runs.uploads import UploadedFile, import_file
from backend.sites import actions
from backend.sites.deploys import DeployMarker
from backend.sites.models import Monitor, Site
from backend.status.actions import Wanted, create_status_page
from backend.status.announcing import Said, announce
from backend.status.models import Announcement, AnnouncementStage, StatusPage
from backend.weekly.report import Report
from backend.weekly.steps import keep
from workers.measurement.messages import Outcome
from workers.tests.measurement.imports import samples


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    member: Member
    region: Region
    site: Site

    @property
    def fleet(self) -> Fleet:
        return Fleet(organisation=self.member.organisation, regions=(self.region,), site=self.site)

    def monitor(self, kind: str) -> Monitor:
        return self.site.monitors.get(kind=kind)

    def pending(self, kind: str, **fields: object) -> PendingRun:
        return make_pending(self.fleet, self.monitor(kind), **fields)

    def end(self, pending: PendingRun, outcome: Outcome | None = None) -> None:
        """The agent's result of a pending run arrives."""
        ingest(self.region, [line_of(pending, outcome)], now=timezone.now())


def make_pairing(site: Site) -> Pairing:
    """A script of the site's CDN beside the same on its origin, compared for a week."""
    draft = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")
    pairing = create_pairing(actor=None, site=site, draft=draft)
    Pairing.objects.filter(pk=pairing.pk).update(compared_from=NOW - timedelta(days=7))
    pairing.refresh_from_db()
    return pairing


def make_gate(world: World) -> Gate:
    """A pipeline asks whether a release of the site may go out."""
    question = Question(rules=(AskedRule(metric="ttfb", max_change_pct=10),), deploy=DeployMarker(version="9f3c2e1"))
    user, organisation = world.member.user, world.member.organisation
    return create_gate(actor=user, organisation=organisation, site=world.site, question=question)


def make_experiment(world: World) -> Experiment:
    """A member asks what a host costs the site's page."""
    return start_experiment(actor=world.member.user, site=world.site, hosts=["tags.example"])


def make_weekly_report(world: World) -> date:
    """Of a week without anything; its Monday."""
    week = date(2025, 11, 17)
    report = Report(week=week, sites=(), alerts=(), alert_count=0)
    keep(world.member.organisation, report, NOW)
    return week


def make_announcement(page: StatusPage) -> Announcement:
    """Visitors are told that something is looked for."""
    said = Said(stage=AnnouncementStage.INVESTIGATING, text="We look for it.\nOrders are kept.")
    return announce(actor=None, page=page, title="Orders cannot be paid", said=said)


def make_status_page(world: World) -> StatusPage:
    """What everybody may see of the site, at `acme`."""
    wanted = Wanted(title="Acme status", slug="acme", sites=[world.site.public_id])
    return create_status_page(actor=world.member.user, organisation=world.member.organisation, wanted=wanted)


def make_import(world: World, site: Site | None = None) -> Upload:
    """A page load that a browser wrote down, of a site or of none."""
    file = UploadedFile(name="acme.har", content=samples.written(samples.devtools()))
    (made,) = import_file(actor=world.member.user, organisation=world.member.organisation, file=file, site=site)
    return made


def make_world(member: Member, *, code: str = "eu") -> World:
    region = make_region(code, member.organisation)
    make_agent(region)
    site = actions.create_draft(actor=member.user, organisation=member.organisation, url="https://shop.example/")
    return World(member=member, region=region, site=actions.activate(actor=member.user, site=site, name="Shop"))


def make_channel(member: Member, name: str = "ops-acme", url: str = "https://hook.example/") -> Channel:
    """A webhook of the member's organisation."""
    made = create_channel(
        actor=member.user,
        organisation=member.organisation,
        kind=ChannelKind.WEBHOOK,
        name=name,
        destination=Destination(url=url),
    )
    return made.channel


def make_token(member: Member) -> ApiToken:
    wanted = NewToken(name="CI", role=Role.MEMBER, scopes=frozenset({Scope.READ}), life=timedelta(days=30))
    return create_token(actor=member.user, organisation=member.organisation, wanted=wanted).token
