"""What changes rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.alerts.incidents import lock
from backend.alerts.message import Severity
from backend.alerts.models import Channel, Incident, Rule
from backend.alerts.models.rules import MAX_RULE_NAME_CHARS
from backend.alerts.parameters import KINDS, MAX_DELAY_S, InvalidRuleError, checked
from backend.alerts.upkeep import release
from backend.as_it_is import as_it_is
from backend.sites.models import Monitor, Site
from backend.texts import is_one_line

MAX_RULES = 5_000
REMIND_RANGE_S = (300, 7 * 24 * 3600)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """All of a rule that a person can set. `params` are those of its kind; what is left out is as usual.

    `channels` empty means all of the organisation; `severity` None is that of the kind.
    """

    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    severity: str | None = None
    channels: Sequence[Channel] = ()
    notify: bool = True
    enabled: bool = True
    delay_s: int = 0
    remind_every_s: int | None = None


@transaction.atomic
def create_rule(
    *,
    actor: User | None,
    organisation: Organisation,
    settings: RuleSettings,
    site: Site | None = None,
    monitor: Monitor | None = None,
) -> Rule:
    """A new rule for a site, one of its monitors, or, with neither, all sites. Raises InvalidRuleError."""
    params = _check(organisation, settings)
    _check_place(organisation, settings.kind, site, monitor)
    hold(organisation)
    if Rule.objects.filter(organisation=organisation).count() >= MAX_RULES:
        raise InvalidRuleError({"kind": f"There are {MAX_RULES} rules; delete one before you add another."})
    rule = Rule(organisation=organisation, site=site, monitor=monitor, kind=settings.kind, created_by=actor)
    _apply(rule, settings, params)
    rule.save()
    rule.channels.set(settings.channels)
    record("create_rule", rule, actor=actor, organisation=organisation, **_named(rule), params=params)
    return rule


@transaction.atomic
def change_rule(*, actor: User | None, rule: Rule, settings: RuleSettings) -> Rule:
    """Stores new settings. What is looked for cannot change its kind; when it changes otherwise, the rule begins anew.

    What it had opened is over then: whatever still holds by the new settings opens again. Raises InvalidRuleError.
    """
    rule = as_it_is(rule, "organisation")
    if settings.kind != rule.kind:
        raise InvalidRuleError({"kind": "A rule keeps its kind; make another rule."})
    params = _check(rule.organisation, settings)
    anew = (params, settings.delay_s, settings.enabled) != (rule.params, rule.delay_s, rule.enabled)
    before = {"params": rule.params, "enabled": rule.enabled, "severity": rule.severity}
    _apply(rule, settings, params)
    rule.version += int(anew)
    rule.save()
    rule.channels.set(settings.channels)
    if anew or not rule.enabled:
        _release(rule)
    record(
        "change_rule",
        rule,
        actor=actor,
        organisation=rule.organisation,
        **_named(rule),
        before=before,
        after={"params": params, "enabled": rule.enabled, "severity": rule.severity},
    )
    return rule


@transaction.atomic
def switch_rule(*, actor: User | None, rule: Rule, enabled: bool) -> Rule:
    """Switches a rule on or off. Off, what it had opened is over; on, it begins anew."""
    rule = as_it_is(rule, "organisation")
    if rule.enabled != enabled:
        rule.enabled, rule.version = enabled, rule.version + 1
        rule.save(update_fields=["enabled", "version"])
        if not enabled:
            _release(rule)
        action = "enable_rule" if enabled else "disable_rule"
        record(action, rule, actor=actor, organisation=rule.organisation, **_named(rule))
    return rule


@transaction.atomic
def delete_rule(*, actor: User | None, rule: Rule) -> None:
    """Ends a rule and what it had opened; its past incidents stay."""
    _release(rule)
    record("delete_rule", rule, actor=actor, organisation=rule.organisation, **_named(rule))
    rule.delete()


def settings_of(rule: Rule) -> RuleSettings:
    """The settings as they are stored."""
    return RuleSettings(
        kind=rule.kind,
        params=rule.params,
        name=rule.name,
        severity=rule.severity,
        channels=tuple(rule.channels.order_by("pk")),
        notify=rule.notify,
        enabled=rule.enabled,
        delay_s=rule.delay_s,
        remind_every_s=rule.remind_every_s,
    )


def _named(rule: Rule) -> dict[str, str]:
    """Which one it is and where it looks, to a reader of the audit log, who may come when both are gone."""
    place = {"site": rule.site.name} if rule.site is not None else {"site": "all"}
    return {"name": rule.title} | place | ({"monitor": rule.monitor.kind} if rule.monitor is not None else {})


def _apply(rule: Rule, settings: RuleSettings, params: dict[str, Any]) -> None:
    rule.params = params
    rule.name = settings.name.strip()
    rule.severity = settings.severity or KINDS[rule.kind].severity
    rule.notify, rule.enabled = settings.notify, settings.enabled
    rule.delay_s, rule.remind_every_s = settings.delay_s, settings.remind_every_s


def _check(organisation: Organisation, settings: RuleSettings) -> dict[str, Any]:
    """The complete parameters. Raises InvalidRuleError with every fault there is."""
    faults: dict[str, str] = {}
    params: dict[str, Any] = {}
    try:
        params = checked(settings.kind, settings.params)
    except InvalidRuleError as error:
        faults |= error.faults
    if len(settings.name.strip()) > MAX_RULE_NAME_CHARS or not is_one_line(settings.name):
        faults["name"] = f"A name is one line of at most {MAX_RULE_NAME_CHARS} characters."
    if settings.severity is not None and settings.severity not in set(Severity):
        faults["severity"] = f"The severity must be one of {', '.join(Severity)}."
    if any(channel.organisation_id != organisation.pk for channel in settings.channels):
        faults["channels"] = "There is no such channel."
    if not 0 <= settings.delay_s <= MAX_DELAY_S:
        faults["delay_s"] = f"The delay must be 0 to {MAX_DELAY_S} s."
    low, high = REMIND_RANGE_S
    if settings.remind_every_s is not None and not low <= settings.remind_every_s <= high:
        faults["remind_every_s"] = f"Reminders can come every {low} to {high} s, or not at all."
    if faults:
        raise InvalidRuleError(faults)
    return params


def _check_place(organisation: Organisation, kind: str, site: Site | None, monitor: Monitor | None) -> None:
    faults = {}
    if site is not None and site.organisation_id != organisation.pk:
        faults["site"] = "There is no such site."
    if monitor is not None and (site is None or monitor.site_id != site.pk):
        faults["monitor"] = "There is no such monitor of this site."
    if KINDS[kind].of_organisation and (site is not None or monitor is not None):
        faults["site"] = f"{KINDS[kind].label} is a rule of the whole organisation, not of a site."
    if faults:
        raise InvalidRuleError(faults)


def _release(rule: Rule) -> None:
    now = timezone.now()
    going_on = rule.members.filter(ended_at=None, incident__resolved_at=None)
    for pk in sorted(going_on.values_list("incident", flat=True).distinct()):
        incident: Incident = lock(pk)
        release(incident, going_on.filter(incident=incident), now=now)
