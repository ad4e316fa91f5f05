"""Two tabs, or two people, that change the same monitor."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.web.tests.world import make_pairing, make_world

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
    monitor.refresh_from_db()
    assert (monitor.interval_s, monitor.timeout_s) == (120, 30)
    assert f'name="seen" value="{monitor.config_version}"' in text
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
