"""Stored secrets that are encrypted anew, so that an older key can be taken away."""

from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from backend.alerts.actions.channels import create_channel
from backend.alerts.channels.config import Destination
from backend.alerts.models import Channel, ChannelKind
from backend.api.models import KeptAnswer
from backend.cast import Member
from backend.encryption import seal, unseal
from backend.sites import actions
from backend.sites.models import Monitor
from backend.sites.monitor_settings import stored_settings
from workers.measurement.connection import Header

pytestmark = pytest.mark.django_db

SECRET = Header(name="Authorization", value="Bearer very-secret")
CODE_SEED = "JBSWY3DPEHPK3PXP"


@pytest.fixture
def monitor(alice: Member) -> Monitor:
    """With a secret header; beside it a channel, second factors and a kept answer have secrets."""
    site = actions.create_draft(actor=alice.user, organisation=alice.organisation, url="shop.example")
    monitor = site.monitors.get(kind="probe")
    settings = replace(stored_settings(monitor), headers=(SECRET,))
    actions.change_monitor(actor=alice.user, monitor=monitor, settings=settings)
    create_channel(
        actor=alice.user,
        organisation=alice.organisation,
        kind=ChannelKind.WEBHOOK,
        name="Pager",
        destination=Destination(url="https://pager.example/hook"),
    )
    TOTP.activate(alice.user, CODE_SEED)
    RecoveryCodes.activate(alice.user)
    until = timezone.now() + timedelta(days=1)
    KeptAnswer.objects.create(caller="a", key="k", status=201, headers={}, body=seal(b"{}"), expires_at=until)
    return Monitor.objects.get(pk=monitor.pk)


def encrypt_anew() -> str:
    told = StringIO()
    call_command("encrypt_anew", stdout=told)
    return told.getvalue()


def test_all_secrets_are_read_when_the_older_key_is_gone(monitor: Monitor, alice: Member, settings: Settings) -> None:
    codes = RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
    fresh = Fernet.generate_key().decode()
    settings.FERNET_KEYS = (fresh, *settings.FERNET_KEYS)
    told = encrypt_anew()
    assert "sites_monitor.headers: 1 encrypted anew" in told
    assert "second factors: 2 encrypted anew" in told
    settings.FERNET_KEYS = (fresh,)
    monitor.refresh_from_db()
    assert stored_settings(monitor).headers == (SECRET,)
    assert "https://pager.example/hook" in str(Channel.objects.get().config)
    assert unseal(bytes(KeptAnswer.objects.get().body)) == b"{}"
    assert RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes() == codes
    totp = Authenticator.objects.get(type="totp")
    assert unseal(totp.data["secret"].encode()).decode() == CODE_SEED


def test_what_is_under_the_first_key_already_stays_as_it_is(monitor: Monitor) -> None:
    stored = Monitor.objects.filter(pk=monitor.pk).extra(select={"raw": "headers"}).values_list("raw", flat=True)
    before = stored.get()
    assert "sites_monitor.headers: 0 encrypted anew" in encrypt_anew()
    assert stored.get() == before


def test_what_no_key_opens_stays_and_is_told(monitor: Monitor, settings: Settings) -> None:
    lost = settings.FERNET_KEYS
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    with pytest.raises(CommandError, match="No key opens 5 of the stored secrets"):
        encrypt_anew()
    settings.FERNET_KEYS = lost
    monitor.refresh_from_db()
    assert stored_settings(monitor).headers == (SECRET,)


def test_a_secret_that_changes_meanwhile_is_left(
    monitor: Monitor, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FERNET_KEYS = (Fernet.generate_key().decode(), *settings.FERNET_KEYS)
    newer = Header(name="Authorization", value="Bearer newer")

    def renewed_late(sealed: bytes) -> bytes:
        Monitor.objects.filter(pk=monitor.pk).update(headers=[[newer.name, newer.value]])
        return sealed + b"x"

    monkeypatch.setattr("backend.processes.rekeying.renewed", renewed_late)
    encrypt_anew()
    monitor.refresh_from_db()
    assert stored_settings(monitor).headers == (newer,)
