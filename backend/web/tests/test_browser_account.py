"""The pages of an account in a real browser: the way to a second factor and in by it, by keyboard alone."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from backend.accounts.models import Organisation, User
from backend.web.tests.browsing import PHONE, browsing
from backend.web.tests.test_second_factor import CODE, CODES, NEW_CODES, OFF, ON, PASSWORD, code_at
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "annegret-wilhelmina.von-und-zu-guttenberg@observabilityandmeasurement.a-very-long-company-name.example"


@pytest.fixture
def user(world: World) -> User:
    user = world.member.user
    user.email, user.name = LONG, "Annegret Wilhelmina Guttenberg-Schwarzenegger von Hohenzollern"
    user.set_password(PASSWORD)
    user.save()
    return user


def type_into(page: Page, name: str, text: str) -> None:
    """Types, and presses Enter as a hand does."""
    page.locator(f"[name={name}]").press_sequentially(text)
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_it_is_switched_on_and_signed_in_with_by_keyboard_alone(
    world: World, server: LiveServer, user: User, script: bool
) -> None:
    with browsing(world, server, size=PHONE, script=script) as site:
        page = site.open("/account/second-factor/on/")
        type_into(page, "password", PASSWORD)
        expect(page.locator("h1")).to_have_text("Switch on the second factor")
        assert not site.is_wider_than_window()
        type_into(page, "code", code_at(page.locator("code").inner_text().replace(" ", "")))
        codes = page.locator("#codes").input_value().split()
        with page.expect_download() as download:
            page.locator("a[download]").press("Enter")
        assert Path(download.value.path()).read_text().split()[-10:] == codes
        page.context.clear_cookies()
        site.open("/account/login/")
        page.locator("[name=login]").press_sequentially(LONG)
        type_into(page, "password", PASSWORD)
        assert urlsplit(page.url).path == CODE
        expect(page.locator("[name=code]")).to_be_focused()
        type_into(page, "code", codes[0])
        assert urlsplit(page.url).path == "/sites/"
        assert site.complaints == []


def at_a_name(page: Page, server: LiveServer, settings: Settings) -> str:
    """A browser keeps passkeys for names alone. It gets a key that is built in, and a finger that is always there."""
    settings.ALLOWED_HOSTS = ["localhost"]
    address = settings.BASE_URL = server.url.replace("127.0.0.1", "localhost")
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    built_in = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": built_in | {"isUserVerified": True, "automaticPresenceSimulation": True}},
    )
    return address


def test_a_passkey_is_added_and_signed_in_with_alone_or_after_the_password(
    world: World, server: LiveServer, user: User, settings: Settings
) -> None:
    with browsing(world, server, size=PHONE) as site:
        page = site.page
        site.server = at_a_name(page, server, settings)
        site.open("/account/login/?next=/profile/")
        page.locator("[name=login]").press_sequentially(LONG)
        type_into(page, "password", PASSWORD)
        page.get_by_role("link", name="Add a passkey").click()
        type_into(page, "password", PASSWORD)
        assert site.axe() == []
        page.get_by_label("Name").fill("A phone whose name is as long as names of phones may be")
        page.get_by_role("button", name="Add").click()
        expect(page.locator("h1")).to_have_text("Recovery codes")
        site.look_over("/profile/")
        page.context.clear_cookies()
        site.look_over("/account/login/?next=/regions/")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.locator("h1")).to_have_text("Regions")
        page.context.clear_cookies()
        site.open("/account/login/")
        page.locator("[name=login]").press_sequentially(LONG)
        type_into(page, "password", PASSWORD)
        assert site.axe() == []
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.locator("h1")).to_have_text("Sites")
        site.open("/profile/")
        page.get_by_role("link", name="Remove").click()
        type_into(page, "password", PASSWORD)
        assert site.axe() == []
        page.get_by_role("button", name="Remove it").click()
        expect(page.locator("main")).to_contain_text("it lets nobody in any more")
        assert site.complaints == []


def test_what_goes_wrong_with_a_passkey_is_said_and_can_be_tried_again(
    world: World, server: LiveServer, user: User, settings: Settings
) -> None:
    with browsing(world, server) as site:
        site.server = at_a_name(site.page, server, settings)
        page = site.open("/account/login/")
        button, said = page.get_by_role("button", name="Sign in with a passkey"), page.locator("[data-said]")
        asked: list[str] = []
        page.on("requestfinished", lambda request: asked.append(request.url))
        button.dblclick()
        expect(said).to_have_text("No passkey was shown, or it took too long. Try once more.")
        assert len(asked) == 1
        settings.BASE_URL = "https://watch.example"
        button.click()
        expect(said).to_have_text("Passkeys are for localhost alone: open Firstbyte there.")
        other = page.context.new_page()
        other.goto(f"{site.server}/account/login/")
        other.locator("[name=login]").fill(LONG)
        type_into(other, "password", PASSWORD)
        button.click()
        expect(page.locator("h1")).to_have_text("Sites")


def test_its_pages_are_accessible_in_every_look(world: World, server: LiveServer, user: User) -> None:
    Organisation.objects.create(
        name="A second organisation with a name that is long", slug="second"
    ).memberships.create(user=user, role="owner")
    with browsing(world, server) as site:
        site.look_over("/profile/")
        site.look_over(ON)
        type_into(site.page, "password", PASSWORD)
        site.look_over(ON)
        page = site.open(ON)
        type_into(page, "code", code_at(page.locator("code").inner_text().replace(" ", "")))
        assert site.axe() == []
        for path in (CODES, NEW_CODES, OFF, "/profile/", "/members/"):
            site.look_over(path)
        page.context.clear_cookies()
        site.open("/account/login/")
        page.locator("[name=login]").fill(LONG)
        type_into(page, "password", PASSWORD)
        type_into(page, "code", "12345")
        assert site.axe() == []
        site.look_over(CODE)
        assert site.complaints == []
