"""Making, changing and testing channels. Secrets go in and never come out."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from cryptography.fernet import Fernet
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from backend.accounts.models import AuditEntry
from backend.alerts.actions import channels as actions
from backend.alerts.actions.channels import Made
from backend.alerts.channels import Outcome
from backend.alerts.channels.config import ChannelError, Destination
from backend.alerts.models import Channel, ChannelKind, Delivery
from backend.alerts.notices import tell
from backend.alerts.queries import channels as queries
from backend.alerts.tests.standin import NO_SERVICE, StandIn, limited, loopback
from backend.alerts.tests.test_notices import message
from backend.cast import Member
from backend.tests.side_by_side import both_having_read

pytestmark = pytest.mark.django_db

SECRET_URL = "https://hooks.slack.com/services/T0/B0/hunter2"


def make(member: Member, kind: ChannelKind = ChannelKind.WEBHOOK, name: str = "ops", **changes: Any) -> Made:
    destination = Destination(**({"url": "https://hook.example/path?key=hunter2"} | changes))
    return actions.create_channel(
        actor=member.user, organisation=member.organisation, kind=kind, name=name, destination=destination
    )


def point_at(channel: Channel, url: str) -> Channel:
    channel.config = {**channel.config, "url": url}
    channel.save()
    return channel


def rest(channel: Channel) -> None:
    Channel.objects.filter(pk=channel.pk).update(not_before=timezone.now())


def test_what_is_secret_is_encrypted_and_in_no_audit_entry(alice: Member) -> None:
    channel = make(alice, ChannelKind.SLACK, url=SECRET_URL).channel
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(c)::text FROM alerts_channel c")
        (stored,) = cursor.fetchone()
    assert "hunter2" not in stored
    assert "hunter2" not in str(list(AuditEntry.objects.values()))
    assert channel.target == "hooks.slack.com"
    assert Channel.objects.get().config == {"url": SECRET_URL}


def test_a_webhooks_secret_is_given_once_and_anew_when_rotated(alice: Member) -> None:
    made = make(alice)
    assert made.secret is not None
    rotated = actions.rotate_secret(actor=alice.user, channel=made.channel)
    stored = Channel.objects.get().config
    assert (stored["secret"], stored["old_secret"]) == (rotated, made.secret)
    assert make(alice, ChannelKind.SLACK, "slack", url=SECRET_URL).secret is None


def test_only_a_webhook_has_a_secret_to_rotate(alice: Member) -> None:
    channel = make(alice, ChannelKind.SLACK, url=SECRET_URL).channel
    with pytest.raises(ChannelError, match="Only webhooks"):
        actions.rotate_secret(actor=alice.user, channel=channel)


def test_a_name_is_used_once_in_an_organisation(alice: Member, charlie: Member) -> None:
    make(alice)
    make(charlie)
    with pytest.raises(ChannelError, match="already") as caught:
        make(alice, name=" ops ")
    assert caught.value.field == "name"


@pytest.mark.django_db(transaction=True)
def test_of_two_channels_that_get_one_name_at_once_one_is_refused_it(alice: Member) -> None:
    channels = [make(alice, name=name).channel for name in ("first", "second")]

    def rename(number: int) -> None:
        actions.change_channel(actor=alice.user, channel=channels[number], name="ops")

    refused = both_having_read('SELECT 1 AS "a" FROM "alerts_channel"', rename)
    assert [type(error) for error in refused] == [ChannelError]
    assert Channel.objects.filter(name="ops").count() == 1


def test_without_a_name_a_channel_is_named_for_where_it_leads(alice: Member) -> None:
    assert make(alice, name="").channel.name == "hook.example"


def test_there_is_a_limit(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_CHANNELS", 1)
    make(alice)
    with pytest.raises(ChannelError, match="delete one"):
        make(alice, name="second")


def test_what_is_left_empty_stays_as_it_is(alice: Member) -> None:
    made = make(alice)
    changed = actions.change_channel(actor=alice.user, channel=made.channel, name="night shift")
    assert (changed.name, changed.target) == ("night shift", "hook.example")
    changed = actions.change_channel(
        actor=alice.user, channel=made.channel, destination=Destination(url="https://new.example/")
    )
    assert changed.target == "new.example"
    assert Channel.objects.get().config["secret"] == made.secret
    entry = AuditEntry.objects.filter(action="change_channel").latest("pk")
    assert entry.detail == {"name": "night shift", "changed": ["destination"]}


def test_a_new_destination_brings_a_channel_back_that_was_gone(alice: Member) -> None:
    channel = make(alice, ChannelKind.SLACK, url=SECRET_URL).channel
    Channel.objects.update(enabled=False, disabled_reason="no_service")
    actions.change_channel(actor=alice.user, channel=channel, destination=Destination(url=f"{SECRET_URL}-new"))
    channel.refresh_from_db()
    assert (channel.enabled, channel.disabled_reason) == (True, "")


def test_what_waits_for_a_channel_is_not_sent_when_it_is_on_again(alice: Member) -> None:
    channel = make(alice).channel
    tell(organisation=alice.organisation, about=channel.public_id, message=message(), channels=[channel])
    actions.switch_channel(actor=alice.user, channel=channel, enabled=False)
    actions.switch_channel(actor=alice.user, channel=channel, enabled=True)
    assert Delivery.objects.get().state == "dropped"
    assert Channel.objects.get().enabled


def test_the_log_outlives_its_channel(alice: Member) -> None:
    channel = make(alice).channel
    about = channel.public_id
    tell(organisation=alice.organisation, about=about, message=message(), channels=[channel])
    actions.delete_channel(actor=alice.user, channel=channel)
    kept = Delivery.objects.get(notice__about=about)
    line = queries.line_of(kept)
    assert (line.channel, kept.channel, line.state) == ("ops", None, "dropped")


def test_a_test_shows_the_other_sides_own_answer(alice: Member) -> None:
    with StandIn(NO_SERVICE) as there:
        channel = point_at(make(alice, ChannelKind.SLACK, url=SECRET_URL).channel, there.url)
        sent = actions.send_test(actor=alice.user, channel=channel, outbound=loopback())
    assert (sent.outcome, sent.status, sent.answer) == (Outcome.GONE, 404, "no_service")
    assert there.calls[0].header == "Test: alerts of Acme will arrive here"
    assert Delivery.objects.get().state == "failed"
    # Whoever tests looks at the answer; only an alert that could not be told switches a channel off.
    assert Channel.objects.get().enabled


@pytest.mark.usefixtures("standing_clock")
def test_a_test_is_not_sent_again_and_again(alice: Member) -> None:
    with StandIn() as there:
        channel = point_at(make(alice).channel, there.url)
        assert actions.send_test(actor=alice.user, channel=channel, outbound=loopback()).status == 200
        with pytest.raises(ChannelError, match="Try again then"):
            actions.send_test(actor=alice.user, channel=channel, outbound=loopback())
        rest(channel)
        actions.send_test(actor=alice.user, channel=channel, outbound=loopback())
        assert len(there.calls) == 2


def test_all_channels_together_are_tested_so_often_in_an_hour(
    alice: Member, charlie: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_TESTS_AN_HOUR", 3)
    with StandIn() as there, time_machine.travel(timezone.now(), tick=False) as clock:
        first, second = (point_at(make(alice, name=name).channel, there.url) for name in ("a", "b"))
        for channel in (first, second, first):
            assert actions.send_test(actor=alice.user, channel=channel, outbound=loopback()).status == 200
            clock.shift(timedelta(minutes=1))
        with pytest.raises(ChannelError, match=r"3 tests were sent within an hour\. Try again in 3,420 seconds\."):
            actions.send_test(actor=alice.user, channel=second, outbound=loopback())
        others = point_at(make(charlie).channel, there.url)
        assert actions.send_test(actor=charlie.user, channel=others, outbound=loopback()).status == 200
        clock.shift(timedelta(seconds=3_420))
        assert actions.send_test(actor=alice.user, channel=second, outbound=loopback()).status == 200
        assert len(there.calls) == 5


@pytest.mark.usefixtures("standing_clock")
def test_a_test_waits_for_what_the_other_side_asked(alice: Member) -> None:
    with StandIn(limited("600")) as there:
        channel = point_at(make(alice).channel, there.url)
        Channel.objects.update(not_before=timezone.now() + timedelta(seconds=600))
        with pytest.raises(ChannelError, match="600 more seconds"):
            actions.send_test(actor=alice.user, channel=channel, outbound=loopback())
        assert there.calls == []


def test_the_list_says_how_each_channel_does(
    alice: Member, charlie: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = make(alice).channel, make(alice, name="second").channel
    make(charlie, name="theirs")
    with StandIn() as there:
        actions.send_test(actor=alice.user, channel=point_at(first, there.url), outbound=loopback())
    tell(organisation=alice.organisation, about=second.public_id, message=message(), channels=[second, first])
    with django_assert_num_queries(1):
        ops, other = queries.channels(alice.organisation)
    assert (ops.name, ops.waiting, other.name, other.waiting) == ("ops", 1, "second", 1)
    assert ops.last is not None
    assert (ops.last.state, ops.last.answer) == ("delivered", "ok")
    assert isinstance(ops.last.at, datetime)
    assert other.last is None


def test_a_log_is_read_in_one_statement_and_by_its_organisation_alone(
    alice: Member, charlie: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    channel = make(alice).channel
    for _ in range(5):
        tell(organisation=alice.organisation, about=channel.public_id, message=message(), channels=[channel])
    with django_assert_num_queries(1):
        assert len(queries.deliveries(alice.organisation, channel)) == 5
    assert queries.deliveries(charlie.organisation, channel) == []
    assert queries.channel(charlie.organisation, channel.public_id) is None


def test_a_channel_whose_key_is_lost_says_so_and_is_mended_by_a_new_destination(
    alice: Member, settings: Settings
) -> None:
    channel = make(alice).channel
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    lost = Channel.objects.get()
    for act in (actions.send_test, actions.rotate_secret):
        with pytest.raises(ChannelError, match="cannot read this channel's secret any more"):
            act(actor=alice.user, channel=lost)
    assert actions.switch_channel(actor=alice.user, channel=lost, enabled=False).enabled is False
    assert actions.change_channel(actor=alice.user, channel=lost, name="other").name == "other"
    mended = actions.change_channel(
        actor=alice.user, channel=channel, destination=Destination(url="https://hook.example/new")
    )
    assert Channel.objects.get().config["url"] == "https://hook.example/new"
    assert actions.rotate_secret(actor=alice.user, channel=mended) == Channel.objects.get().config["secret"]
