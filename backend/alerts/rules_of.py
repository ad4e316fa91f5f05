"""Which rules apply to which monitors, in bulk."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Q

from backend.alerts.models import Rule
from backend.alerts.reading import Due


def rules_for(rows: Sequence[Due], kinds: Sequence[str] = ()) -> dict[int, list[Rule]]:
    """The rules of each monitor that are switched on, of some kinds or of all. One statement."""
    place = Q(site=None) | Q(site__in={row.site_id for row in rows})
    found = Rule.objects.filter(place, organisation__in={row.organisation_id for row in rows}, enabled=True)
    if kinds:
        found = found.filter(kind__in=kinds)
    by_place: dict[tuple[int, int | None], list[Rule]] = defaultdict(list)
    for rule in found.order_by("pk"):
        by_place[rule.organisation_id, rule.site_id].append(rule)
    return {
        row.monitor_id: [
            rule
            for place in (None, row.site_id)
            for rule in by_place[row.organisation_id, place]
            if rule.monitor_id in (None, row.monitor_id)
        ]
        for row in rows
    }
