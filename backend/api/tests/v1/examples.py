"""One good call for every route. The walking tests take theirs from here, and fail for a route that has none."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from backend.alerts.actions.channels import create_channel
from backend.alerts.actions.maintenance import plan_maintenance
from backend.alerts.actions.rules import RuleSettings, create_rule
from backend.alerts.channels.config import Destination
from backend.alerts.models import ChannelKind, Incident, Maintenance, Rule
from backend.api.tests.v1.world import World
from backend.compare.actions import create_pairing
from backend.compare.models import Pairing
from backend.compare.pairings import PairingDraft
from backend.experiments.actions import start_experiment
from backend.experiments.models import Experiment
from backend.gates.actions import create_gate
from backend.gates.addresses import Address
from backend.gates.models import Gate
from backend.gates.questions import AskedRule, Baseline, Question
from backend.runs.actions import register_site
from backend.runs.models import Upload
from backend.runs.tests.factories import NOW
from backend.runs.uploads import UploadedFile, import_file
from backend.sites.actions import record_deploy
from backend.sites.deploys import DeployMarker
from backend.sites.hosts import ProposedRole, propose_roles
from backend.sites.models import Deploy, Host, HostRole
from backend.status.actions import Wanted, create_status_page
from backend.status.announcing import Said, announce
from backend.status.models import AnnouncementStage, StatusPage
from backend.weekly.report import Report
from backend.weekly.steps import keep

Body = dict[str, Any]

# What stands in paths for an object of the world's own organisation.
VALUES: dict[str, Callable[[World], UUID | str]] = {
    "site_id": lambda world: world.site.public_id,
    "monitor_id": lambda world: world.monitor("page").public_id,
    "run_id": lambda world: world.page_run.run_id,
    "code": lambda world: world.region.code,
    "deploy_id": lambda world: _deploy(world).public_id,
    "gate_id": lambda world: _gate(world).public_id,
    "experiment_id": lambda world: _experiment(world).public_id,
    "pairing_id": lambda world: _pairing(world).public_id,
    "name": lambda world: _host(world).name,
    "rule_id": lambda world: _rule(world).public_id,
    "incident_id": lambda world: _incident(world).public_id,
    "window_id": lambda world: _window(world).public_id,
    "channel_id": lambda world: _channel(world, ChannelKind.WEBHOOK),
    "page_id": lambda world: _status_page(world).public_id,
    "week": lambda world: _week(world).isoformat(),
    "announcement_id": lambda world: _announcement(world),
    "import_id": lambda world: _import(world).public_id,
    # An operation that needs another one.
    "test_channel.channel_id": lambda world: _channel(world, ChannelKind.EMAIL),
}
# What is sent to each operation that takes a body.
BODIES: dict[str, Callable[[World], Body]] = {
    "create_site": lambda world: {"url": "https://new.example/", "name": "New"},
    "change_site": lambda world: {"name": "Another name"},
    "change_monitor": lambda world: {"interval_s": 120, "headers": [{"name": "X-Test", "value": "secret-value"}]},
    "choose_host_role": lambda world: {"role": "cdn"},
    "create_status_page": lambda world: {"title": "Shop", "slug": "shop", "sites": [str(world.site.public_id)]},
    "change_status_page": lambda world: {"title": "Shop's status"},
    "create_announcement": lambda world: {
        "title": "Orders cannot be paid",
        "stage": "investigating",
        "text": "We look for it.\nOrders are kept.",
    },
    "create_update": lambda world: {"stage": "resolved", "text": "It works again."},
    "plan_declaration": lambda world: _declaration(),
    "apply_declaration": lambda world: _declaration(),
    "create_pairing": lambda world: {
        "site": str(world.site.public_id),
        "cdn_url": "https://cdn.shop.example/app.js",
        "origin": "www.shop.example",
    },
    "change_pairing": lambda world: {"name": "Script", "origin": "198.51.101.7"},
    "test_monitor": lambda world: {"regions": [world.region.code]},
    "create_channel": lambda world: {
        "kind": "webhook",
        "name": "ops",
        "url": "https://hook.example/",
        "after_s": 900,
        "hours": {
            "days": ["mon", "tue", "wed", "thu", "fri"],
            "begins": "08:00",
            "ends": "18:00",
            "time_zone": "Europe/Berlin",
            "critical_at_any_time": True,
        },
    },
    "change_channel": lambda world: {"name": "operations"},
    "create_rule": lambda world: {
        "kind": "budget",
        "site": str(world.site.public_id),
        "params": {"metric": "lcp_ms", "limit": 2500},
    },
    "change_rule": lambda world: {"params": {"min_change_pct": 10}, "remind_every_s": 3600},
    "preview_rule": lambda world: {"kind": "failures", "params": {"failed": 1, "of_last": 1}},
    "mute_incident": lambda world: {"until": None},
    "comment_on_incident": lambda world: {"text": "We rolled back."},
    "plan_maintenance": lambda world: {
        "starts_at": (NOW + timedelta(hours=1)).isoformat(),
        "ends_at": (NOW + timedelta(hours=2)).isoformat(),
    },
    "test_url": lambda world: {"url": "https://new.example/", "regions": [world.region.code]},
    "create_deploy": lambda world: {"site": str(world.site.public_id), "id": "r1", "version": "1.2.3"},
    "create_import": lambda world: archive(),
    "create_experiment": lambda world: {"site": str(world.site.public_id), "hosts": ["tags.example"]},
    "create_gate": lambda world: {
        "site": str(world.site.public_id),
        "rules": [{"metric": "ttfb", "max_change_pct": 10}],
        "baseline": {"mode": "url", "url": "https://old.example"},
        "release": {"urls": [{"monitor": "probe", "url": "https://pr-7.example/start"}]},
    },
}
# What an operation must be asked beside its path.
QUERIES: dict[str, Callable[[World], str]] = {
    "get_test": lambda world: f"run={world.pending.run_id}",
    "get_differences": lambda world: f"before={world.page_run.run_id}",
    "get_side_by_side": lambda world: f"site={world.site.public_id}&site={_other_site(world)}",
}
INCIDENT_ACTS = [f"{act}_incident" for act in ("acknowledge", "unacknowledge", "unmute", "resolve", "accept")]
# POST without a body.
BARE = frozenset(
    {
        "pause_monitor",
        "resume_monitor",
        "test_channel",
        "rotate_channel_secret",
        *INCIDENT_ACTS,
        "cancel_gate",
        "cancel_experiment",
        "share_run",
    }
)


def _other_site(world: World) -> UUID:
    organisation = world.member.organisation
    site = register_site(actor=None, organisation=organisation, name="Rival", url="https://rival.example/")
    return site.public_id


def _rule(world: World) -> Rule:
    settings = RuleSettings(kind="regression")
    organisation = world.member.organisation
    return create_rule(actor=None, organisation=organisation, site=world.site, settings=settings)


def _incident(world: World) -> Incident:
    rule = _rule(world)
    incident = Incident.objects.create(
        organisation=world.member.organisation,
        site=world.site,
        cause="speed",
        key=str(rule.public_id),
        state="regressed",
        worst_state="regressed",
        severity="warning",
        title="Shop is slower: First byte 640 ms (was 320 ms)",
        opened_at=NOW - timedelta(minutes=18),
        changed_at=NOW,
        told="regressed",
    )
    incident.members.create(
        rule=rule,
        kind=rule.kind,
        monitor=world.monitor("probe"),
        metric="ttfb_ms",
        state="regressed",
        regions=[world.region.code],
        since=incident.opened_at,
        after_run=world.page_run.run_id,
        facts={"level": 640, "baseline": 320},
    )
    incident.events.create(kind="opened", at=incident.opened_at, text=incident.title)
    return incident


def archive() -> Body:
    """The smallest that is one."""
    wait = {"send": 0, "wait": 40, "receive": 2}
    entry = {"startedDateTime": "2026-11-21T12:00:00Z", "request": {"url": "https://shop.example/"}, "timings": wait}
    return {"log": {"version": "1.2", "creator": {"name": "Tool", "version": "1"}, "entries": [entry]}}


def _import(world: World) -> Upload:
    file = UploadedFile(name="shop.har", content=json.dumps(archive()).encode())
    (made,) = import_file(actor=world.member.user, organisation=world.member.organisation, site=world.site, file=file)
    return made


def _announcement(world: World) -> UUID:
    page = StatusPage.objects.first() or _status_page(world)
    said = Said(stage=AnnouncementStage.INVESTIGATING, text="We look for it.")
    return announce(actor=None, page=page, title="Orders cannot be paid", said=said).public_id


def _week(world: World) -> date:
    week = date(2025, 11, 17)
    report = Report(week=week, sites=(), alerts=(), alert_count=0)
    keep(world.site.organisation, report, NOW)
    return week


def _status_page(world: World) -> StatusPage:
    wanted = Wanted(title="Acme status", slug=f"acme-{StatusPage.objects.count()}", sites=[world.site.public_id])
    return create_status_page(actor=None, organisation=world.member.organisation, wanted=wanted)


def _window(world: World) -> Maintenance:
    starts_at = NOW + timedelta(days=1)
    return plan_maintenance(
        actor=None,
        organisation=world.member.organisation,
        site=world.site,
        starts_at=starts_at,
        ends_at=starts_at + timedelta(hours=1),
    )


def _channel(world: World, kind: ChannelKind) -> UUID:
    home = world.member.organisation
    target = Destination(url="https://hook.example/", addresses="ops@acme.example")
    made = create_channel(actor=None, organisation=home, kind=kind, name=kind.value, destination=target)
    return made.channel.public_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as it is sent."""

    operation: str
    method: str
    path: str
    body: Body | None

    @property
    def changes(self) -> bool:
        return self.method != "GET"


def call_of(operation: str, method: str, template: str, world: World) -> Call:
    """The example of one operation. Raises KeyError, which names what is missing here."""
    path = template
    for name in re.findall(r"{(\w+)}", template):
        value = VALUES.get(f"{operation}.{name}", VALUES[name])
        path = path.replace(f"{{{name}}}", str(value(world)))
    if operation in QUERIES:
        path += "?" + QUERIES[operation](world)
    body = BODIES[operation](world) if method in ("POST", "PATCH", "PUT") and operation not in BARE else None
    return Call(operation=operation, method=method, path=path, body=body)


def _deploy(world: World) -> Deploy:
    marker = DeployMarker(external_id="r0", version="1.2.2")
    return record_deploy(
        actor=world.member.user, organisation=world.member.organisation, site=world.site, marker=marker
    )


def _experiment(world: World) -> Experiment:
    return start_experiment(actor=world.member.user, site=world.site, hosts=["tags.example"])


def _gate(world: World) -> Gate:
    baseline = Baseline(mode="url", address=Address(base="https://old.example"))
    question = Question(rules=(AskedRule(metric="ttfb", max_change_pct=10),), baseline=baseline)
    return create_gate(
        actor=world.member.user, organisation=world.member.organisation, site=world.site, question=question
    )


def _pairing(world: World) -> Pairing:
    draft = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")
    return create_pairing(actor=None, site=world.site, draft=draft)


def _host(world: World) -> Host:
    propose_roles(
        site=world.site,
        proposals=[ProposedRole(name="cdn.shop.example", role=HostRole.OWN, evidence=("It is the site's.",))],
        now=NOW,
    )
    return Host.objects.get(site=world.site)


def _declaration() -> Body:
    probe = {"interval_s": 120, "headers": [{"name": "X-Test", "value": "secret-value"}]}
    return {"sites": [{"name": "New", "url": "https://new.example/", "probe": probe}]}
