"""User timings that rules go by and that pages do not tell: of these a rule can say nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.alerts.models import Rule
from backend.analysis.user_timings import is_user_timing
from backend.runs.sql import COMPARABLE, array, fetch
from backend.sites.models import Monitor, MonitorKind, SiteStatus

# So many loads in a row say that a page does not tell it any more, and not by chance.
LOADS = 5
# Of pages and what they follow; to look at one costs a tenth of a millisecond a region.
_MOST_LOOKED_AT = 200
_LONGEST_AGO = "14 days"
# Of loads before somebody followed it, and of those of which nobody knows, nothing is known: they are no silence.
_SILENT = f"""
SELECT place.monitor_id, place.timing, region.name
FROM unnest(%(monitors)s::bigint[], %(timings)s::text[]) AS place (monitor_id, timing)
JOIN runs_schedule schedule ON schedule.monitor_id = place.monitor_id AND schedule.enabled
JOIN fleet_region region ON region.id = schedule.region_id
WHERE (
    SELECT count(*) FILTER (WHERE last.timings ? place.timing AND last.timings->>place.timing IS NULL) FROM (
        SELECT run.timings FROM runs_run run
        WHERE run.monitor_id = place.monitor_id AND run.region_id = schedule.region_id AND run.trigger = 'schedule'
            AND run.outcome = 'measured' AND {COMPARABLE} AND run.scheduled_for > now() - interval '{_LONGEST_AGO}'
        ORDER BY run.scheduled_for DESC LIMIT {LOADS}
    ) last
) = {LOADS}
ORDER BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentTiming:
    """What none of the last LOADS page loads told in these regions, by their names. Without `site` it is followed by no
    page that the rule looks at."""

    timing: str
    site: str | None = None
    regions: tuple[str, ...] = ()


def timings_of(rule: Rule) -> list[str]:
    """The user timings that a rule goes by."""
    named = [rule.params.get("metric"), *rule.params.get("metrics", ())]
    return [metric for metric in named if isinstance(metric, str) and is_user_timing(metric)]


def silent_timings(rules: Iterable[Rule]) -> dict[int, list[SilentTiming]]:
    """By rule, those that it goes by and can say nothing of. Two statements; none where no rule goes by any."""
    named = {rule: timings for rule in rules if (timings := timings_of(rule))}
    if not named:
        return {}
    asked = {timing for mine in named.values() for timing in mine}
    pages = _following(asked, list(named))
    silent = _silent(pages, asked)
    found = {rule.pk: list(_of(rule, timings, pages, silent)) for rule, timings in named.items()}
    return {rule: told for rule, told in found.items() if told}


def _following(timings: Iterable[str], rules: Sequence[Rule]) -> list[Monitor]:
    pages = Monitor.objects.filter(
        kind=MonitorKind.PAGE,
        site__status=SiteStatus.ACTIVE,
        site__organisation__in={rule.organisation_id for rule in rules},
        user_timings__overlap=list(timings),
    )
    if all(rule.site_id is not None for rule in rules):
        pages = pages.filter(site__in={rule.site_id for rule in rules})
    return list(pages.select_related("site").order_by("pk"))


def _silent(pages: Sequence[Monitor], asked: Collection[str]) -> Mapping[tuple[int, str], list[str]]:
    """The regions by monitor and timing, of those that are asked about."""
    places = [(page, timing) for page in pages for timing in page.user_timings if timing in asked][:_MOST_LOOKED_AT]
    parameters = {
        "monitors": array(page.pk for page, _ in places),
        "timings": [timing for _, timing in places],
    }
    found: dict[tuple[int, str], list[str]] = {}
    for monitor_id, timing, region in fetch(_SILENT, parameters):
        found.setdefault((monitor_id, timing), []).append(region)
    return found


def _of(
    rule: Rule, timings: Sequence[str], pages: Sequence[Monitor], silent: Mapping[tuple[int, str], list[str]]
) -> Iterable[SilentTiming]:
    mine = [page for page in pages if rule.site_id in (None, page.site_id) and rule.monitor_id in (None, page.pk)]
    for timing in timings:
        following = [page for page in mine if timing in page.user_timings]
        if not following:
            yield SilentTiming(timing=timing)
        for page in following:
            if regions := silent.get((page.pk, timing)):
                yield SilentTiming(timing=timing, site=page.site.name, regions=tuple(regions))
