"""An outbox whose clock stands in a night, and incidents to tell of in it."""

from collections.abc import Iterable
from datetime import UTC, datetime, time
from uuid import UUID, uuid4

from backend.alerts.delivery import Delivering
from backend.alerts.hours import DAYS, Hours
from backend.alerts.message import Event, Severity
from backend.alerts.models import Channel, ChannelKind, Delivery, Incident
from backend.alerts.notices import tell
from backend.alerts.tests.standin import StandIn
from backend.alerts.tests.test_delivery import Outbox
from backend.alerts.tests.test_notices import message
from backend.cast import Member

# In Berlin, which is an hour ahead: a Friday's night, and when the hours begin.
NIGHT = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
MORNING = datetime(2026, 11, 21, 7, 0, tzinfo=UTC)
BY_DAY = Hours(days=DAYS, begins=time(8), ends=time(18), time_zone="Europe/Berlin")
QUARTER_S = 900


class Night(Outbox):
    """`say` and `begin` write down what the judge would; `pass_to` lets time pass, with a step a second at its end."""

    def __init__(self, member: Member, there: StandIn) -> None:
        self.member, self.there, self.now, self.loop = member, there, NIGHT, Delivering()

    def made(
        self, kind: ChannelKind = ChannelKind.SLACK, *, hours: Hours | None = None, after_s: int = 0, name: str = "ops"
    ) -> Channel:
        channel = self.channel(self.there.url, kind, name)
        channel.hours, channel.after_s = hours and hours.to_json(), after_s
        channel.save()
        return channel

    def begin(self, *channels: Channel, title: str = "down", severity: Severity = Severity.WARNING) -> Incident:
        incident = Incident.objects.create(
            organisation=self.member.organisation,
            cause="availability",
            key=str(uuid4()),
            state="failing",
            worst_state="failing",
            severity=severity,
            title=title,
            opened_at=self.now,
            changed_at=self.now,
        )
        self.say(incident.public_id, channels, title=title, severity=severity)
        return incident

    def say(
        self,
        about: UUID,
        channels: Iterable[Channel],
        event: Event = Event.OPENED,
        *,
        title: str = "down",
        severity: Severity = Severity.WARNING,
    ) -> None:
        told = message(event, title=title, severity=severity, at=self.now)
        notice = tell(organisation=self.member.organisation, about=about, message=told, channels=channels)
        Delivery.objects.filter(notice=notice).update(next_try_at=self.now)

    def end(self, incident: Incident, *channels: Channel, title: str = "up") -> None:
        Incident.objects.filter(pk=incident.pk).update(resolved_at=self.now)
        self.say(incident.public_id, channels, Event.RECOVERED, title=title)

    def pass_to(self, at: datetime, steps: int = 4) -> None:
        self.now = at
        self.steps(steps)

    @property
    def heard(self) -> list[str]:
        """The titles that arrived, in their order."""
        return [call.header if "blocks" in call.body else str(call.body["data"]["title"]) for call in self.there.calls]

    @property
    def log(self) -> list[tuple[str, str, str]]:
        rows = Delivery.objects.order_by("pk").values_list("notice__message__title", "state", "answer")
        return [(title, state, answer) for title, state, answer in rows]
