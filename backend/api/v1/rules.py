"""Rules: what shall be told, and to whom."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from ninja import Query, Router, Status
from pydantic import Field, StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.alerts.actions import rules as actions
from backend.alerts.actions.rules import RuleSettings
from backend.alerts.message import Severity
from backend.alerts.models import Channel as ChannelModel
from backend.alerts.models import Rule as RuleModel
from backend.alerts.models import RuleKind
from backend.alerts.models.rules import MAX_RULE_NAME_CHARS
from backend.alerts.parameters import KINDS, MAX_DELAY_S
from backend.alerts.queries import rules as queries
from backend.api.v1.access import CHANGE_ALERTS, READ_ALERTS, ApiRequest, needs
from backend.api.v1.limits import Policy
from backend.api.v1.paging import Cursor, Limit, number_of, page_of
from backend.api.v1.problems import existing, invalid
from backend.api.v1.shapes import In, Out, Page
from backend.api.v1.sites import site_asked, site_in_body
from backend.as_it_is import as_it_is
from backend.sites.models import Monitor, Site
from backend.sites.queries import monitor as monitor_by_id

router = Router(tags=["Rules"])

# Trying a rule reads two weeks of runs.
PREVIEWS = Policy(name="previews", quota=20, window_s=60, of_organisation=True)

Name = Annotated[str, StringConstraints(max_length=MAX_RULE_NAME_CHARS)]
Params = Annotated[
    dict[str, Any],
    Field(
        max_length=20,
        description="Those of its kind, times in ms unless a name says otherwise; what is left out is as usual for it.",
    ),
]
_USUAL = "; ".join(f"`{name}` {json.dumps(kind.defaults)}" for name, kind in KINDS.items())
Channels = Annotated[list[UUID], Field(max_length=50, description="Empty tells all channels, also later ones.")]
Delay = Annotated[int, Field(ge=0, le=MAX_DELAY_S, description="Seconds it has to last before it is told.")]
Remind = Annotated[int, Field(description="Seconds between reminders while nobody acknowledged it; null for none.")]
OfSite = Annotated[UUID | None, Query(None, description="Only of this site, and those for all sites.")]


class Rule(Out):
    """What is looked for, where, and who is told. Without a site it is for all sites, also later ones."""

    id: UUID
    kind: RuleKind
    name: str
    title: str
    site: UUID | None
    monitor: UUID | None
    params: dict[str, Any]
    severity: Severity
    channels: list[UUID]
    notify: bool
    enabled: bool
    delay_s: int
    remind_every_s: int | None
    open_incidents: int
    last_incident_at: datetime | None


class NewRule(In):
    """A rule for a site, one of its monitors, or, with neither, all sites."""

    kind: RuleKind
    site: UUID | None = None
    monitor: UUID | None = None
    params: Params = Field(default_factory=dict)
    name: Name = ""
    severity: Severity | None = None
    channels: Channels = Field(default_factory=list)
    notify: bool = True
    enabled: bool = True
    delay_s: Delay = 0
    remind_every_s: Remind | None = None


class RuleChange(In):
    """What is left out stays; `params` takes the place of those it names."""

    params: Params | None = None
    name: Name | None = None
    severity: Severity | None = None
    channels: Channels | None = None
    notify: bool | None = None
    enabled: bool | None = None
    delay_s: Delay | None = None
    remind_every_s: Remind | None = None


class TriedRule(In):
    """A rule that is not stored, to be tried on the past."""

    kind: RuleKind
    site: UUID | None = None
    monitor: UUID | None = None
    params: Params = Field(default_factory=dict)
    delay_s: Delay = 0


class RulePreview(Out):
    """How many alerts a rule would have sent since `since`; null, with a reason, for one that cannot be tried."""

    alerts: int | None
    since: datetime
    runs: int
    moments: list[datetime]
    reason: str


@router.get("/rules", auth=READ_ALERTS, response=Page[Rule])
def list_rules(request: ApiRequest, site: OfSite = None, limit: Limit = 50, cursor: Cursor = "") -> Page[Rule]:
    """Rules in the order they were made."""
    last = number_of(request, cursor) or 0
    rows = queries.rules_after(request.caller.organisation, site_asked(request, site), after=last, limit=limit + 1)
    return page_of(request, rows, Page[Rule], limit=limit, shape=_shape, key=lambda row: [row.rule.pk])


@router.post(
    "/rules",
    auth=CHANGE_ALERTS,
    response={201: Rule},
    description=f"A new rule. It looks at what is measured from now on.\n\nKinds and their usual `params`: {_USUAL}.",
)
def create_rule(request: ApiRequest, rule: NewRule) -> Status[Rule]:
    site, monitor = _place(request, rule.site, rule.monitor)
    made = actions.create_rule(
        actor=request.caller.actor,
        organisation=request.caller.organisation,
        settings=RuleSettings(
            kind=rule.kind.value,
            params=rule.params,
            name=rule.name,
            severity=rule.severity,
            channels=_channels(request, rule.channels),
            notify=rule.notify,
            enabled=rule.enabled,
            delay_s=rule.delay_s,
            remind_every_s=rule.remind_every_s,
        ),
        site=site,
        monitor=monitor,
    )
    request.out["Location"] = f"/api/v1/rules/{made.public_id}"
    return Status(201, _shown(request, made.public_id))


@router.post(
    "/rules/preview", auth=needs(Scope.ALERTS, permission=Permission.EDIT_ALERTS, policy=PREVIEWS), response=RulePreview
)
def preview_rule(request: ApiRequest, rule: TriedRule) -> RulePreview:
    """What a rule would have sent in the last two weeks. Nothing is stored."""
    # It brings numpy along, which a web process carries only once somebody tries a rule.
    from backend.alerts.preview import preview  # noqa: PLC0415

    site, monitor = _place(request, rule.site, rule.monitor)
    found = preview(
        request.caller.organisation,
        kind=rule.kind.value,
        params=rule.params,
        delay_s=rule.delay_s,
        site=site,
        monitor=monitor,
    )
    return RulePreview(
        alerts=found.alerts, since=found.since, runs=found.runs, moments=list(found.moments), reason=found.reason
    )


@router.get("/rules/{uuid:rule_id}", auth=READ_ALERTS, response=Rule)
def get_rule(request: ApiRequest, rule_id: UUID) -> Rule:
    """One rule."""
    return _shown(request, rule_id)


@router.patch("/rules/{uuid:rule_id}", auth=CHANGE_ALERTS, response=Rule)
@transaction.atomic
def change_rule(request: ApiRequest, rule_id: UUID, change: RuleChange) -> Rule:
    """Other settings. When what it looks for changes, what it had opened is over, and it begins anew."""
    rule = as_it_is(_owned(request, rule_id))
    given: dict[str, Any] = change.model_dump(exclude_unset=True)
    before = actions.settings_of(rule)
    # Only a reminder can be taken away; everywhere else null is as if it was left out.
    wanted = {name: value for name, value in given.items() if value is not None or name == "remind_every_s"}
    if "params" in wanted:
        wanted["params"] = {**before.params, **wanted["params"]}
    if "channels" in wanted:
        wanted["channels"] = _channels(request, wanted["channels"])
    actions.change_rule(actor=request.caller.actor, rule=rule, settings=replace(before, **wanted))
    return _shown(request, rule_id)


@router.delete("/rules/{uuid:rule_id}", auth=CHANGE_ALERTS, response={204: None})
def delete_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """Ends a rule and what it had opened; its past incidents stay."""
    actions.delete_rule(actor=request.caller.actor, rule=_owned(request, rule_id))
    return HttpResponse(status=204)


def _place(request: ApiRequest, site_id: UUID | None, monitor_id: UUID | None) -> tuple[Site | None, Monitor | None]:
    """The caller's own site and monitor; a monitor alone names its site, too."""
    site = None if site_id is None else site_in_body(request, site_id)
    monitor = None if monitor_id is None else monitor_by_id(request.caller.organisation, monitor_id)
    if monitor_id is not None and monitor is None:
        raise invalid("#/monitor", "There is no such monitor.")
    return site or (monitor.site if monitor else None), monitor


def _channels(request: ApiRequest, ids: Sequence[UUID]) -> list[ChannelModel]:
    found = list(ChannelModel.objects.filter(organisation=request.caller.organisation, public_id__in=ids))
    if len(found) != len(set(ids)):
        raise invalid("#/channels", "There is no such channel.")
    return found


def _owned(request: ApiRequest, rule_id: UUID) -> RuleModel:
    return existing(queries.rule(request.caller.organisation, rule_id), "There is no such rule.")


def _shown(request: ApiRequest, rule_id: UUID) -> Rule:
    return _shape(existing(queries.rule_row(request.caller.organisation, rule_id), "There is no such rule."))


def _shape(row: queries.RuleRow) -> Rule:
    rule = row.rule
    return Rule(
        id=rule.public_id,
        kind=RuleKind(rule.kind),
        name=rule.name,
        title=rule.title,
        site=rule.site.public_id if rule.site else None,
        monitor=rule.monitor.public_id if rule.monitor else None,
        params=rule.params,
        severity=Severity(rule.severity),
        channels=[channel.public_id for channel in rule.channels.all()],
        notify=rule.notify,
        enabled=rule.enabled,
        delay_s=rule.delay_s,
        remind_every_s=rule.remind_every_s,
        open_incidents=row.open,
        last_incident_at=row.last_at,
    )
