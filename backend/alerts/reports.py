"""For those above who judge for themselves, such as the comparison of CDN and origin: what they find becomes incidents
by the rules of their kind, in their own transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from backend.alerts.incidents import Change, Scene, apply
from backend.alerts.judgement.samples import Standing
from backend.alerts.judgement.tracks import Step
from backend.alerts.models import Incident, Member, Resolution, Rule, RuleKind
from backend.alerts.states import TABLE, State
from backend.instants import to_us
from backend.sites.models import Site

_BY_HAND = (Resolution.RESOLVED, Resolution.ACCEPTED)


def report(
    *,
    kind: RuleKind,
    site: Site,
    state: State,
    at: datetime,
    subject: str = "",
    title: str = "",
    sentences: Sequence[str] = (),
    regions: Sequence[str] = (),
    since: datetime | None = None,
    before_run: UUID | None = None,
    after_run: UUID | None = None,
    facts: Mapping[str, Any] | None = None,
    resolution: Resolution = Resolution.RECOVERED,
) -> Incident | None:
    """Says how something of a site stands now. Call it in the transaction that stores what led to it, every time there
    is a verdict: only changes are told, each once, and saying the same again changes nothing.

    `subject` keeps several things of a site apart (a pairing's id, at most 20 characters); `regions` are codes; `title`
    is one line for people, such as "Shop: the CDN is 38 ms slower than the origin in Singapore"; `resolution` is why
    what is over is. Without a rule of the kind that is switched on nothing happens. Gives the incident, if there is
    one. A verdict that is not conclusive is no reason to call.
    """
    standing = Standing(
        state=state,
        since_us=to_us(since or at),
        regions=tuple(regions),
        before=before_run.hex if before_run else "",
        after=after_run.hex if after_run else "",
        facts={**(facts or {}), "title": title, "sentences": list(sentences)},
    )
    incident = None
    rules = Rule.objects.filter(Q(site=site) | Q(site=None), organisation=site.organisation_id, kind=kind, enabled=True)
    for rule in rules.order_by("pk"):
        incident = _report(rule, site, standing, subject[:20], at, resolution) or incident
    return incident


def _report(
    rule: Rule, site: Site, standing: Standing, subject: str, at: datetime, resolution: Resolution
) -> Incident | None:
    scene = Scene(organisation_id=site.organisation_id, key=str(site.public_id), site_id=site.pk)
    last = _last(rule, site, subject)
    by_hand = last is not None and last.incident.resolution in _BY_HAND and last.ended_at == last.incident.resolved_at
    before = State(last.state) if last is not None and (last.ended_at is None or by_hand) else State.OK
    if last is not None and by_hand and standing.state is State.OK:
        # It ended after a person closed it; from here on it may begin again.
        last.ended_at = at
        last.save(update_fields=["ended_at"])
    step = Step(TABLE[before, standing.state].code, before, standing, to_us(at)) if before != standing.state else None
    if step is None and standing.state is State.OK:
        return None
    if before is State.OK and to_us(at) - standing.since_us < rule.delay_s * 1_000_000:
        # Whoever judges says it again, unless it is over by then.
        return None
    change = Change(rule=rule, scene=scene, standing=standing, step=step, metric=subject, resolution=resolution)
    return apply(change, now=at)


def _last(rule: Rule, site: Site, subject: str) -> Member | None:
    """What was reported last: it goes on, is over, or was closed by a person although it goes on."""
    mine = Member.objects.filter(rule=rule, metric=subject, incident__site=site)
    return mine.select_related("incident").order_by("-incident__pk").first()
