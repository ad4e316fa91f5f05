"""Two tabs, or two people, that change the same monitor."""

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.web.tests.world import make_world

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
