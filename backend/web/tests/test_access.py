"""Every address, walked by everybody who must be refused."""

from collections.abc import Iterable, Iterator
from datetime import date
from http import HTTPStatus
from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, reverse
from django.urls.resolvers import RegexPattern

from backend.accounts.urls import urlpatterns as account_patterns
from backend.cast import Member
from backend.runs.queries import run_detail
from backend.runs.sharing import link_of, share_run
from backend.status import walls
from backend.web.tests.incidents import make_incident, make_rule, make_window
from backend.web.tests.world import (
    World,
    make_announcement,
    make_channel,
    make_experiment,
    make_gate,
    make_import,
    make_pairing,
    make_status_page,
    make_token,
    make_weekly_report,
    make_world,
)
from backend.web.urls import urlpatterns

pytestmark = pytest.mark.django_db

# Without an object of an organisation in their address: everybody sees their own.
OWN = {"home", "theme", "profile", "members", "member_add", "audit", "regions", "region_add", "sites", "add"}
OWN |= {
    "tokens",
    "token_add",
    "channels",
    "channel_add",
    "alerts",
    "rules",
    "rule_add",
    "status_pages",
    "status_page_add",
    "rule_suggest",
    "maintenance",
    "weekly",
    "gates",
    "imports",
    "side_by_side",
    "wall_show",
    "wall_take_down",
}
# What whoever has the link of a shared run may see, and nobody may send anything to.
GUESTS = {"shared", "shared_waterfall", "shared_details", "shared_har", "shared_screenshot", "shared_film"}
GUESTS |= {"wall", "status", "status_json", "status_feed", "status_badge", "status_site_badge"}
# What a viewer may send: it touches only themselves.
VIEWER_MAY = {"theme", "profile", "switch"}
# Pages of the account that are for who is not signed in (yet).
DOORS = {
    "account_login",
    "account_logout",
    "account_signup",
    "account_inactive",
    "mfa_authenticate",
    "mfa_login_webauthn",
}
DOORS |= {"openid_connect_login", "openid_connect_callback"}
DOORS |= {f"account_reset_password{rest}" for rest in ("", "_done", "_from_key", "_from_key_done")}


@pytest.fixture
def world(alice: Member) -> World:
    """Nobody is signed in."""
    return make_world(alice)


@pytest.fixture
def addresses(world: World, bob: Member) -> dict[str, str]:
    """One real address for each name, all of alice's organisation."""
    pending = world.pending("probe")
    world.end(pending)
    detail = run_detail(world.member.organisation, pending.run_id)
    assert detail is not None
    page = make_status_page(world)
    values: dict[str, str | int | UUID | date] = {
        "site_id": world.site.public_id,
        "run_id": pending.run_id,
        "number": 1,
        "kind": "probe",
        "code": world.region.code,
        "membership_id": bob.membership.pk,
        "organisation_id": bob.organisation.public_id,
        "channel_id": make_channel(world.member).public_id,
        "channel_kind": "slack",
        "token_id": make_token(world.member).public_id,
        "incident_id": make_incident(world).public_id,
        "rule_id": make_rule(world).public_id,
        "window_id": make_window(world).public_id,
        "slug": "ttfb",
        "gate_id": make_gate(world).public_id,
        "experiment_id": make_experiment(world).public_id,
        "pairing_id": make_pairing(world.site).public_id,
        "form": "csv",
        "import_id": make_import(world).public_id,
        "row": "a1",
        "page_id": page.public_id,
        "announcement_id": make_announcement(page).public_id,
        "week": make_weekly_report(world),
        "table": "uptime",
        "address": "acme",
        "link": link_of(share_run(actor=world.member.user, detail=detail)),
        "wall_link": walls.link_of(walls.show_wall(actor=world.member.user, organisation=world.member.organisation)),
    }
    both = f"?a={pending.run_id}&b={pending.run_id}"
    return {
        str(pattern.name): reverse(f"web:{pattern.name}", kwargs={name: values[name] for name in parts_of(pattern)})
        + (both if str(pattern.name).startswith("compare") else "")
        for pattern in urlpatterns
    }


@pytest.fixture
def account_addresses() -> dict[str, str]:
    """One address for each page of an account."""
    key: dict[str, str | int] = {"uidb36": "1", "key": "a-b", "provider_id": "sso", "pk": 1}
    return {
        str(one.name): reverse(str(one.name), kwargs={name: key[name] for name in parts_of(one)})
        for one in account_patterns
    }


def parts_of(pattern: URLPattern) -> Iterable[str]:
    shape = pattern.pattern
    return shape.regex.groupindex if isinstance(shape, RegexPattern) else shape.converters


def posts(client: Client, addresses: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The answer to a POST for each address that takes one."""
    for name, address in addresses.items():
        status = client.post(address).status_code
        if status != HTTPStatus.METHOD_NOT_ALLOWED:
            yield name, status


def test_who_is_not_signed_in_is_asked_to(client: Client, addresses: dict[str, str]) -> None:
    for name, address in addresses.items():
        response = client.get(address)
        if name in GUESTS:
            there = HTTPStatus.NOT_FOUND if name in ("shared_screenshot", "shared_film") else HTTPStatus.OK
            assert (response.status_code, client.post(address).status_code) == (there, HTTPStatus.METHOD_NOT_ALLOWED)
        elif name == "theme":
            assert response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
        else:
            assert response.status_code == HTTPStatus.FOUND, name
            assert response.headers["Location"].startswith("/account/login/?next="), name


def test_who_is_not_signed_in_sees_the_doors_of_an_account_and_nothing_behind_them(
    client: Client, account_addresses: dict[str, str], db: None
) -> None:
    for name, address in account_addresses.items():
        for response in (client.get(address), client.post(address)):
            behind = response.headers.get("Location", "").startswith("/account/login/?next=")
            assert behind is (name not in DOORS), name


def test_no_form_of_an_account_is_taken_without_its_token(alice: Member, account_addresses: dict[str, str]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice.user)
    for name, address in account_addresses.items():
        assert client.post(address).status_code == HTTPStatus.FORBIDDEN, name


def test_a_form_that_is_sent_signed_out_leads_back_to_its_page_and_never_to_where_it_was_sent(client: Client) -> None:
    for referer, page in (
        ("http://testserver/sites/?page=2#rules", "/sites/%3Fpage%3D2"),
        ("https://evil.example/sites/", "/"),
        ("http://testserver", "/"),
        ("", "/"),
    ):
        response = client.post("/members/add/", headers={"Referer": referer})
        assert response.headers["Location"] == f"/account/login/?next={page}", referer


def test_another_organisation_finds_nothing(client: Client, charlie: Member, addresses: dict[str, str]) -> None:
    client.force_login(charlie.user)
    for name in addresses.keys() - OWN - GUESTS - {"switch"}:
        for response in (client.get(addresses[name]), client.post(addresses[name])):
            assert response.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED), name


def test_another_organisation_sees_nothing_of_ours_on_its_own_pages(
    client: Client, charlie: Member, world: World, addresses: dict[str, str]
) -> None:
    client.force_login(charlie.user)
    for name in (
        "sites",
        "regions",
        "members",
        "audit",
        "add",
        "profile",
        "channels",
        "alerts",
        "rules",
        "maintenance",
    ):
        text = client.get(addresses[name]).content.decode()
        for ours in (
            world.site.name + "<",
            world.site.url,
            world.region.code + "<",
            world.member.user.email,
            "ops-acme",
        ):
            assert ours not in text, (name, ours)


def test_nobody_switches_to_an_organisation_that_is_not_theirs(
    client: Client, charlie: Member, world: World, addresses: dict[str, str]
) -> None:
    client.force_login(charlie.user)
    client.post(addresses["switch"])
    assert world.site.name not in client.get(addresses["sites"]).content.decode()


def test_a_viewer_changes_nothing(client: Client, vera: Member, world: World, addresses: dict[str, str]) -> None:
    client.force_login(vera.user)
    answers = dict(posts(client, addresses))
    refused = {name for name, status in answers.items() if status == HTTPStatus.FORBIDDEN}
    assert answers.keys() - refused == VIEWER_MAY
    assert refused >= {"add", "trial_save", "monitor_change", "site_delete", "region_add", "member_add", "test_now"}
    world.site.refresh_from_db()


def test_a_viewer_reads(client: Client, vera: Member, addresses: dict[str, str]) -> None:
    client.force_login(vera.user)
    for name in (
        "sites",
        "site",
        "site_runs",
        "cdn",
        "cdn_export",
        "findings",
        "hosts",
        "trial",
        "trial_progress",
        "run",
        "regions",
        "members",
        "profile",
        "channels",
        "channel",
        "alerts",
        "incident",
        "rules",
        "maintenance",
    ):
        assert client.get(addresses[name]).status_code == HTTPStatus.OK, name


def test_a_member_manages_neither_regions_nor_members(client: Client, bob: Member, addresses: dict[str, str]) -> None:
    client.force_login(bob.user)
    for name in (
        "region_add",
        "region_rotate",
        "member_add",
        "member_role",
        "member_remove",
        "channel_add",
        "channel",
        "channel_test",
        "channel_switch",
        "channel_rotate",
        "channel_delete",
    ):
        response = client.post(addresses[name])
        assert response.status_code == HTTPStatus.FORBIDDEN, name
        assert "this needs the role admin" in response.content.decode(), name


def test_neither_viewers_nor_members_read_the_audit_log(
    client: Client, alice: Member, bob: Member, vera: Member, addresses: dict[str, str]
) -> None:
    for member, status in ((alice, HTTPStatus.OK), (bob, HTTPStatus.FORBIDDEN), (vera, HTTPStatus.FORBIDDEN)):
        client.force_login(member.user)
        assert client.get(addresses["audit"]).status_code == status
        assert (addresses["audit"] in client.get(addresses["members"]).content.decode()) is (status == HTTPStatus.OK)


def test_no_form_is_taken_without_its_token(alice: Member, addresses: dict[str, str]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice.user)
    answers = dict(posts(client, addresses))
    assert set(answers.values()) == {HTTPStatus.FORBIDDEN}
    assert "This form is out of date" in client.post(addresses["add"]).content.decode()


def test_somebody_without_an_organisation_is_told_so(client: Client, alice: Member, addresses: dict[str, str]) -> None:
    alice.membership.delete()
    client.force_login(alice.user)
    response = client.get(addresses["sites"])
    assert response.status_code == HTTPStatus.FORBIDDEN
    assert "You belong to no organisation" in response.content.decode()


def test_every_page_carries_the_strict_headers(client: Client, alice: Member, addresses: dict[str, str]) -> None:
    client.force_login(alice.user)
    for address in (*addresses.values(), "/account/login/", "/nowhere", "/livez"):
        headers = client.get(address).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"], address
        assert "unsafe" not in headers["Content-Security-Policy"], address
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["X-Frame-Options"] == "DENY"


def test_pages_need_neither_inline_script_nor_inline_style(
    client: Client, alice: Member, addresses: dict[str, str]
) -> None:
    client.force_login(alice.user)
    for name, address in addresses.items():
        text = client.get(address).getvalue().decode()
        assert " style=" not in text, name
        assert "<style" not in text, name
        assert " onclick=" not in text, name
        assert "<script>" not in text, name
