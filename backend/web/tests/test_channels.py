"""The pages of channels: what is shown, what is never shown, and what a test really says."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from backend.alerts.message import Event, Message, Severity
from backend.alerts.models import Channel, Delivery
from backend.alerts.notices import tell
from backend.alerts.tests.slack_workspace import CONFIG
from backend.alerts.tests.standin import NO_SERVICE, OK, StandIn
from backend.cast import Member
from backend.web.tests.world import make_channel
from workers.measurement.addresses import parse_networks
from workers.tests.ports import closed_port

pytestmark = pytest.mark.django_db

SECRET = "https://hooks.slack.com/services/T0/B0/hunter2"


@pytest.fixture
def there(settings: Settings) -> Iterator[StandIn]:
    with StandIn(OK) as server:
        settings.PRIVATE_TARGETS = parse_networks("127.0.0.0/8")
        settings.EXTRA_PORTS = frozenset(range(1024, 65536))
        settings.SLACK_ORIGINS = (server.origin,)
        yield server


def send(client: Client, who: Member, name: str, *arguments: object, **fields: Any) -> tuple[int, str]:
    client.force_login(who.user)
    response = client.post(reverse(f"web:{name}", args=arguments), fields, follow=True)
    return response.status_code, response.content.decode()


def look(client: Client, who: Member, name: str, *arguments: object) -> str:
    client.force_login(who.user)
    return client.get(reverse(f"web:{name}", args=arguments)).content.decode()


def test_without_channels_the_page_says_what_they_are_for(client: Client, alice: Member, vera: Member) -> None:
    text = look(client, alice, "channels")
    assert "Nobody is told yet" in text
    assert "Add Slack" in text
    assert "Owners and admins can add one" in look(client, vera, "channels")


def test_a_slack_channel_is_added_and_its_address_never_shown(client: Client, alice: Member) -> None:
    status, text = send(client, alice, "channel_add", "slack", **{"slack-name": "#alerts", "slack-url": SECRET})
    channel = Channel.objects.get()
    assert (status, channel.config, channel.name) == (200, {"url": SECRET}, "#alerts")
    for page in (text, look(client, alice, "channel", channel.public_id)):
        assert "hunter2" not in page
        assert "hooks.slack.com" in page


def test_a_slack_app_is_added_and_changed_and_its_secrets_never_shown(client: Client, alice: Member) -> None:
    fields = {f"slack_app-{name}": value for name, value in CONFIG.items()}
    _, text = send(client, alice, "channel_add", "slack_app", **fields)
    channel = Channel.objects.get()
    assert (channel.config, channel.name) == (CONFIG, CONFIG["conversation"])
    moved = {"slack_app-conversation": "C9999ZZZZ", "slack_app-after_min": "0"}
    _, changed = send(client, alice, "channel", channel.public_id, **moved, seen=stamp_in(client, alice, channel))
    assert Channel.objects.get().config == CONFIG | {"conversation": "C9999ZZZZ"}
    for page in (text, changed):
        assert "Slack app to C" in page
        assert CONFIG["token"] not in page
        assert CONFIG["signing_secret"] not in page


def test_the_manifest_of_a_slack_app_leads_its_buttons_to_us(
    client: Client, alice: Member, vera: Member, settings: Settings
) -> None:
    settings.BASE_URL = "https://fb.example"
    text = unescape(look(client, alice, "channels"))
    manifest = json.loads(text.partition('spellcheck="false">{')[2].partition("</textarea>")[0].join(("{", "")))
    assert manifest["settings"]["interactivity"]["request_url"] == f"https://fb.example{reverse('api:slack-pressed')}"
    assert manifest["oauth_config"]["scopes"]["bot"] == ["chat:write", "chat:write.public"]
    assert "Manifest" not in look(client, vera, "channels")


def stamp_in(client: Client, who: Member, channel: Channel) -> str:
    found = re.search(r'name="seen" value="([^"]+)"', look(client, who, "channel", channel.public_id))
    assert found is not None
    return found[1]


def test_what_cannot_work_is_said_at_its_field_and_the_form_stays_open(client: Client, alice: Member) -> None:
    status, text = send(client, alice, "channel_add", "slack", **{"slack-url": "https://evil.example/x"})
    assert status == 400
    assert "A Slack webhook begins with https://hooks.slack.com/" in text
    assert re.search(r"<details[^>]* open>\s*<summary>Slack", text)
    status, text = send(client, alice, "channel_add", "email", **{"email-addresses": "nobody"})
    assert (status, "is not an e-mail address" in text) == (400, True)
    status, text = send(client, alice, "channel_add", "webhook", **{"webhook-url": "http://10.0.0.1/"})
    assert (status, "inside your network" in text) == (400, True)
    status, text = send(client, alice, "channel_add", "webhook", **{"webhook-url": "http://hook.example:22/"})
    assert (status, "Port 22 may not be called; allowed are 80, 443" in text) == (400, True)
    assert "FIRSTBYTE_EXTRA_PORTS" in text
    status, text = send(
        client, alice, "channel_add", "slack_app", **{"slack_app-token": "xoxb-1", "slack_app-conversation": "#a"}
    )
    assert (status, "begins with xoxb-" in text) == (400, True)
    assert re.search(r"<details[^>]* open>\s*<summary>Slack app", text)
    assert send(client, alice, "channel_add", "pigeon")[0] == 404


def test_a_webhooks_secret_is_shown_once(client: Client, alice: Member) -> None:
    _, text = send(client, alice, "channel_add", "webhook", **{"webhook-url": "https://hook.example/"})
    channel = Channel.objects.get()
    assert channel.config["secret"] in text
    assert channel.config["secret"] not in look(client, alice, "channel", channel.public_id)
    _, text = send(client, alice, "channel_rotate", channel.public_id)
    channel = Channel.objects.get()
    assert channel.config["secret"] in text
    assert "For one day the old secret signs beside it" in text


@pytest.mark.usefixtures("standing_clock")
def test_a_test_shows_the_real_answer(client: Client, alice: Member, there: StandIn) -> None:
    send(client, alice, "channel_add", "slack", **{"slack-name": "ops", "slack-url": there.url})
    channel = Channel.objects.get()
    _, text = send(client, alice, "channel_test", channel.public_id)
    assert "ops took the test. The answer: 200 ok" in text
    _, text = send(client, alice, "channel_test", channel.public_id)
    assert "left in peace" in text
    there.plan = [NO_SERVICE]
    Channel.objects.update(not_before=timezone.now())
    _, text = send(client, alice, "channel_test", channel.public_id)
    assert "ops did not take the test. The answer: 404 no_service" in text
    assert "ops did not take the last message" in text
    assert len(there.calls) == 2
    log = look(client, alice, "channel", channel.public_id)
    assert log.count("Test: alerts of Acme will arrive here") == 2


def test_where_nobody_answers_no_answer_is_told(client: Client, alice: Member, settings: Settings) -> None:
    gone = f"http://127.0.0.1:{closed_port()}"
    settings.SLACK_ORIGINS, settings.EXTRA_PORTS = (gone,), frozenset({urlsplit(gone).port})
    settings.PRIVATE_TARGETS = parse_networks("127.0.0.0/8")
    send(client, alice, "channel_add", "slack", **{"slack-name": "ops", "slack-url": f"{gone}/services/x"})
    _, text = send(client, alice, "channel_test", Channel.objects.get().public_id)
    assert "ops did not take the test. The host did not take the connection." in text
    assert "answer: The host" not in text


def test_an_answer_cannot_write_on_our_page(client: Client, alice: Member) -> None:
    channel = make_channel(alice, "<b>name</b>")
    message = Message(event=Event.TEST, severity=Severity.INFO, title="<i>title</i>", at=timezone.now())
    tell(organisation=alice.organisation, about=channel.public_id, message=message, channels=[channel])
    Delivery.objects.update(state="failed", attempts=1, status=500, answer="<script>alert(1)</script>")
    for text in (look(client, alice, "channels"), look(client, alice, "channel", channel.public_id)):
        assert "<script>alert" not in text
        assert "<b>name" not in text
        assert "<i>title" not in text


def test_a_channel_that_is_gone_is_said_first(client: Client, vera: Member, alice: Member) -> None:
    channel = make_channel(alice)
    Channel.objects.update(enabled=False, disabled_reason="channel_is_archived")
    text = look(client, vera, "channels")
    assert "ops-acme was switched off" in text
    assert "channel_is_archived" in text
    assert "It was switched off, because it is gone" in look(client, vera, "channel", channel.public_id)


@pytest.mark.parametrize(
    ("last", "title", "text"),
    [
        ({"state": "delivered", "attempts": 1}, "The last message arrived", ""),
        ({"state": "waiting"}, "The last message is on its way", ""),
        # The first try is counted when it begins.
        ({"state": "waiting", "attempts": 1}, "The last message is on its way", ""),
        (
            {"state": "waiting", "attempts": 2, "answer": "The host did not take the connection."},
            "The last message has not arrived yet; it is tried again",
            "The host did not take the connection.",
        ),
        (
            {"state": "failed", "attempts": 9, "status": 503, "answer": "Given up"},
            "The last message did not arrive",
            "The last answer: 503 Given up",
        ),
        ({"state": "dropped"}, "The last message was not sent", "It was switched off at that time."),
    ],
)
def test_a_channels_page_says_what_became_of_its_last_message(
    client: Client, alice: Member, last: dict[str, Any], title: str, text: str
) -> None:
    """Never that it arrived where it was not sent."""
    channel = make_channel(alice)
    message = Message(event=Event.TEST, severity=Severity.INFO, title="A test", at=timezone.now())
    tell(organisation=alice.organisation, about=channel.public_id, message=message, channels=[channel])
    Delivery.objects.update(**last)
    shown = look(client, alice, "channel", channel.public_id)
    verdict = shown[shown.index('<section class="verdict') : shown.index("<h2>Delivery log</h2>")]
    assert f"<h2>{title}</h2>" in verdict
    assert text in verdict
    assert ("What to do:" in verdict) is (last["state"] == "failed")


def test_what_was_not_sent_since_the_channel_was_off_is_told_as_such_once_it_is_on_again(
    client: Client, alice: Member
) -> None:
    """The other side's status of an earlier try is no part of it, and the channel is not off any more."""
    channel = make_channel(alice)
    message = Message(event=Event.TEST, severity=Severity.INFO, title="A test", at=timezone.now())
    tell(organisation=alice.organisation, about=channel.public_id, message=message, channels=[channel])
    Delivery.objects.update(attempts=2, status=503, answer="Service unavailable")
    send(client, alice, "channel_switch", channel.public_id)
    _, text = send(client, alice, "channel_switch", channel.public_id, on="1")
    shown = text[text.index('<section class="verdict') :]
    assert "<h2>The last message to ops-acme was not sent</h2><p>It was switched off at that time.</p>" in shown
    assert "</span> Not sent</span>" in shown
    assert "The channel was switched off." in shown
    log = look(client, alice, "channel", channel.public_id)
    for said in ("answer:", "Service unavailable", "503 ", "did not take", "Failing", "is switched off"):
        assert said not in shown
        assert said not in log[log.index('<section class="verdict') :]
    assert log.count("The channel was switched off.") == 1


def test_a_channel_that_refused_is_told_before_one_that_was_off(client: Client, alice: Member) -> None:
    for name, last in (("a", {"state": "dropped"}), ("b", {"state": "failed", "status": 500, "answer": "Ouch"})):
        channel = make_channel(alice, name)
        message = Message(event=Event.TEST, severity=Severity.INFO, title="A test", at=timezone.now())
        tell(organisation=alice.organisation, about=channel.public_id, message=message, channels=[channel])
        Delivery.objects.filter(channel=channel).update(attempts=1, **last)
    text = look(client, alice, "channels")
    assert "<h2>b did not take the last message</h2><p>The last answer: 500 Ouch</p>" in text


def test_switching_changing_and_deleting(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    _, text = send(client, alice, "channel_switch", channel.public_id)
    assert "Nobody is told" in text
    send(client, alice, "channel_switch", channel.public_id, on="1")
    send(client, alice, "channel", channel.public_id, **{"webhook-name": "night"})
    channel.refresh_from_db()
    assert (channel.enabled, channel.name, channel.target) == (True, "night", "hook.example")
    assert "Delete night?" in look(client, alice, "channel_delete", channel.public_id)
    send(client, alice, "channel_delete", channel.public_id)
    assert not Channel.objects.exists()


def test_a_viewer_sees_the_log_and_no_button(client: Client, vera: Member, alice: Member) -> None:
    channel = make_channel(alice)
    for text in (look(client, vera, "channels"), look(client, vera, "channel", channel.public_id)):
        assert "Send test" not in text.replace("Send a test", "")
        assert "Switch" not in text
        assert "Delete" not in text


def test_a_list_costs_the_same_for_one_channel_and_for_ten(
    client: Client, alice: Member, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(10):
        make_channel(alice, f"hook {number}")
    client.force_login(alice.user)
    with django_assert_max_num_queries(6):
        client.get(reverse("web:channels"))
