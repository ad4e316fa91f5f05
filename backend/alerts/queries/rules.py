"""What is read about rules and maintenance. Every question starts from the organisation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q

from backend.accounts.models import Organisation
from backend.alerts.models import Channel, Maintenance, Rule
from backend.alerts.models.rules import MAX_WINDOWS
from backend.alerts.parameters import KINDS
from backend.alerts.previewed import Kept, kept_of
from backend.sites.models import Site

_OPEN = Count("members__incident", filter=Q(members__ended_at=None, members__incident__resolved_at=None), distinct=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A rule in a list. `channels` are those it tells, also where it tells all; `open` its open incidents.

    `kept` is what it would have told in the last two weeks; None until that is worked out.
    """

    rule: Rule
    channels: tuple[Channel, ...]
    tells_all: bool
    open: int
    last_at: datetime | None
    kept: Kept | None

    @property
    def question(self) -> str:
        """What its kind asks, in words."""
        return KINDS[self.rule.kind].question


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBrief:
    """A rule in a long list: `site` and its name are None for one of all sites.

    `tells` are the names of the channels it reaches, those that are switched on; `notify` says whether it wants to.
    """

    kind: str
    params: Mapping[str, Any]
    title: str
    enabled: bool
    site: UUID | None
    site_name: str | None
    open: int
    notify: bool
    tells: tuple[str, ...]


def briefs(organisation: Organisation) -> list[RuleBrief]:
    """All rules of an organisation, by their sites' names, those for all sites last. Three statements.

    A tenth of what `rules` costs, which makes four objects of each rule: an organisation may have thousands.
    """
    on = Channel.objects.filter(organisation=organisation, enabled=True)
    everybody = tuple(on.order_by("name").values_list("name", flat=True))
    chosen: dict[int, list[str]] = defaultdict(list)
    through = Rule.channels.through.objects.filter(rule__organisation=organisation).order_by("channel__name")
    for rule_id, name, enabled in through.values_list("rule_id", "channel__name", "channel__enabled"):
        chosen[rule_id] += [name] if enabled else []
    found = (
        Rule.objects.filter(organisation=organisation).annotate(open_count=_OPEN).order_by("site__name", "site", "pk")
    )
    fields = "pk", "kind", "params", "name", "enabled", "notify", "site__public_id", "site__name", "open_count"
    return [
        RuleBrief(
            kind=kind,
            params=params,
            title=name or KINDS[kind].label,
            enabled=enabled,
            site=site,
            site_name=site_name,
            open=open_count,
            notify=notify,
            tells=(tuple(chosen[pk]) if pk in chosen else everybody) if notify else (),
        )
        for pk, kind, params, name, enabled, notify, site, site_name, open_count in found.values_list(*fields)
    ]


def rules_of_no_site(organisation: Organisation) -> list[RuleRow]:
    """Those that stand for all sites. Three statements."""
    return _rows(organisation, Q(site=None))


def rules(organisation: Organisation, site: Site | None = None, *, everywhere: bool = True) -> list[RuleRow]:
    """The rules of an organisation, those for all sites first; of one site only its own and, unless told otherwise,
    those for all sites. Three statements.
    """
    wanted = Q()
    if site is not None:
        wanted = Q(site=site) | Q(site=None) if everywhere else Q(site=site)
    return _rows(organisation, wanted)


def rules_after(organisation: Organisation, site: Site | None, *, after: int, limit: int) -> list[RuleRow]:
    """At most `limit` of the same in the order they were made, from the first whose key is beyond `after`. Three
    statements, and nothing is read of all the others: an organisation may have thousands.
    """
    of_site = Q() if site is None else Q(site=site) | Q(site=None)
    return _rows(organisation, Q(of_site, pk__gt=after), order=("pk",), limit=limit)


def rule_row(organisation: Organisation, public_id: UUID) -> RuleRow | None:
    """One rule as it stands in the list. Three statements."""
    return next(iter(_rows(organisation, Q(public_id=public_id))), None)


def _rows(
    organisation: Organisation,
    wanted: Q,
    *,
    order: Sequence[str] = ("site__name", "site", "pk"),
    limit: int | None = None,
) -> list[RuleRow]:
    counted = Rule.objects.filter(wanted, organisation=organisation).annotate(
        open_count=_OPEN,
        last_at=Max("members__incident__opened_at"),
    )
    channels = list(Channel.objects.filter(organisation=organisation).order_by("name"))
    ordered = counted.select_related("site", "monitor", "organisation", "preview").prefetch_related("channels")
    return [
        RuleRow(
            rule=rule,
            channels=() if not rule.notify else tuple(rule.channels.all()) or tuple(channels),
            tells_all=rule.notify and not rule.channels.all(),
            open=rule.open_count,
            last_at=rule.last_at,
            kept=kept_of(rule),
        )
        for rule in ordered.order_by(*order)[:limit]
    ]


def rule(organisation: Organisation, public_id: UUID) -> Rule | None:
    """A rule of the organisation. One statement."""
    found = Rule.objects.filter(organisation=organisation, public_id=public_id)
    return found.select_related("site", "monitor", "organisation", "preview").first()


def maintenance_windows(organisation: Organisation, site: Site | None = None) -> list[Maintenance]:
    """Windows that go on, lie ahead, or were lately, the latest first. One statement."""
    found = Maintenance.objects.filter(organisation=organisation)
    if site is not None:
        found = found.filter(Q(site=site) | Q(site=None))
    return list(found.select_related("site", "created_by").order_by("-ends_at")[:MAX_WINDOWS])


def maintenance_window(organisation: Organisation, public_id: UUID) -> Maintenance | None:
    """A window of the organisation. One statement."""
    found = Maintenance.objects.filter(organisation=organisation, public_id=public_id)
    return found.select_related("site", "organisation").first()
