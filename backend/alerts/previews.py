"""Working out, rule by rule, what each would have told: `step` is a loop of the judge's process; several may run.

Trying a rule takes seconds, so it is done here and stored, and a list of rules reads it at once.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic

from django.db import Error, transaction
from django.db.models import F, Q
from django.utils import timezone

from backend.alerts.models import Rule, RulePreview
from backend.alerts.parameters import InvalidRuleError
from backend.alerts.preview import preview
from backend.alerts.previewed import Preview
from backend.sites.models import SiteStatus

log = logging.getLogger(__name__)

IDLE_S = 10.0
# So much of the time is spent waiting: judging what happens now comes first.
_REST = 9
# Who dies while working one out leaves it to another after this; so does a rule that cannot be tried.
_LEASE = timedelta(minutes=10)
# What a day changes is little after two weeks, and much after one.
_SOONEST, _LATEST, _PART_OF_AGE = timedelta(minutes=10), timedelta(days=1), 10
_NEW_AT_ONCE = 500


def step(clock: Callable[[], datetime] = timezone.now) -> float:
    """Works out one that is due; the seconds to wait for the next."""
    began = monotonic()
    _make_missing()
    rule = _claim(clock())
    if rule is None:
        return IDLE_S
    try:
        found = _try(rule, clock())
    except Error:
        raise
    except InvalidRuleError:
        log.exception("rule %s cannot be tried on the past", rule.public_id)
    else:
        _store(rule, found, clock())
    return _REST * (monotonic() - began)


def _make_missing() -> None:
    missing = Rule.objects.filter(preview=None).order_by("pk").values_list("pk", flat=True)[:_NEW_AT_ONCE]
    RulePreview.objects.bulk_create((RulePreview(rule_id=pk) for pk in missing), ignore_conflicts=True)


@transaction.atomic
def _claim(now: datetime) -> Rule | None:
    """The rule whose turn it is, new and changed ones first; it is not taken again for a while."""
    waiting = RulePreview.objects.filter(Q(due_at__lte=now) | ~Q(version=F("rule__version")))
    active = waiting.filter(Q(rule__site=None) | Q(rule__site__status=SiteStatus.ACTIVE))
    oldest = active.order_by(F("computed_at").asc(nulls_first=True), "due_at")
    row = oldest.select_for_update(skip_locked=True, of=("self",)).first()
    if row is None:
        return None
    rule = Rule.objects.select_related("organisation", "site", "monitor").get(pk=row.rule_id)
    if row.version != rule.version:
        row.version, row.computed_at = rule.version, None
    row.due_at = now + _LEASE
    row.save(update_fields=["due_at", "version", "computed_at"])
    return rule


def _try(rule: Rule, now: datetime) -> Preview:
    return preview(
        rule.organisation,
        kind=rule.kind,
        params=rule.params,
        delay_s=rule.delay_s,
        site=rule.site,
        monitor=rule.monitor,
        now=now,
    )


def _store(rule: Rule, found: Preview, now: datetime) -> None:
    """Of a rule that was changed meanwhile it is worked out once more."""
    age = now - rule.created_at
    RulePreview.objects.filter(rule=rule.pk, version=rule.version).update(
        computed_at=now,
        due_at=now + min(max(age / _PART_OF_AGE, _SOONEST), _LATEST),
        since=found.since,
        alerts=found.alerts,
        runs=found.runs,
        moments=[at.isoformat() for at in found.moments],
        reason=found.reason,
    )
