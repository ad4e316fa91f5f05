from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest
from cryptography.fernet import Fernet
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.encryption import DecryptionError
from backend.sites import actions, queries
from backend.sites.models import Monitor, Site
from backend.sites.monitor_settings import InvalidMonitorError, defaults, stored_settings
from backend.testing import wait_until
from backend.tests.side_by_side import side_by_side, waiting
from workers.measurement.connection import Header
from workers.measurement.messages import Kind
from workers.measurement.pair import PairTarget
from workers.measurement.target import TargetError

SECRET = Header(name="Authorization", value="Bearer very-secret")


@pytest.fixture
def site(alice: Member) -> Site:
    return actions.create_draft(actor=alice.user, organisation=alice.organisation, url="shop.example")


def probe_of(site: Site) -> Monitor:
    return site.monitors.get(kind="probe")


def test_a_draft_has_a_probe_every_minute_and_a_page_every_quarter_of_an_hour(site: Site) -> None:
    assert (site.name, site.url, site.status) == ("shop.example", "https://shop.example/", "draft")
    assert dict(site.monitors.values_list("kind", "interval_s")) == {"probe": 60, "page": 900}
    assert all(monitor.regions == [] for monitor in site.monitors.all())


def test_a_page_keeps_the_fragment_that_chooses_what_it_shows(alice: Member) -> None:
    app = actions.create_draft(actor=alice.user, organisation=alice.organisation, url="shop.example/app#/prices")
    assert app.url == "https://shop.example/app#/prices"
    assert dict(app.monitors.values_list("kind", "url")) == {
        "probe": "https://shop.example/app",
        "page": "https://shop.example/app#/prices",
    }
    for monitor in app.monitors.all():
        settings = replace(stored_settings(monitor), url="https://shop.example/app#/cart")
        actions.change_monitor(actor=alice.user, monitor=monitor, settings=settings)
    assert set(app.monitors.values_list("url", flat=True)) == {
        "https://shop.example/app",
        "https://shop.example/app#/cart",
    }


def test_an_address_that_cannot_be_measured_makes_nothing(alice: Member) -> None:
    with pytest.raises(TargetError):
        actions.create_draft(actor=alice.user, organisation=alice.organisation, url="http://127.0.0.1/")
    assert not Site.objects.exists()


def test_saving_names_a_draft_and_makes_it_active(site: Site, alice: Member) -> None:
    assert actions.activate(actor=alice.user, site=site, name=" Shop ").status == "active"
    assert Site.objects.get().name == "Shop"
    assert actions.activate(actor=alice.user, site=site, name="  ").name == "Shop"


@pytest.mark.parametrize("name", ["Shop\r\nBcc: all@shop.example", "\u202epohS", "Shop\x1b[2J", "Sh\u200bop"])
def test_a_site_is_called_by_one_line_without_what_nobody_sees(site: Site, alice: Member, name: str) -> None:
    for act in (actions.activate, actions.rename):
        with pytest.raises(actions.SiteNameError, match="one line"):
            act(actor=alice.user, site=site, name=name)
    assert Site.objects.get().name == site.name
    joined = "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert actions.rename(actor=alice.user, site=site, name=joined).name == joined


def test_an_edit_counts_the_version_up_and_is_audited_without_secrets(site: Site, alice: Member) -> None:
    monitor = probe_of(site)
    settings = replace(stored_settings(monitor), interval_s=300, headers=(SECRET,))
    changed = actions.change_monitor(actor=alice.user, monitor=monitor, settings=settings)
    assert (changed.config_version, changed.interval_s) == (2, 300)
    entry = AuditEntry.objects.get(action="change_monitor")
    assert entry.detail == {"name": monitor.site.name, "kind": monitor.kind, "changed": ["interval_s", "headers"]}
    assert SECRET.value not in str(AuditEntry.objects.values())


def test_an_edit_that_changes_nothing_is_none(site: Site, alice: Member) -> None:
    monitor = probe_of(site)
    same = replace(stored_settings(monitor), url="HTTPS://shop.example")
    assert actions.change_monitor(actor=alice.user, monitor=monitor, settings=same).config_version == 1
    assert not AuditEntry.objects.filter(action="change_monitor").exists()


def test_a_faulty_edit_changes_nothing(site: Site, alice: Member) -> None:
    monitor = probe_of(site)
    with pytest.raises(InvalidMonitorError):
        actions.change_monitor(
            actor=alice.user, monitor=monitor, settings=replace(stored_settings(monitor), interval_s=1)
        )
    assert probe_of(site).interval_s == 60


def test_headers_are_not_readable_in_the_database(site: Site, alice: Member) -> None:
    monitor = probe_of(site)
    settings = replace(stored_settings(monitor), headers=(SECRET,))
    actions.change_monitor(actor=alice.user, monitor=monitor, settings=settings)
    with connection.cursor() as cursor:
        cursor.execute("SELECT headers FROM sites_monitor WHERE kind = 'probe'")
        (stored,) = cursor.fetchone()
    assert stored
    assert "secret" not in stored
    assert stored_settings(probe_of(site)).headers == (SECRET,)


def test_an_old_key_still_reads_and_a_removed_key_is_named(site: Site, alice: Member, settings: Settings) -> None:
    monitor = probe_of(site)
    actions.change_monitor(
        actor=alice.user, monitor=monitor, settings=replace(stored_settings(monitor), headers=(SECRET,))
    )
    fresh = Fernet.generate_key().decode()
    settings.FERNET_KEYS = (fresh, *settings.FERNET_KEYS)
    assert stored_settings(probe_of(site)).headers == (SECRET,)
    settings.FERNET_KEYS = (fresh,)
    unread = probe_of(site)
    assert stored_settings(unread).unreadable == ("headers",)
    with pytest.raises(DecryptionError, match="FIRSTBYTE_FERNET_KEYS"):
        list(unread.headers)


def test_pausing_twice_is_one_act(site: Site, alice: Member) -> None:
    monitor = probe_of(site)
    actions.set_paused(actor=alice.user, monitor=monitor, paused=True)
    actions.set_paused(actor=alice.user, monitor=monitor, paused=True)
    assert probe_of(site).paused
    assert AuditEntry.objects.filter(action="pause_monitor").count() == 1


def test_a_monitor_is_due_since_it_was_resumed_or_changed(site: Site, alice: Member) -> None:
    monitor, before = probe_of(site), timezone.now()
    actions.set_paused(actor=alice.user, monitor=monitor, paused=False)
    assert probe_of(site).due_since is None
    actions.set_paused(actor=alice.user, monitor=monitor, paused=True)
    assert probe_of(site).due_since is None
    actions.set_paused(actor=alice.user, monitor=monitor, paused=False)
    resumed = probe_of(site).due_since
    assert resumed is not None
    assert resumed > before
    actions.change_monitor(
        actor=alice.user, monitor=monitor, settings=replace(stored_settings(monitor), interval_s=7200)
    )
    changed = probe_of(site).due_since
    assert changed is not None
    assert changed > resumed


def test_a_deleted_site_takes_its_monitors_along(site: Site, alice: Member) -> None:
    actions.delete_site(actor=alice.user, site=site)
    assert not Monitor.objects.exists()


def test_only_drafts_older_than_a_day_are_removed(site: Site, alice: Member) -> None:
    saved = actions.create_draft(actor=alice.user, organisation=alice.organisation, url="saved.example")
    actions.activate(actor=alice.user, site=saved, name="")
    now = timezone.now()
    assert actions.delete_old_drafts(now=now) == 0
    assert actions.delete_old_drafts(now=now + timedelta(days=2)) == 1
    assert Site.objects.get() == saved


@pytest.mark.django_db(transaction=True)
def test_a_draft_that_somebody_saves_at_this_moment_is_not_removed(site: Site, alice: Member) -> None:
    saved, swept = Event(), Event()

    def save_or_sweep(number: int) -> None:
        if number == 0:
            with transaction.atomic():
                actions.activate(actor=alice.user, site=site, name="")
                saved.set()
                wait_until(lambda: swept.is_set() or waiting() > 0, "whoever removes drafts")
        else:
            saved.wait(60)
            actions.delete_old_drafts(now=timezone.now() + timedelta(days=2))
            swept.set()

    assert side_by_side(2, save_or_sweep) == []
    assert Site.objects.get() == site


def test_a_site_of_another_organisation_is_not_found(site: Site, alice: Member, charlie: Member) -> None:
    assert queries.site(alice.organisation, site.public_id) == site
    assert queries.site(charlie.organisation, site.public_id) is None
    assert queries.monitor(charlie.organisation, probe_of(site).public_id) is None


def test_each_version_of_a_monitor_keeps_the_address_that_it_asks_for(site: Site, alice: Member) -> None:
    probe = probe_of(site)
    for moved in (
        replace(stored_settings(probe), url="https://new.example/"),
        replace(stored_settings(probe), url="https://new.example/", interval_s=300),
    ):
        actions.change_monitor(actor=alice.user, monitor=probe, settings=moved)
    kept = probe.versions.order_by("config_version").values_list("config_version", "url", "pair")
    assert list(kept) == [
        (1, "https://shop.example/", None),
        (2, "https://new.example/", None),
        (3, "https://new.example/", None),
    ]


def test_the_first_version_of_a_pair_keeps_both_addresses(site: Site, alice: Member) -> None:
    other = PairTarget(url="https://shop.example/app.js", address="1.1.1.7")
    settings = replace(defaults(Kind.PAIR, "https://cdn.example/app.js"), other=other)
    pair = actions.add_pair(actor=alice.user, site=site, settings=settings)
    (kept,) = pair.versions.all()
    assert (kept.url, kept.pair) == ("https://cdn.example/app.js", {"url": other.url, "address": other.address})
