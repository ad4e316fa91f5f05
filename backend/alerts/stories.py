"""Incidents as they are told: from rows to `wording`."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Min, Q

from backend.alerts.flapping import comes_and_goes
from backend.alerts.growth import TIME_COLUMNS, Row, growth_between
from backend.alerts.message import Severity
from backend.alerts.models import Incident, Member, RuleKind
from backend.alerts.states import RANK, State
from backend.alerts.wording import Account, Story, deploy_at, joined
from backend.analysis.settings import ROLLOUT_S
from backend.fleet.models import Region
from backend.runs.failed import FAILURE_COLUMNS, failure_of
from backend.runs.models import Run
from backend.sites.models import Deploy, Site
from backend.sites.queries import deploys_between
from workers.diagnosis.catalogue.failures import advice_on

# How a rule's severity is worn by a state: a site that is down in one region only is no emergency yet.
_EASED = {State.DEGRADED, State.NO_DATA}
_OF_FAILED_RUNS = (RuleKind.AVAILABILITY, RuleKind.FAILURES)
_SUDDEN = (RuleKind.BUDGET, *_OF_FAILED_RUNS)
# Of sites that need another one, in its message.
_NAMED = 3
_ROLLOUT = timedelta(seconds=ROLLOUT_S)
_ORDER = [Severity.INFO, Severity.WARNING, Severity.CRITICAL]


def severity_of(rule_severity: str, state: State) -> Severity:
    """How severe a state of a rule is."""
    severity = Severity(rule_severity)
    return Severity.WARNING if severity is Severity.CRITICAL and state in _EASED else severity


def more_severe(severities: Iterable[Severity]) -> Severity:
    return max(severities, key=_ORDER.index, default=Severity.INFO)


def going_on(incident: Incident) -> list[Member]:
    """The members that are not over, the worst and oldest first."""
    members = Member.objects.filter(incident=incident, ended_at=None).select_related("rule")
    return sorted(members, key=lambda member: (-RANK[State(member.state)], member.since, member.pk))


def last_of(incident: Incident) -> list[Member]:
    """The member that was over last, where none goes on any more."""
    return list(Member.objects.filter(incident=incident).select_related("rule").order_by("-ended_at")[:1])


def is_said_by_others(member: Member, members: Sequence[Member]) -> bool:
    """Whether it is known without this member: that runs fail, by any rule or monitor, where a site is down."""
    down = [other for other in members if other.kind == RuleKind.AVAILABILITY and other.pk != member.pk]
    if member.kind == RuleKind.FAILURES:
        return bool(down)
    is_as_bad = any(RANK[State(other.state)] >= RANK[State(member.state)] for other in down)
    return member.kind == RuleKind.AVAILABILITY and is_as_bad


def story_of(incident: Incident, members: Sequence[Member]) -> Story:
    """The incident with these members, which are at least one. Up to six statements."""
    codes = {code for member in members for code in [*member.regions, *member.facts.get("up", ())]}
    names = dict(Region.objects.filter(code__in=codes).values_list("code", "name")) if codes else {}
    site, region = incident.site, incident.region
    rows, deploys = _rows_of(members), _deploys_before(site, members)
    relying = _relying(site, members)
    return Story(
        incident_id=str(incident.public_id),
        name=site.name if site else region.name if region else "",
        site_id=str(site.public_id) if site else None,
        cause=incident.cause,
        state=State(incident.state),
        worst=State(incident.worst_state),
        severity=Severity(incident.severity),
        opened_at=incident.opened_at,
        accounts=tuple(_account(member, names, rows, (_followed(member, deploys), relying)) for member in members),
        began_at=_began_again(incident),
        came_and_went=comes_and_goes(incident),
    )


def _began_again(incident: Incident) -> datetime | None:
    """Since when it is bad without having been over; None for what was never over, and for what comes and goes."""
    if not incident.flips or comes_and_goes(incident):
        return None
    of_now = Q(ended_at=None) | Q(ended_at__gte=incident.flips[-1])
    began: datetime | None = Member.objects.filter(of_now, incident=incident).aggregate(at=Min("since"))["at"]
    return began


def _rows_of(members: Sequence[Member]) -> dict[UUID, Row]:
    """What is still kept of the runs before and after, where that explains a member. One statement, or none."""
    told = [member for member in members if member.kind in _SUDDEN]
    wanted = [run_id for member in told for run_id in (member.before_run, member.after_run) if run_id is not None]
    rows = Run.objects.filter(run_id__in=wanted).values("run_id", *TIME_COLUMNS, *FAILURE_COLUMNS)
    return {row["run_id"]: row for row in rows}


def _deploys_before(site: Site | None, members: Sequence[Member]) -> list[Deploy]:
    """The releases that failures may follow, oldest first. One statement, or none."""
    begun = [member.since for member in members if member.kind in _SUDDEN]
    return deploys_between(site, min(begun) - _ROLLOUT, max(begun)) if site and begun else []


def _followed(member: Member, deploys: Sequence[Deploy]) -> str:
    """Which release a failure follows, in a sentence; empty where none came shortly before. Changes of speed have found
    theirs by their own doubt about when they began."""
    if member.kind not in _SUDDEN:
        return ""
    found = [deploy for deploy in deploys if member.since - _ROLLOUT <= deploy.at < member.since]
    if not found:
        return ""
    return f"It follows {deploy_at(found[-1].version or found[-1].external_id, found[-1].at)}."


def _relying(site: Site | None, members: Sequence[Member]) -> str:
    """Which other sites need this one, where it cannot be reached: of these nothing is told by itself meanwhile. One
    statement, or none."""
    if site is None or all(member.kind != RuleKind.AVAILABILITY for member in members):
        return ""
    names = list(site.relied_on_by.order_by("name", "pk").values_list("name", flat=True))
    if not names:
        return ""
    more = len(names) - _NAMED
    told = joined([*names[:_NAMED], f"{more} more"] if more > 0 else names)
    return f"{told} {'relies on it, and is' if len(names) == 1 else 'rely on it, and are'} not told of meanwhile."


def _account(member: Member, names: dict[str, str], rows: Mapping[UUID, Row], known: Sequence[str]) -> Account:
    return Account(
        kind=member.kind,
        rule=member.rule.title if member.rule else member.get_kind_display(),
        state=State(member.state),
        metric=member.metric,
        regions=tuple(names.get(code, code) for code in member.regions),
        since=member.since,
        facts=_named(_explained(member, rows, known), names),
        before_run=None if member.before_run is None else str(member.before_run),
        after_run=None if member.after_run is None else str(member.after_run),
        ended_at=member.ended_at,
    )


def _explained(member: Member, rows: Mapping[UUID, Row], known: Sequence[str]) -> dict[str, Any]:
    """What is known of a member, and what its runs, releases and dependencies say besides."""
    before, after = (None if run is None else rows.get(run) for run in (member.before_run, member.after_run))
    sentence = ""
    if member.kind == RuleKind.BUDGET and before and after:
        sentence = growth_between(str(member.facts["metric"]), before, after)
    elif member.kind in _OF_FAILED_RUNS and after:
        sentence = _advice(after)
    said = [one for one in (*known, sentence) if one]
    return {**member.facts, "sentences": said} if said else dict(member.facts)


def _advice(failed_run: Row) -> str:
    """What to do about it; empty where nobody knows."""
    failed = failure_of(*(failed_run[column] for column in FAILURE_COLUMNS))
    return "" if failed is None else advice_on(failed)


def _named(facts: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return facts | {"up": [names.get(code, code) for code in facts["up"]]} if facts.get("up") else facts
