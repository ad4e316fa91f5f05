"""Two tabs, or two people, that change the same monitor."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.web.tests.world import make_channel, make_pairing, make_world

pytestmark = pytest.mark.django_db


def test_settings_that_were_changed_in_another_tab_are_not_lost_unseen(client: Client, alice: Member) -> None:
    site = make_world(alice).site
    monitor = site.monitors.get(kind="probe")
    client.force_login(alice.user)
    address = reverse("web:monitor_change", args=[site.public_id, "probe"])
    values = {"url": monitor.url, "interval_s": 60, "timeout_s": 30, "profile": monitor.profile}

    def save(seen: int, **changes: object) -> tuple[int, str]:
        sent = {f"probe-{name}": value for name, value in (values | changes).items()}
        response = client.post(address, sent | {"seen": str(seen)})
        return response.status_code, response.content.decode()

    opened = monitor.config_version
    assert save(opened, interval_s=120)[0] == 302
    status, text = save(opened, timeout_s=7)
    assert (status, "This was changed after you had opened it" in text) == (400, True)
    assert "Nothing was saved." in text
    assert "said at its field" not in text
    monitor.refresh_from_db()
    assert (monitor.interval_s, monitor.timeout_s) == (120, 30)
    assert f'name="seen" value="{monitor.config_version}"' in text
    assert "said at its field" in save(monitor.config_version, timeout_s=-7)[1]
    assert save(monitor.config_version, timeout_s=7)[0] == 302


def test_a_pairing_that_was_changed_in_another_tab_is_not_lost_unseen(client: Client, alice: Member) -> None:
    site = make_world(alice).site
    pairing = make_pairing(site)
    client.force_login(alice.user)
    address = reverse("web:pairing", args=[site.public_id, pairing.public_id])
    values = {"cdn_url": pairing.monitor.url, "origin": pairing.origin, "interval_s": 300}

    def seen_in(text: str) -> str:
        found = re.search(r'name="seen" value="([0-9a-f]+)"', text)
        assert found is not None
        return found[1]

    opened = seen_in(client.get(address).content.decode())
    assert client.post(address, values | {"name": "Script", "seen": opened}).status_code == 302
    answer = client.post(address, values | {"interval_s": 600, "seen": opened})
    text = answer.content.decode()
    assert (answer.status_code, "This was changed after you had opened it" in text) == (400, True)
    pairing.refresh_from_db()
    assert (pairing.name, pairing.monitor.interval_s) == ("Script", 300)
    assert client.post(address, values | {"interval_s": 600, "seen": seen_in(text)}).status_code == 302


def stamp_in(text: str, action: str) -> str:
    """What the form that leads there carries of the state it was opened on."""
    found = re.search(rf'action="{re.escape(action)}"[^>]*>.*?name="seen" value="([0-9a-f]+)"', text, re.DOTALL)
    assert found is not None
    return found[1]


def test_a_name_that_was_changed_in_another_tab_is_not_lost_unseen(client: Client, alice: Member) -> None:
    site = make_world(alice).site
    client.force_login(alice.user)
    address, page = (reverse(name, args=[site.public_id]) for name in ("web:site_rename", "web:site_settings"))
    opened = stamp_in(client.get(page).content.decode(), address)
    assert client.post(address, {"name": "Theirs", "seen": opened}).status_code == 302
    answer = client.post(address, {"name": "Mine", "seen": opened})
    text = answer.content.decode()
    assert (answer.status_code, "This was changed after you had opened it" in text, 'value="Mine"' in text) == (
        400,
        True,
        True,
    )
    site.refresh_from_db()
    assert site.name == "Theirs"
    assert client.post(address, {"name": "Mine", "seen": stamp_in(text, address)}).status_code == 302


def test_a_channel_that_was_changed_in_another_tab_is_not_lost_unseen(client: Client, alice: Member) -> None:
    """Also where only its address was, of which nothing is ever shown."""
    channel = make_channel(alice, "ops")
    client.force_login(alice.user)
    address = reverse("web:channel", args=[channel.public_id])
    opened = stamp_in(client.get(address).content.decode(), address)
    prefix = channel.kind
    secret = {f"{prefix}-name": "ops", f"{prefix}-url": "https://hooks.slack.com/services/T0/B0/hunter2"}
    assert client.post(address, secret | {"seen": opened}).status_code == 302
    answer = client.post(address, {f"{prefix}-name": "mine", f"{prefix}-url": "", "seen": opened})
    text = answer.content.decode()
    assert (answer.status_code, "This was changed after you had opened it" in text) == (400, True)
    assert "hunter2" not in text
    channel.refresh_from_db()
    assert channel.name == "ops"
    again = {f"{prefix}-name": "mine", f"{prefix}-url": "", "seen": stamp_in(text, address)}
    assert client.post(address, again).status_code == 302
