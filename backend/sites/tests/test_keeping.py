"""Secrets stay with the server they were given for, whoever edits the monitor."""

from dataclasses import replace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.sites import actions
from backend.sites.keeping import settings_of
from backend.sites.models import Monitor
from backend.sites.monitor_settings import InvalidMonitorError, defaults, stored_settings
from workers.measurement.connection import Header
from workers.measurement.messages import Kind
from workers.measurement.page_options import Cookie, HostMapping, Login, PageOptions, TypeText, Visit
from workers.measurement.pair import PairTarget

pytestmark = pytest.mark.django_db

SECRET = "s3cret-9"
HEADER = Header(name="Authorization", value=SECRET)
HOME = "https://shop.example/"
STEPS = (
    Visit(url="https://sso.example/login"),
    TypeText(selector="#password", text=SECRET, secret=True),
)
PAGE = PageOptions(
    cookies=(Cookie(name="session", value=SECRET), Cookie(name="beta", value=SECRET, domain="shop.example")),
    login=Login(user="me", password=SECRET),
    host_map=(HostMapping(host="cdn.example", address="192.0.2.1"),),
    steps=STEPS,
)


@pytest.fixture
def page(alice: Member) -> Monitor:
    site = actions.create_draft(actor=alice.user, organisation=alice.organisation, url=HOME)
    monitor = site.monitors.get(kind="page")
    settings = replace(settings_of(monitor), headers=(HEADER,), page=PAGE)
    return actions.change_monitor(actor=alice.user, monitor=monitor, settings=settings)


def change(monitor: Monitor, **changes: Any) -> Monitor:
    """As a door does it: it knows no secret."""
    settings = replace(settings_of(monitor), **changes)
    assert SECRET not in repr(settings)
    return actions.change_monitor(actor=None, monitor=monitor, settings=settings)


def refused(monitor: Monitor, **changes: Any) -> dict[str, str]:
    before = stored_settings(Monitor.objects.get(pk=monitor.pk))
    with pytest.raises(InvalidMonitorError) as caught:
        change(monitor, **changes)
    assert stored_settings(Monitor.objects.get(pk=monitor.pk)) == before
    assert SECRET not in str(caught.value)
    return caught.value.faults


def with_page(monitor: Monitor, **changes: Any) -> PageOptions:
    return replace(settings_of(monitor).page, **changes)


def test_what_is_not_touched_stays(page: Monitor) -> None:
    assert change(page).config_version == page.config_version
    changed = change(page, url="https://SHOP.example:443/basket?x=1", interval_s=600, ignore_certificate_errors=True)
    kept = stored_settings(changed)
    assert (kept.url, kept.headers, kept.page) == ("https://shop.example/basket?x=1", (HEADER,), PAGE)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "http://shop.example/",
        "https://shop.example:8443/",
        "https://shop.example.evil.example/",
        "https://evil.example/https://shop.example/",
    ],
)
def test_no_secret_follows_to_another_server(page: Monitor, url: str) -> None:
    faults = refused(page, url=url)
    assert faults.keys() == {"headers", "cookies", "login"}
    assert "Authorization was given for https://shop.example and cdn.example at 192.0.2.1" in faults["headers"]
    assert "Write it again, or remove it." in faults["headers"]
    assert faults["cookies"].startswith("Cookie session, cookie beta were given for")


@pytest.mark.parametrize(
    "host_map",
    [
        (HostMapping(host="shop.example", address="203.0.113.9"), *PAGE.host_map),
        (HostMapping(host="SHOP.example", address="203.0.113.9"), *PAGE.host_map),
        (HostMapping(host="cdn.example", address="203.0.113.9"),),
        (HostMapping(host="cdn.example", address="192.0.2.1", port=8443),),
        (HostMapping(host="script.example", address="203.0.113.9"), *PAGE.host_map),
        (),
    ],
)
def test_no_secret_follows_to_another_address(page: Monitor, host_map: tuple[HostMapping, ...]) -> None:
    faults = refused(page, page=with_page(page, host_map=host_map))
    assert faults.keys() == {"headers", "cookies", "login", "steps"}


@pytest.mark.parametrize(
    "steps",
    [
        (Visit(url="https://evil.example/login"), 1),
        (Visit(url="http://sso.example/login"), 1),
        (Visit(url="https://sso.example:8443/login"), 1),
        (1,),
        # Been at evil.example, a page of sso.example need only lead there again.
        (Visit(url="https://evil.example/"), 0, 1),
        (0, 1, 1),
    ],
)
def test_no_secret_of_a_step_is_typed_elsewhere(page: Monitor, steps: tuple[Any, ...]) -> None:
    shown = settings_of(page).page.steps
    told = tuple(shown[step] if isinstance(step, int) else step for step in steps)
    assert refused(page, page=with_page(page, steps=told)).keys() == {"steps"}


def test_two_edits_lead_no_further_than_one(page: Monitor) -> None:
    change(page, ignore_certificate_errors=True)
    refused(page, page=with_page(page, host_map=(HostMapping(host="shop.example", address="203.0.113.9"),)))
    bare = change(page, url="https://evil.example/", headers=(), page=PageOptions())
    assert refused(bare, url=HOME, headers=settings_of(page).headers).keys() == {"headers"}


def test_a_cookie_is_not_kept_for_another_domain_nor_a_name_that_is_not_there(page: Monitor) -> None:
    shown = settings_of(page).page.cookies
    assert refused(page, page=with_page(page, cookies=(replace(shown[0], domain="evil.example"),))).keys() == {
        "cookies"
    }
    assert refused(
        page, headers=(replace(HEADER, name="X-Other", value=settings_of(page).headers[0].value),)
    ).keys() == {"headers"}
    assert refused(page, page=with_page(page, steps=(STEPS[0], replace(STEPS[1], text="•" * 8, secret=False))))


def test_secrets_that_are_written_again_or_taken_away_let_a_monitor_move(page: Monitor, alice: Member) -> None:
    settings = replace(
        settings_of(page),
        url="https://new.example/",
        headers=(HEADER,),
        page=with_page(page, cookies=(Cookie(name="session", value="other"),), login=None),
    )
    moved = actions.change_monitor(actor=alice.user, monitor=page, settings=settings)
    stored = stored_settings(moved)
    assert (stored.headers, stored.page.login, stored.page.steps) == ((HEADER,), None, STEPS)
    entry = AuditEntry.objects.filter(action="change_monitor").latest("pk")
    assert entry.actor == alice.user
    assert entry.detail == {
        "name": page.site.name,
        "kind": "page",
        "changed": ["url", "page"],
        "moved": {
            "from": "https://shop.example and cdn.example at 192.0.2.1",
            "to": "https://new.example and cdn.example at 192.0.2.1",
            "secrets_kept": ["secret into #password"],
            "secrets_written": ["cookie session", "header Authorization"],
            "secrets_dropped": ["cookie beta", "password"],
        },
    }
    assert SECRET not in str(AuditEntry.objects.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "https://evil.example/a.js"},
        {"other": PairTarget(url="https://evil.example/a.js")},
        {"other": PairTarget(url="https://origin.example/a.js", address="203.0.113.9")},
    ],
)
def test_headers_of_a_pair_stay_with_both_of_its_servers(alice: Member, changes: dict[str, Any]) -> None:
    site = actions.create_draft(actor=alice.user, organisation=alice.organisation, url=HOME)
    other = PairTarget(url="https://origin.example/a.js")
    settings = replace(defaults(Kind.PAIR, "https://cdn.example/a.js", other), headers=(HEADER,))
    pair = actions.add_pair(actor=alice.user, site=site, settings=settings)
    assert refused(pair, **changes).keys() == {"headers"}
    assert stored_settings(change(pair, interval_s=600)).headers == (HEADER,)


def test_what_cannot_be_read_stays_as_it_is_stored_until_it_is_written_anew(page: Monitor, settings: Settings) -> None:
    whole, keys = stored_settings(page), settings.FERNET_KEYS
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    lost = Monitor.objects.get(pk=page.pk)
    assert settings_of(lost).unreadable == ("headers", "page")
    change(lost, interval_s=600)
    assert refused(lost, url="https://evil.example/").keys() == {"headers", "page"}
    settings.FERNET_KEYS = keys
    assert stored_settings(Monitor.objects.get(pk=page.pk)) == replace(whole, interval_s=600)
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    forgotten = change(Monitor.objects.get(pk=page.pk), unreadable=("page",))
    assert AuditEntry.objects.latest("pk").detail == {
        "name": page.site.name,
        "kind": "page",
        "changed": ["headers"],
    }
    assert stored_settings(forgotten).unreadable == ("page",)
    anew = replace(settings_of(forgotten), unreadable=(), headers=(HEADER,))
    found = stored_settings(actions.change_monitor(actor=None, monitor=forgotten, settings=anew))
    assert (found.unreadable, found.headers, found.page) == ((), (HEADER,), PageOptions())
