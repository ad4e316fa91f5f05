"""What staff can see, and what even they cannot."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from backend.accounts.audit import record
from backend.cast import Member
from backend.sites.actions import change_monitor
from backend.sites.monitor_settings import MonitorSettings
from backend.web.tests.world import World, make_world
from workers.measurement.connection import Header
from workers.measurement.messages import Kind

pytestmark = pytest.mark.django_db

OURS = ("accounts", "sites", "fleet", "compare")


@pytest.fixture
def world(alice: Member, client: Client) -> World:
    alice.user.is_staff = alice.user.is_superuser = True
    alice.user.save()
    client.force_login(alice.user)
    world = make_world(alice)
    settings = MonitorSettings(
        kind=Kind.PROBE,
        url=world.site.url,
        interval_s=60,
        timeout_s=10,
        headers=(Header(name="Authorization", value="Bearer very-secret"),),
    )
    change_monitor(actor=alice.user, monitor=world.monitor("probe"), settings=settings)
    record("look", world.site, actor=alice.user, organisation=alice.organisation)
    return world


def test_every_list_and_row_opens_and_shows_no_secret(client: Client, world: World) -> None:
    seen = 0
    for model in admin.site._registry:
        if model._meta.app_label not in OURS:
            continue
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        pages = [client.get(reverse(f"{name}_changelist"))]
        pages += [client.get(reverse(f"{name}_change", args=[row.pk])) for row in model._default_manager.all()]
        for page in pages:
            text = page.content.decode()
            assert page.status_code == 200, name
            assert "very-secret" not in text
            assert world.region.token_hash not in text
            assert world.member.user.password not in text
        seen += len(pages)
    assert seen > 10


def test_nothing_is_added_or_deleted_there(client: Client, world: World) -> None:
    for name in ("sites_site", "fleet_region", "accounts_auditentry", "accounts_user"):
        assert client.post(reverse(f"admin:{name}_add")).status_code == 403, name
    assert client.post(reverse("admin:sites_site_delete", args=[world.site.pk]), {"post": "yes"}).status_code == 403


def test_staff_can_close_an_account_and_rename_a_region(client: Client, world: World, bob: Member) -> None:
    client.post(reverse("admin:accounts_user_change", args=[bob.user.pk]), {"is_staff": ""})
    bob.user.refresh_from_db()
    assert not bob.user.is_active
    client.post(reverse("admin:fleet_region_change", args=[world.region.pk]), {"name": "Renamed", "code": "changed"})
    world.region.refresh_from_db()
    assert (world.region.name, world.region.code) == ("Renamed", "eu")


def test_others_do_not_get_in(client: Client, bob: Member) -> None:
    client.force_login(bob.user)
    assert client.get("/admin/").status_code in (302, 403)
    assert "Site administration" not in client.get("/admin/", follow=True).content.decode()


def test_the_admin_has_no_sign_in_of_its_own(db: None) -> None:
    response = Client().get("/admin/login/")
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/account/login/")
