"""The pages of a channel that is told later, or has hours."""

import pytest
from django.test import Client

from backend.alerts.holding import WAS_OVER
from backend.alerts.models import Channel, Delivery
from backend.cast import Member
from backend.web.tests.incidents import hold, make_incident
from backend.web.tests.test_channels import look, send
from backend.web.tests.world import World, make_channel

pytestmark = pytest.mark.django_db

OFFICE = {
    "webhook-after_min": "15",
    "webhook-days": ["mon", "tue", "wed", "thu", "fri"],
    "webhook-begins": "08:00",
    "webhook-ends": "18:00",
    "webhook-time_zone": "Europe/Berlin",
    "webhook-critical_at_any_time": "on",
}


def test_when_a_channel_is_told_is_changed_on_its_page_and_stands_in_the_list(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    _, text = send(client, alice, "channel", channel.public_id, **OFFICE)
    words = "told after 15 min · Mon-Fri 08:00-18:00 Europe/Berlin"
    assert words in text
    assert words in look(client, alice, "channels")
    channel.refresh_from_db()
    assert (channel.after_s, channel.name, str(channel.its_hours)) == (
        900,
        "ops-acme",
        "Mon-Fri 08:00-18:00 Europe/Berlin",
    )
    assert channel.its_hours is not None
    assert channel.its_hours.critical_at_any_time


def test_its_form_shows_what_is_chosen_and_saved_as_it_is_changes_nothing(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    send(client, alice, "channel", channel.public_id, **OFFICE)
    Channel.objects.update(after_s=930)
    text = look(client, alice, "channel", channel.public_id)
    assert text.count(" checked") == 6
    for value in ('value="15"', 'value="08:00"', 'value="18:00"', 'value="Europe/Berlin" selected'):
        assert value in text
    send(client, alice, "channel", channel.public_id, **OFFICE)
    assert Channel.objects.get().after_s == 930


def test_where_critical_waits_too_the_list_says_so(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    waiting = {name: value for name, value in OFFICE.items() if "critical" not in name}
    _, text = send(client, alice, "channel", channel.public_id, **waiting)
    assert "Europe/Berlin (critical alerts wait, too)" in text


def test_without_a_day_a_channel_is_told_at_any_time(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    send(client, alice, "channel", channel.public_id, **OFFICE)
    send(client, alice, "channel", channel.public_id, **{**OFFICE, "webhook-days": []})
    channel.refresh_from_db()
    assert (channel.hours, channel.after_s) == (None, 900)


def test_who_has_no_hours_yet_begins_with_their_own_clock(client: Client, alice: Member) -> None:
    alice.user.time_zone = "Asia/Tokyo"
    alice.user.save()
    assert 'value="Asia/Tokyo" selected' in look(client, alice, "channel", make_channel(alice).public_id)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"webhook-after_min": "1441"}, "less than or equal to 1440"),
        ({"webhook-begins": ""}, "Choose a time of the day."),
        ({"webhook-ends": "25:00"}, "Enter a valid time."),
        ({"webhook-days": ["someday"]}, "someday is not one of the available choices"),
        ({"webhook-time_zone": "Mars/Olympus"}, "Mars/Olympus is not one of the available choices"),
        ({"webhook-time_zone": ""}, "There is no such time zone"),
    ],
)
def test_what_no_clock_shows_is_said_at_its_field(
    client: Client, alice: Member, changes: dict[str, object], words: str
) -> None:
    status, text = send(client, alice, "channel", make_channel(alice).public_id, **{**OFFICE, **changes})
    assert status == 400
    assert words in text


def test_what_is_held_is_told_as_such_and_until_when(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    hold(channel)
    text = look(client, alice, "channel", channel.public_id)
    assert "<h2>The last message is held until " in text
    assert "</span> Held</span>" in text
    assert '<span class="muted">held until <time' in text
    assert "goes out after" not in text


def test_who_was_spared_something_has_missed_nothing(client: Client, alice: Member) -> None:
    channel = make_channel(alice)
    hold(channel)
    Delivery.objects.update(state="dropped", answer=WAS_OVER)
    text = look(client, alice, "channel", channel.public_id)
    assert "<h2>Nothing was told by this way yet</h2>" in text
    assert WAS_OVER in text


def test_an_incident_says_who_is_told_of_it_later(client: Client, alice: Member, world: World) -> None:
    incident = make_incident(world)
    channel = make_channel(alice, "boss")
    hold(channel, incident)
    text = look(client, alice, "incident", incident.public_id)
    assert "boss is told no sooner than " in text
    assert "on its way" not in text
