"""What begins by itself: a watch for every monitor that is measured, and rules for a site that has none yet."""

from datetime import datetime

from django.db import transaction

from backend.alerts.models import Rule
from backend.alerts.parameters import DEFAULTS_OF_ORGANISATION, DEFAULTS_OF_SITE, KINDS
from backend.runs.sql import fetch

_CHUNK = 1_000

# Watching begins now: what was measured before is history. Pairs are judged by their own comparison (see `reports`): a
# leg that fails says nothing of the site.
_ENROL = """
WITH fresh AS (
    SELECT m.id, m.kind, m.site_id, s.organisation_id FROM sites_monitor m JOIN sites_site s ON s.id = m.site_id
    WHERE s.status = 'active' AND m.kind <> 'pair'
        AND NOT EXISTS (SELECT FROM alerts_watch w WHERE w.monitor_id = m.id)
    ORDER BY m.id LIMIT %(limit)s
), watch AS (
    INSERT INTO alerts_watch (monitor_id, due_at, memory)
    SELECT id, %(now)s, '{}' FROM fresh ON CONFLICT DO NOTHING RETURNING monitor_id
), trend AS (
    INSERT INTO alerts_trend (monitor_id, due_at, memory)
    SELECT id, %(now)s, '{}' FROM fresh ON CONFLICT DO NOTHING
), scrutiny AS (
    INSERT INTO alerts_scrutiny (monitor_id, due_at, memory)
    SELECT id, %(now)s, '{}' FROM fresh ON CONFLICT DO NOTHING
)
SELECT DISTINCT f.organisation_id, f.site_id, NOT EXISTS (
    SELECT FROM alerts_watch w JOIN sites_monitor m ON m.id = w.monitor_id JOIN sites_site s ON s.id = m.site_id
    WHERE s.organisation_id = f.organisation_id
)
FROM fresh f JOIN watch ON watch.monitor_id = f.id
WHERE NOT EXISTS (
    SELECT FROM alerts_watch w JOIN sites_monitor m ON m.id = w.monitor_id WHERE m.site_id = f.site_id
)
"""


@transaction.atomic
def enrol(now: datetime) -> int:
    """Watches active monitors that nobody watches; how many sites are new. Harmless to repeat, by several at a time.

    A new site gets its rules once, and an organisation with its first site: those that a person deletes stay deleted.
    """
    new = fetch(_ENROL, {"now": now, "limit": _CHUNK})
    rules = [_rule(kind, organisation, site) for organisation, site, _ in new for kind in DEFAULTS_OF_SITE]
    organisations = sorted({organisation for organisation, _, is_first in new if is_first})
    rules += [_rule(kind, organisation, None) for organisation in organisations for kind in DEFAULTS_OF_ORGANISATION]
    Rule.objects.bulk_create(rules)
    return len(new)


def _rule(kind: str, organisation: int, site: int | None) -> Rule:
    known = KINDS[kind]
    return Rule(
        organisation_id=organisation, site_id=site, kind=kind, params=dict(known.defaults), severity=known.severity
    )
