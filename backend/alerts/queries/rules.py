"""What is read about rules and maintenance. Every question starts from the organisation."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, Q
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.models import Channel, Maintenance, Rule
from backend.alerts.parameters import KINDS
from backend.alerts.previewed import Kept, kept_of
from backend.sites.models import Site

MAX_WINDOWS = 200


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


def rules(organisation: Organisation, site: Site | None = None, *, everywhere: bool = True) -> list[RuleRow]:
    """The rules of an organisation, those for all sites first; of one site only its own and, unless told otherwise,
    those for all sites. Three statements.
    """
    wanted = Q()
    if site is not None:
        wanted = Q(site=site) | Q(site=None) if everywhere else Q(site=site)
    return _rows(organisation, wanted)


def rule_row(organisation: Organisation, public_id: UUID) -> RuleRow | None:
    """One rule as it stands in the list. Three statements."""
    return next(iter(_rows(organisation, Q(public_id=public_id))), None)


def _rows(organisation: Organisation, wanted: Q) -> list[RuleRow]:
    counted = Rule.objects.filter(wanted, organisation=organisation).annotate(
        open_count=Count(
            "members__incident",
            filter=Q(members__ended_at=None, members__incident__resolved_at=None),
            distinct=True,
        ),
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
        for rule in ordered.order_by("site__name", "site", "pk")
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


def current_maintenance(organisation: Organisation, site: Site | None = None) -> list[Maintenance]:
    """Windows that go on now. One statement."""
    now = timezone.now()
    going_on = Maintenance.objects.filter(organisation=organisation, starts_at__lte=now, ends_at__gt=now)
    if site is not None:
        going_on = going_on.filter(Q(site=site) | Q(site=None))
    return list(going_on.select_related("site").order_by("ends_at"))


def maintenance_window(organisation: Organisation, public_id: UUID) -> Maintenance | None:
    """A window of the organisation. One statement."""
    found = Maintenance.objects.filter(organisation=organisation, public_id=public_id)
    return found.select_related("site", "organisation").first()
