"""The settings form of a monitor, as a browser would send it."""

from typing import Any

from django.test import Client
from django.urls import reverse

from backend.sites.models import Monitor
from backend.web.tests.world import World


def text_of(client: Client, name: str, *arguments: object) -> str:
    response = client.get(reverse(f"web:{name}", args=arguments))
    assert response.status_code == 200, response.content[:500]
    return response.content.decode()


def fields(monitor: Monitor, **changes: object) -> dict[str, object]:
    """What the settings form would send for a monitor as it is, with changes."""
    values: dict[str, object] = {
        "url": monitor.url,
        "interval_s": monitor.interval_s,
        "timeout_s": monitor.timeout_s,
        "profile": monitor.profile,
    }
    if monitor.kind == "page":
        values |= {"device": "desktop", "loads": 1}
    return {f"{monitor.kind}-{name}": value for name, value in (values | changes).items()}


def change(client: Client, world: World, kind: str = "probe", **changes: Any) -> tuple[int, str]:
    monitor = world.monitor(kind)
    address = reverse("web:monitor_change", args=[world.site.public_id, kind])
    response = client.post(address, fields(monitor, **changes), follow=True)
    return response.status_code, response.content.decode()
