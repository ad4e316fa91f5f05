"""Outages of the past that a rule would have told late or never, since findings had told before why runs fail.

What the judge asks of an outage that goes on is in `said_by_findings`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from backend.alerts.audiences import bad_news_heard, switched_on
from backend.alerts.hindsight import Past, Turn, turn_of
from backend.alerts.judgement.monitors import Heard, RuleSpec
from backend.alerts.judgement.samples import Standing
from backend.alerts.models import Cause, Member
from backend.alerts.parameters import KINDS
from backend.alerts.said_by_findings import AFTER, refused
from backend.alerts.said_by_outages import causes_of_failed
from backend.instants import to_us
from backend.sites.models import Monitor


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A finding that was told, and until when it says why runs fail."""

    id: str
    regions: frozenset[str]
    since_us: int
    until_us: int

    def says(self, seen: Standing, causes: Collection[str], at_us: int) -> bool:
        return self.id in causes and self.regions.issuperset(seen.regions) and self.since_us <= at_us < self.until_us


def turns_told(spec: RuleSpec, heard: Mapping[Monitor, Sequence[Heard]], past: Past) -> Iterator[Turn]:
    """The turns of a rule about runs, as they would have been told. Four statements at most, for outages alone."""
    findings = _findings(past) if KINDS[spec.kind].cause == Cause.AVAILABILITY else {}
    runs = [one.standing.after for mine in heard.values() for one in mine if findings and one.standing.after]
    causes = causes_of_failed([UUID(run) for run in runs]) if runs else {}
    for monitor, mine in heard.items():
        turns = ((turn_of(one, monitor), one.standing) for one in mine)
        told = findings.get(monitor.site_id, ())
        owed = ((turn, _said_until_us(turn, seen, told, causes)) for turn, seen in turns if turn is not None)
        yield from _late(owed, to_us(past.until))


def _findings(past: Past) -> dict[int, list[_Told]]:
    """By site, those that all channels heard of: whichever of them a rule tells, it would have said nothing new."""
    sites = {monitor.site_id for monitor in past.monitors}
    went_on = Q(ended_at=None) | Q(ended_at__gt=past.since - AFTER)
    members = refused(Member.objects.filter(went_on, incident__site__in=sites))
    found: dict[int, list[_Told]] = {}
    for member, since_us in _heard_of(members):
        until = past.until if member.ended_at is None else member.ended_at + AFTER
        told = _Told(
            id=member.facts["finding"], regions=frozenset(member.regions), since_us=since_us, until_us=to_us(until)
        )
        found.setdefault(member.incident.site_id or 0, []).append(told)
    return found


def _heard_of(members: Sequence[Member]) -> Iterator[tuple[Member, int]]:
    """Those of which the last channel has heard, and when."""
    if not members:
        return
    channels = switched_on(members[0].incident.organisation_id)
    news = bad_news_heard([member.incident.public_id for member in members]).order_by("-notice__sequence")
    first: dict[UUID, dict[int | None, int]] = defaultdict(dict)
    for about, channel, at in news.values_list("notice__about", "channel", "notice__message__at"):
        first[about][channel] = to_us(datetime.fromisoformat(at))
    for member in members:
        heard = first[member.incident.public_id]
        if channels and channels <= heard.keys():
            yield member, max(heard[channel] for channel in channels)


def _said_until_us(
    turn: Turn, seen: Standing, findings: Iterable[_Told], causes: Mapping[UUID | None, Collection[str]]
) -> int | None:
    """None where nothing has said it."""
    if not (turn.is_bad and seen.after):
        return None
    named = causes.get(UUID(seen.after), ())
    return max((one.until_us for one in findings if one.says(seen, named, turn.at_us)), default=None)


def _late(turns: Iterable[tuple[Turn, int | None]], until_us: int) -> Iterator[Turn]:
    """What was said is told when that ends to be so, if it still holds."""
    owed: Turn | None = None
    for turn, said_until_us in turns:
        if owed is not None and owed.at_us <= turn.at_us:
            yield owed
        owed = None if said_until_us is None else turn._replace(at_us=said_until_us)
        if owed is None:
            yield turn
    if owed is not None and owed.at_us < until_us:
        yield owed
