"""Monitors whose secrets no key opens any more."""

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from backend.sites.monitor_settings import stored_settings
from backend.web.tests.monitor_form import change, text_of
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db


def test_a_lost_key_takes_away_the_settings_but_no_list(client: Client, world: World, settings: Settings) -> None:
    change(client, world, headers="Authorization: secret")
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    assert "Shop" in text_of(client, "sites")
    assert "Shop" in text_of(client, "site", world.site.public_id)
    text = text_of(client, "site_settings", world.site.public_id)
    assert "No key of FIRSTBYTE_FERNET_KEYS opens the request headers that cannot be read" in text
    assert text.count("Forget what cannot be read") == 1


def test_a_monitor_whose_key_is_lost_is_changed_and_mended_on_its_page(
    client: Client, world: World, settings: Settings
) -> None:
    change(client, world, headers="Authorization: secret")
    keys, settings.FERNET_KEYS = settings.FERNET_KEYS, (Fernet.generate_key().decode(),)
    assert change(client, world, interval_s=300)[0] == 200
    assert change(client, world, url="https://other.example/")[0] == 400
    assert change(client, world, "page", interval_s=300)[0] == 200
    with_keys_back = settings.FERNET_KEYS
    settings.FERNET_KEYS = keys
    stored = stored_settings(world.monitor("probe"))
    assert (stored.interval_s, [header.value for header in stored.headers]) == (300, ["secret"])
    settings.FERNET_KEYS = with_keys_back
    assert "cannot be read" not in change(client, world, headers="X-Env: prod")[1]
    assert [header.value for header in stored_settings(world.monitor("probe")).headers] == ["prod"]
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    assert "cannot be read" not in change(client, world, forget_unreadable="on")[1]
    assert stored_settings(world.monitor("probe")).headers == ()


def test_who_tests_a_monitor_whose_key_is_lost_is_told_why_nothing_is_measured(
    client: Client,
    world: World,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    change(client, world, headers="Authorization: secret")
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    with django_capture_on_commit_callbacks(execute=True):
        response = client.post(reverse("web:test_now", args=[world.site.public_id]), {"kind": "probe"})
    text = client.get(response.headers["Location"]).content.decode()
    assert "no key of FIRSTBYTE_FERNET_KEYS opens them" in text
