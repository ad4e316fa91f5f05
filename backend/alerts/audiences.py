"""Which channels an incident is for, and which have heard of it."""

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from backend.alerts.holding import SPARED
from backend.alerts.message import BAD, OVER, Severity
from backend.alerts.models import Channel, Delivery, DeliveryState, Incident, Member, Notice
from backend.alerts.models.channels import HELD


def channels_of(incident: Incident, members: Sequence[Member]) -> list[Channel]:
    """Whom the members' rules tell: their own channels, or all of the organisation's."""
    rules = {member.rule_id: member.rule for member in members if member.rule and member.rule.notify}
    chosen: dict[int, Channel] = {}
    for rule in rules.values():
        own = list(rule.channels.all())
        for channel in own or Channel.objects.filter(organisation=incident.organisation_id):
            chosen[channel.pk] = channel
    return list(chosen.values())


def switched_on(organisation: int) -> set[int]:
    """The keys of an organisation's channels that are told anything."""
    return set(Channel.objects.filter(organisation=organisation, enabled=True).values_list("pk", flat=True))


def notifies(members: Sequence[Member]) -> bool:
    """Whether a rule of theirs tells anybody."""
    return any(member.rule is not None and member.rule.notify for member in members)


def who_knows(incident: Incident) -> list[Channel]:
    """The channels that heard something, or are about to, and not that it is over."""
    turns = Notice.objects.filter(about=incident.public_id, message__event__in=[*BAD, *OVER])
    sent = Delivery.objects.filter(notice__in=turns).exclude(state=DeliveryState.DROPPED)
    last = dict(sent.order_by("notice__sequence").values_list("channel", "notice__message__event"))
    return list(Channel.objects.filter(pk__in=[pk for pk, event in last.items() if event not in OVER]))


def who_hears(incident: Incident, *, severity: str) -> set[int]:
    """The keys of the channels that ever heard something bad of it, are about to, or hear of nothing that is over or
    acknowledged by then. Where hours hold what is milder until morning, whoever hears of this severity at any time has
    not heard.
    """
    heard = bad_news_heard([incident.public_id])
    if severity == Severity.CRITICAL:
        by_day = HELD & Q(channel__hours__critical_at_any_time=True) & ~Q(notice__message__severity=severity)
        heard = heard.exclude(pk__in=heard.filter(by_day))
    return set(heard.values_list("channel", flat=True))


def bad_news_heard(incidents: Collection[UUID]) -> QuerySet[Delivery]:
    """The bad news of incidents that channels ever heard, are about to, or hear of nothing that is over or acknowledged
    by then."""
    bad = Delivery.objects.filter(notice__about__in=incidents, notice__message__event__in=BAD)
    return bad.filter(~Q(state=DeliveryState.DROPPED) | Q(answer__in=SPARED))
