"""The keys of programs, as their people see them."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from backend.accounts.models import ApiToken
from backend.accounts.permissions import Role, Scope
from backend.accounts.queries import token_by_secret
from backend.cast import Member, join
from backend.web.tests.browsing import DESKTOP, PHONE, browsing
from backend.web.tests.world import World
from backend.web.tokens import snippets_of, verdict_of

pytestmark = pytest.mark.django_db

FIELDS = {"name": "CI of the shop", "scopes": ["read", "gates"], "role": "member", "days": "90"}


@pytest.fixture
def signed_in(client: Client, alice: Member) -> Client:
    client.force_login(alice.user)
    return client


def make(client: Client, **changes: object) -> tuple[int, str]:
    response = client.post(reverse("web:token_add"), {**FIELDS, **changes})
    return response.status_code, response.content.decode()


def texts_in(page: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)]


def list_page(client: Client) -> str:
    return client.get(reverse("web:tokens")).content.decode()


def test_without_tokens_it_says_what_they_are_for(signed_in: Client) -> None:
    assert "No token yet" in list_page(signed_in)


def test_no_text_of_a_list_is_turned_round_by_a_token_name_from_before(signed_in: Client) -> None:
    name = "CI \N{RIGHT-TO-LEFT OVERRIDE}evil"
    _, refused = make(signed_in, name=name)
    assert "one line without control characters" in refused
    make(signed_in)
    ApiToken.objects.update(name=name)
    page = list_page(signed_in)
    assert "evil" in page
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page


def test_a_new_token_is_shown_once_with_calls_that_work(signed_in: Client) -> None:
    _, page = make(signed_in)
    secret, curl, workflow = texts_in(page)
    token = token_by_secret(secret, now=timezone.now())
    assert token is not None
    assert (token.name, token.role, token.scopes) == ("CI of the shop", "member", ["gates", "read"])
    assert f"/api/v1/me -H 'Authorization: Bearer {secret}'" in curl
    assert "${{ secrets.FIRSTBYTE_TOKEN }}" in workflow
    assert secret not in workflow
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    text = list_page(signed_in)
    assert secret not in text
    assert secret[:12] in text


def test_the_answer_with_the_secret_is_not_kept_by_the_browser(signed_in: Client) -> None:
    response = signed_in.post(reverse("web:token_add"), FIELDS)
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "Give the token a name"),
        ({"name": "x" * 61}, "at most 60 characters"),
        ({"name": "a\x00b"}, "Null characters are not allowed"),
        ({"scopes": []}, "Choose what the token is for"),
        ({"scopes": ["everything"]}, "not one of the available choices"),
        ({"role": "owner"}, "not one of the available choices"),
        ({"days": "99999"}, "not one of the available choices"),
    ],
)
def test_what_cannot_be_is_said_at_the_field(signed_in: Client, changes: dict[str, object], sentence: str) -> None:
    status, page = make(signed_in, **changes)
    assert (status, sentence in page) == (400, True)
    assert not ApiToken.objects.exists()


def test_a_revoked_token_is_refused_and_gone_from_the_list(signed_in: Client) -> None:
    secret = texts_in(make(signed_in)[1])[0]
    token = ApiToken.objects.get()
    signed_in.post(reverse("web:token_revoke", args=[token.public_id]))
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert token.prefix not in list_page(signed_in)


def test_the_list_says_who_used_it_when(signed_in: Client) -> None:
    secret = texts_in(make(signed_in)[1])[0]
    assert "never" in list_page(signed_in)
    Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert "from 127.0.0.1" in list_page(signed_in)


def test_an_expired_token_is_told_first(signed_in: Client) -> None:
    make(signed_in)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert "1 token has expired" in list_page(signed_in)


def test_a_member_reads_the_list_without_buttons(client: Client, alice: Member, bob: Member) -> None:
    client.force_login(alice.user)
    make(client)
    client.force_login(bob.user)
    text = list_page(client)
    assert "CI of the shop" in text
    assert "Revoke" not in text
    assert "Make a token" not in text


def test_the_sentence_follows_what_needs_somebody() -> None:
    now = timezone.now()
    valid, soon, old = (ApiToken(expires_at=now + timedelta(days=days)) for days in (60, 3, -1))
    assert verdict_of([valid], now=now).level == "good"
    assert verdict_of([valid, soon], now=now).title == "1 token expires within 14 days"
    assert verdict_of([valid, soon], now=now).text == "2 tokens are valid."
    assert verdict_of([valid, soon, old], now=now).title == "1 token has expired"
    assert verdict_of([valid, soon, old], now=now).text == "What uses it is refused. 2 tokens are valid."


@pytest.mark.parametrize(("role", "scope"), [("member", Scope.READ), ("viewer", Scope.GATES)])
def test_a_token_that_may_not_tell_of_deploys_gets_no_snippet_that_fails(role: str, scope: Scope) -> None:
    snippets = snippets_of("https://fb.example", "fb_api_x", role=role, scopes=[scope])
    assert [snippet.title for snippet in snippets] == ["The first call"]


@pytest.mark.parametrize(("dark", "size"), [(False, DESKTOP), (True, DESKTOP), (False, PHONE), (True, PHONE)])
def test_the_pages_are_clean_in_a_browser(
    world: World, server: LiveServer, *, dark: bool, size: tuple[int, int]
) -> None:
    join("another", Role.ADMIN, "acme")
    with browsing(world, server, dark=dark, size=size) as site:
        page = site.open(reverse("web:tokens"))
        page.get_by_label("Name").fill("CI of the shop")
        page.get_by_role("button", name="Make it").click()
        page.get_by_role("heading", name="This is shown once").wait_for()
        assert site.axe() == []
        assert not site.is_wider_than_window()
        page.reload()
        # Made once, however often its page is loaded.
        expect(page.get_by_role("link", name="Revoke CI of the shop")).to_have_count(1)
        assert site.axe() == []
        assert not site.is_wider_than_window()
        assert site.complaints == []


@pytest.mark.parametrize(("dark", "size"), [(False, DESKTOP), (True, PHONE)])
def test_the_description_of_the_api_is_clean_in_a_browser(
    world: World, server: LiveServer, *, dark: bool, size: tuple[int, int]
) -> None:
    with browsing(world, server, dark=dark, size=size) as site:
        site.open(reverse("api:docs"))
        assert site.axe() == []
        assert not site.is_wider_than_window()
        assert site.complaints == []
