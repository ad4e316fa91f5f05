"""Against a real server that gives Slack's answers: nothing is lost, nothing told twice, and in the right order."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from pytest_django import Settings

from backend.alerts import delivery
from backend.alerts.channels import Outcome, Sent
from backend.alerts.channels.config import new_secret
from backend.alerts.delivery import BACKOFF_S, LEASE, MAX_ATTEMPTS, Delivering, claim, record
from backend.alerts.message import Event
from backend.alerts.models import Channel, ChannelKind, Delivery, Notice
from backend.alerts.notices import tell
from backend.alerts.tests.standin import (
    ARCHIVED,
    FAULT,
    INVALID_PAYLOAD,
    NO_SERVICE,
    OK,
    StandIn,
    limited,
    loopback,
)
from backend.alerts.tests.test_notices import message
from backend.cast import Member
from backend.tests.side_by_side import side_by_side
from workers.tests.ports import closed_port

pytestmark = pytest.mark.django_db


@pytest.fixture
def there() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


class Outbox:
    """Channels of one organisation, and a clock of our own that only `wait` moves."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.now = datetime.now().astimezone()
        self.loop = Delivering()

    def channel(self, url: str, kind: ChannelKind = ChannelKind.SLACK, name: str = "ops") -> Channel:
        channel = Channel(organisation=self.member.organisation, kind=kind, name=name, target="there")
        channel.config = {"url": url, "secret": new_secret()}
        channel.not_before = self.now
        channel.save()
        return channel

    def tell(
        self, *channels: Channel, title: str = "down", event: Event = Event.OPENED, about: UUID | None = None
    ) -> UUID:
        about = about or uuid4()
        tell(
            organisation=self.member.organisation,
            about=about,
            message=message(event, title=title),
            channels=channels,
        )
        Delivery.objects.filter(attempts=0).update(next_try_at=self.now)
        return about

    def step(self, timeout_s: float = 60.0) -> float:
        return self.loop.step(self.now, outbound=loopback(timeout_s))

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def steps(self, count: int, every_s: float = 1.0) -> None:
        for _ in range(count):
            self.step()
            self.wait(every_s)

    def states(self) -> list[str]:
        return list(Delivery.objects.order_by("pk").values_list("state", flat=True))


@pytest.fixture
def outbox(alice: Member) -> Outbox:
    return Outbox(alice)


def the(**wanted: Any) -> Delivery:
    return Delivery.objects.get(**wanted)


def test_a_message_is_sent_once_and_the_answer_kept(outbox: Outbox, there: StandIn) -> None:
    outbox.tell(outbox.channel(there.url))
    outbox.steps(5)
    assert [call.header for call in there.calls] == ["down"]
    assert (the().state, the().status, the().answer, the().attempts) == ("delivered", 200, "ok", 1)
    assert outbox.step() == delivery.IDLE_S


def test_a_recovery_is_told_after_its_opening_and_once(outbox: Outbox, there: StandIn) -> None:
    channel = outbox.channel(there.url)
    about = outbox.tell(channel)
    outbox.tell(channel, about=about, title="up", event=Event.RECOVERED)
    outbox.steps(5)
    assert [call.header for call in there.calls] == ["down", "up"]


def test_an_outage_loses_nothing_and_turns_no_order_round(outbox: Outbox) -> None:
    channel = outbox.channel(f"http://127.0.0.1:{closed_port()}/services/x")
    about = outbox.tell(channel)
    outbox.tell(channel, title="another")
    outbox.steps(20, every_s=60)
    outbox.tell(channel, about=about, title="up", event=Event.RECOVERED)
    outbox.steps(20, every_s=120)
    assert outbox.states() == ["waiting"] * 3
    assert the(notice__sequence=1, notice__about=about).answer == "The host did not take the connection."
    with StandIn() as back:
        channel.config = {"url": back.url}
        channel.save()
        outbox.wait(BACKOFF_S[-1])
        outbox.steps(4)
    assert sorted(call.header for call in back.calls) == ["another", "down", "up"]
    assert outbox.states() == ["delivered"] * 3
    headers = [call.header for call in back.calls]
    assert headers.index("down") < headers.index("up")


def test_once_a_channel_is_back_what_waited_follows_at_once(outbox: Outbox) -> None:
    with StandIn(FAULT, FAULT, OK) as there:
        channel = outbox.channel(there.url)
        outbox.tell(channel, title="one")
        outbox.tell(channel, title="two")
        outbox.steps(2)
        outbox.wait(BACKOFF_S[0] * 1.2)
        Delivery.objects.filter(pk=the(notice__message__title="two").pk).update(
            next_try_at=outbox.now + timedelta(hours=3)
        )
        outbox.steps(3)
        assert [call.header for call in there.calls] == ["one", "two", "one", "two"]


def test_eight_tries_are_spread_over_hours_and_then_it_is_said_to_have_failed(outbox: Outbox) -> None:
    with StandIn(FAULT) as there:
        outbox.tell(outbox.channel(there.url))
        started = outbox.now
        while the().state == "waiting":
            outbox.step()
            outbox.wait(300)
        assert len(there.calls) == MAX_ATTEMPTS
    assert timedelta(hours=8) < outbox.now - started < timedelta(hours=14)
    assert the().state == "failed"
    assert the().answer == "Given up after 8 tries. The last answer: rollup_error"


def test_retry_after_holds_the_whole_channel(outbox: Outbox) -> None:
    with StandIn(limited("120"), OK) as there:
        channel = outbox.channel(there.url)
        outbox.tell(channel, title="one")
        outbox.step()
        outbox.tell(channel, title="two")
        outbox.steps(11, every_s=10)
        assert len(there.calls) == 1
        outbox.wait(20)
        outbox.steps(3)
        assert sorted(call.header for call in there.calls[1:]) == ["one", "two"]


def test_what_slack_cannot_read_is_said_more_simply(outbox: Outbox) -> None:
    with StandIn(INVALID_PAYLOAD, OK) as there:
        outbox.tell(outbox.channel(there.url))
        outbox.step()
        outbox.wait(BACKOFF_S[0] * 1.2)
        outbox.step()
        first, second = there.calls
    assert "blocks" in first.body
    assert second.body["text"].endswith("down")
    assert "blocks" not in second.body
    assert the().state == "delivered"


def test_what_slack_refuses_even_then_has_failed(outbox: Outbox) -> None:
    with StandIn(INVALID_PAYLOAD) as there:
        outbox.tell(outbox.channel(there.url))
        outbox.steps(5, every_s=60)
        assert len(there.calls) == 2
    assert (the().state, the().status, the().answer) == ("failed", 400, "invalid_payload")


@pytest.mark.parametrize(("answer", "words"), [(NO_SERVICE, "no_service"), (ARCHIVED, "channel_is_archived")])
def test_a_channel_that_is_gone_is_switched_off_and_the_others_told(
    outbox: Outbox, there: StandIn, answer: bytes, words: str
) -> None:
    with StandIn(answer) as gone:
        channel, other = outbox.channel(gone.url), outbox.channel(there.url, name="other")
        outbox.tell(channel)
        outbox.tell(channel, title="later")
        outbox.step()
        assert len(gone.calls) == 1
    channel.refresh_from_db()
    assert (channel.enabled, channel.disabled_reason) == (False, words)
    assert the(notice__message__title="later").state == "dropped"
    Delivery.objects.filter(channel=other).update(next_try_at=outbox.now)
    outbox.step()
    assert [call.header for call in there.calls] == ["The channel ops was switched off"]
    assert words in there.calls[0].body["blocks"][1]["text"]["text"]


def test_a_channel_that_is_gone_with_nobody_else_to_tell_is_switched_off(outbox: Outbox) -> None:
    with StandIn(NO_SERVICE) as gone:
        outbox.tell(outbox.channel(gone.url))
        outbox.steps(3)
    assert not Channel.objects.get().enabled
    assert Notice.objects.filter(message__event="channel_disabled").count() == 1


def test_a_slow_receiver_is_waited_for_no_longer_than_a_call_may_take(outbox: Outbox) -> None:
    released = threading.Event()
    with StandIn(before_answer=lambda _: released.wait(120)) as slow:
        outbox.tell(outbox.channel(slow.url))
        outbox.step(timeout_s=0.3)
        assert (the().state, the().answer) == ("waiting", "The host did not answer in time.")
        released.set()


def test_messages_keep_a_seconds_distance(outbox: Outbox, there: StandIn) -> None:
    channel = outbox.channel(there.url, ChannelKind.WEBHOOK)
    for number in range(3):
        outbox.tell(channel, title=str(number))
    for seconds, calls in ((0, 1), (0.5, 1), (0.5, 2), (0.9, 2), (0.2, 3)):
        outbox.wait(seconds)
        outbox.step()
        assert len(there.calls) == calls


def test_more_than_five_at_once_are_one_message_for_people_and_each_for_programs(
    outbox: Outbox, there: StandIn
) -> None:
    people = outbox.channel(there.url)
    with StandIn() as receiver:
        programs = outbox.channel(receiver.url, ChannelKind.WEBHOOK, "hook")
        for number in range(8):
            outbox.tell(people, programs, title=f"site {number} is down")
        outbox.steps(10)
        assert len({call.headers["webhook-id"] for call in receiver.calls}) == 8
    (call,) = there.calls
    assert call.header == "8 alerts at once"
    states = Delivery.objects.filter(channel=people).order_by("pk").values_list("state", flat=True)
    assert list(states) == ["delivered", *["digested"] * 7]


def test_five_in_a_minute_are_told_singly_and_the_rest_collected_until_it_is_over(
    outbox: Outbox, there: StandIn
) -> None:
    channel = outbox.channel(there.url)
    for number in range(9):
        outbox.tell(channel, title=f"site {number}")
        outbox.steps(5)
    headers = [call.header for call in there.calls]
    assert headers[:5] == [f"site {number}" for number in range(5)]
    assert len(headers) == 5
    outbox.steps(30)
    assert [call.header for call in there.calls[5:]] == ["4 alerts at once"]


def test_a_digest_that_fails_is_tried_again_whole(outbox: Outbox) -> None:
    with StandIn(FAULT, OK) as there:
        channel = outbox.channel(there.url)
        for number in range(7):
            outbox.tell(channel, title=f"site {number}")
        outbox.step()
        assert outbox.states() == ["waiting"] * 7
        outbox.wait(BACKOFF_S[0] * 1.2)
        outbox.step()
        assert [call.header for call in there.calls] == ["7 alerts at once"] * 2


def test_a_crash_between_sending_and_recording_sends_once_more_with_the_same_id(
    outbox: Outbox, there: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.tell(outbox.channel(there.url, ChannelKind.WEBHOOK))
    with monkeypatch.context() as crash:
        crash.setattr(delivery, "record", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            outbox.step()
    outbox.loop = Delivering()
    outbox.steps(5)
    assert len(there.calls) == 1
    outbox.wait(LEASE.total_seconds())
    outbox.steps(3)
    first, second = there.calls
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert the().state == "delivered"


def test_a_process_that_dies_at_every_try_does_not_try_for_ever(outbox: Outbox, there: StandIn) -> None:
    outbox.tell(outbox.channel(there.url))
    for _ in range(MAX_ATTEMPTS):
        assert len(claim(outbox.now)) == 1
        outbox.wait(LEASE.total_seconds())
    assert claim(outbox.now) == []
    assert the().state == "failed"


def test_an_answer_that_comes_after_the_lease_ended_changes_nothing(outbox: Outbox, there: StandIn) -> None:
    outbox.tell(outbox.channel(there.url))
    (late,) = claim(outbox.now)
    outbox.wait(LEASE.total_seconds())
    (ours,) = claim(outbox.now)
    record(ours, Sent(outcome=Outcome.DELIVERED, answer="ok", status=200), outbox.now)
    record(late, Sent(outcome=Outcome.REFUSED, answer="late", status=500), outbox.now)
    assert (the().state, the().answer) == ("delivered", "ok")


def test_what_is_sent_at_this_moment_is_not_sent_by_another(outbox: Outbox, there: StandIn) -> None:
    outbox.tell(outbox.channel(there.url))
    assert len(claim(outbox.now)) == 1
    outbox.wait(2)
    assert claim(outbox.now) == []


def test_a_channel_that_is_off_gets_nothing(outbox: Outbox, there: StandIn) -> None:
    channel = outbox.channel(there.url)
    outbox.tell(channel)
    Channel.objects.update(enabled=False)
    outbox.steps(3)
    assert there.calls == []


def test_one_channel_that_fails_costs_the_others_nothing(outbox: Outbox, there: StandIn) -> None:
    broken = outbox.channel(f"http://127.0.0.1:{closed_port()}/x", name="broken")
    unreadable = outbox.channel(there.url, name="unreadable")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE alerts_channel SET config = 'not a token' WHERE id = %s", [unreadable.pk])
    outbox.tell(broken, unreadable, outbox.channel(there.url, name="good"))
    outbox.step()
    assert the(channel_name="good").state == "delivered"
    assert "secret" in the(channel_name="unreadable").answer
    assert the(channel_name="unreadable").state == "waiting"


def test_what_nobody_foresaw_is_one_lost_try(outbox: Outbox, there: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.alerts.channels.send", lambda *_: 1 / 0)
    outbox.tell(outbox.channel(there.url))
    outbox.step()
    assert (the().state, the().attempts) == ("waiting", 1)


def test_private_addresses_are_not_told_without_the_operators_leave(
    outbox: Outbox, there: StandIn, settings: Settings
) -> None:
    settings.EXTRA_PORTS = frozenset(range(1024, 65536))
    outbox.tell(outbox.channel(there.url))
    outbox.loop.step(outbox.now)
    assert there.calls == []
    assert "FIRSTBYTE_PRIVATE_TARGETS" in the().answer
    assert "127.0.0.1" not in the().answer


@pytest.mark.django_db(transaction=True)
def test_two_processes_send_each_message_once(alice: Member) -> None:
    outbox = Outbox(alice)
    with StandIn() as there:
        hooks = [outbox.channel(there.url, ChannelKind.WEBHOOK, f"hook {number}") for number in range(10)]
        outbox.tell(*hooks)
        assert side_by_side(4, lambda _: Delivering().step(outbox.now, outbound=loopback(60.0))) == []
        ids = [call.headers["webhook-id"] for call in there.calls]
    assert len(ids) == len(set(ids)) == 10
    assert outbox.states() == ["delivered"] * 10


def test_what_was_told_more_than_a_year_ago_is_forgotten(outbox: Outbox, there: StandIn) -> None:
    channel = outbox.channel(there.url)
    for title in ("old", "new"):
        outbox.tell(channel, title=title)
    outbox.steps(3)
    Notice.objects.filter(message__title="old").update(created_at=outbox.now - delivery.KEPT - timedelta(days=1))
    outbox.step()
    assert [notice.message["title"] for notice in Notice.objects.all()] == ["new"]
    assert Delivery.objects.count() == 1


def test_no_secret_is_in_the_log(outbox: Outbox, caplog: pytest.LogCaptureFixture) -> None:
    with StandIn(FAULT) as there:
        outbox.tell(outbox.channel(there.url))
        outbox.step()
    assert "secret-part" not in caplog.text
    assert "retry" in caplog.text
