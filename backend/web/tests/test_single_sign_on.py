"""Signing in by the organisation's own provider of OpenID Connect."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.utils import timezone
from pydantic import ValidationError
from pytest_django import Settings

from backend.accounts.models import AuditEntry, User
from backend.cast import Member
from backend.config import Config
from backend.web.tests.oidc_standin import CLIENT, SECRET, Provider

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
SIGN_IN, PROFILE = "/account/login/", "/profile/"
BEGIN, CONNECT, DISCONNECT = (f"/account/single-sign-on/{name}/" for name in ("sso", "connect", "disconnect"))
AGAIN = "/account/password/again/"


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    with Provider() as running:
        config = Config(
            oidc_issuer=running.issuer, oidc_client_id=CLIENT, oidc_client_secret=SECRET, oidc_name="Acme login"
        )
        settings.OIDC_NAME = config.oidc_name
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": config.oidc_apps}}
        yield running


@pytest.fixture
def user(alice: Member, provider: Provider) -> User:
    """Has proved the address, and is known by it at the provider."""
    alice.user.set_password(PASSWORD)
    alice.user.proved_at = timezone.now()
    alice.user.save()
    provider.claims = {"sub": "4711", "email": alice.user.email.upper(), "email_verified": True, "groups": ["staff"]}
    return alice.user


def come(client: Client, provider: Provider, begin: str = BEGIN) -> Any:
    """Goes to the provider and comes back; the page that is shown then."""
    away = client.get(begin)
    assert away.headers["Location"].startswith(f"{provider.issuer}/authorize?"), away.headers
    return client.get(provider.agree(away.headers["Location"]), follow=True)


def signed_in(client: Client) -> str | None:
    found = client.session.get("_auth_user_id")
    return None if found is None else str(found)


def acts() -> list[tuple[str, dict[str, Any]]]:
    return [(entry.action, entry.detail) for entry in AuditEntry.objects.order_by("pk")]


def test_who_is_known_by_a_verified_address_comes_in_without_a_password(
    client: Client, provider: Provider, user: User
) -> None:
    page = client.get(f"{SIGN_IN}?next=/alerts/").content.decode()
    assert f'href="{BEGIN}?next=%2Falerts%2F">Sign in with Acme login</a>' in page
    answer = come(client, provider, f"{BEGIN}?next=/alerts/")
    assert answer.redirect_chain[-1][0] == "/alerts/"
    assert signed_in(client) == str(user.pk)
    assert acts() == [("connect_single_sign_on", {}), ("sign_in", {"by": "single sign-on"})]
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_nothing_that_the_provider_tells_of_people_is_kept(client: Client, provider: Provider, user: User) -> None:
    come(client, provider)
    account = SocialAccount.objects.get()
    assert (account.user, account.extra_data) == (user, {})
    assert "4711" not in account.uid


def test_from_then_on_the_subject_counts_and_not_the_address(
    client: Client, provider: Provider, user: User, bob: Member
) -> None:
    come(client, provider)
    client.logout()
    provider.claims |= {"email": bob.user.email}
    come(client, provider)
    assert signed_in(client) == str(user.pk)


def test_another_provider_knows_others_by_the_same_subject(
    client: Client, provider: Provider, user: User, settings: Settings
) -> None:
    come(client, provider)
    client.logout()
    with Provider(claims={"sub": "4711", "email": "mallory@evil.example", "email_verified": True}) as other:
        config = Config(oidc_issuer=other.issuer, oidc_client_id=CLIENT, oidc_client_secret=SECRET)
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": config.oidc_apps}}
        come(client, other)
    assert signed_in(client) is None


@pytest.mark.parametrize("verified", [False, None, "false", "true", 0])
def test_an_address_that_nobody_verified_lets_nobody_in(
    client: Client, provider: Provider, user: User, verified: object
) -> None:
    provider.claims |= {"email_verified": verified}
    page = come(client, provider).content.decode()
    assert "Acme login does not say that it has verified your address." in page
    assert (signed_in(client), SocialAccount.objects.count()) == (None, 0)


def test_nobody_gets_an_account_by_it(client: Client, provider: Provider, user: User) -> None:
    provider.claims |= {"email": "stranger@acme.example"}
    page = come(client, provider).content.decode()
    assert "There is no account with the address that Acme login knows you by." in page
    assert (signed_in(client), User.objects.filter(email="stranger@acme.example").exists()) == (None, False)


def test_a_password_that_its_maker_knows_holds_no_longer(client: Client, provider: Provider, user: User) -> None:
    User.objects.filter(pk=user.pk).update(proved_at=None)
    page = come(client, provider).content.decode()
    assert (
        "Whoever made your account knew its password: it holds no longer, nor does a passkey that was made by then."
        in page
    )
    user.refresh_from_db()
    assert (user.has_usable_password(), user.proved_at is not None) == (False, True)
    assert signed_in(client) == str(user.pk)


def test_a_closed_account_stays_closed(client: Client, provider: Provider, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)
    come(client, provider)
    assert signed_in(client) is None


def test_the_second_factor_is_asked_for_all_the_same(client: Client, provider: Provider, user: User) -> None:
    TOTP.activate(user, generate_totp_secret())
    answer = come(client, provider)
    assert answer.redirect_chain[-1][0].startswith("/account/second-factor/sign-in/")
    assert signed_in(client) is None


@pytest.mark.parametrize(
    ("audience", "lives_s"), [("somebody else", 300), (CLIENT, -3600)], ids=["for another", "out of date"]
)
def test_a_word_that_is_not_for_us_or_out_of_date_counts_for_nothing(
    client: Client, provider: Provider, user: User, audience: str, lives_s: int
) -> None:
    provider.audience, provider.lives_s = audience, lives_s
    page = come(client, provider).content.decode()
    assert "The sign-in with Acme login did not come to its end." in page
    assert signed_in(client) is None


def test_what_another_browser_began_is_not_gone_on_with(client: Client, provider: Provider, user: User) -> None:
    back = provider.agree(Client().get(BEGIN).headers["Location"])
    page = client.get(back, follow=True).content.decode()
    assert "did not come to its end" in page
    assert signed_in(client) is None


def test_a_code_is_worth_nothing_without_what_only_we_know(client: Client, provider: Provider, user: User) -> None:
    away = client.get(BEGIN).headers["Location"]
    wanted = parse_qs(urlsplit(away).query)
    assert wanted["code_challenge_method"] == ["S256"]
    back = provider.agree(away)
    provider.asked["code-0"]["code_challenge"] = "of another request"
    assert "did not come to its end" in client.get(back, follow=True).content.decode()


def test_who_turns_back_at_the_provider_is_at_the_sign_in_again(client: Client, provider: Provider, user: User) -> None:
    state = parse_qs(urlsplit(client.get(BEGIN).headers["Location"]).query)["state"][0]
    answer = client.get(f"{BEGIN}callback/?error=access_denied&state={state}", follow=True)
    assert answer.redirect_chain[-1][0] == SIGN_IN
    assert "did not come to its end" not in answer.content.decode()


def test_a_provider_that_is_away_is_said_to_be(client: Client, provider: Provider, user: User) -> None:
    provider.__exit__(None, None, None)
    answer = client.get(BEGIN, follow=True)
    assert "The sign-in with Acme login did not come to its end." in answer.content.decode()
    provider.__enter__()


def sign_in_by_password(client: Client, user: User) -> None:
    client.post(SIGN_IN, {"login": user.email, "password": PASSWORD})
    assert signed_in(client) == str(user.pk)


def test_who_is_signed_in_connects_the_two_with_their_password(client: Client, provider: Provider, user: User) -> None:
    provider.claims |= {"email_verified": None, "email": "another@acme.example"}
    sign_in_by_password(client, user)
    assert f'href="{CONNECT}"' in client.get(PROFILE).content.decode()
    asked = client.get(CONNECT)
    assert asked.headers["Location"].startswith(AGAIN)
    client.post(asked.headers["Location"], {"password": PASSWORD})
    connecting = client.get(CONNECT).headers["Location"]
    page = come(client, provider, connecting).content.decode()
    assert "You can sign in with Acme login from now on." in page
    assert f'action="{DISCONNECT}"' in page
    client.logout()
    come(client, provider)
    assert signed_in(client) == str(user.pk)


def test_an_unlocked_browser_alone_connects_nothing(client: Client, provider: Provider, user: User) -> None:
    sign_in_by_password(client, user)
    answer = come(client, provider, f"{BEGIN}?process=connect")
    assert answer.redirect_chain[-1][0].startswith(AGAIN)
    assert not SocialAccount.objects.exists()


def test_nobody_takes_what_is_connected_with_somebody_else(
    client: Client, provider: Provider, user: User, bob: Member
) -> None:
    come(client, provider)
    client.logout()
    bob.user.set_password(PASSWORD)
    bob.user.save()
    sign_in_by_password(client, bob.user)
    client.post(f"{AGAIN}?next={CONNECT}", {"password": PASSWORD})
    page = come(client, provider, client.get(CONNECT).headers["Location"]).content.decode()
    assert "At Acme login you are somebody who has another account here" in page
    assert SocialAccount.objects.get().user == user
    assert signed_in(client) == str(bob.user.pk)


def test_what_was_connected_is_disconnected_unless_it_is_the_only_way_in(
    client: Client, provider: Provider, user: User
) -> None:
    come(client, provider)
    assert client.get(DISCONNECT).status_code == 405
    client.post(DISCONNECT)
    assert not SocialAccount.objects.exists()
    assert acts()[-1] == ("disconnect_single_sign_on", {})
    come(client, provider)
    user.set_unusable_password()
    user.save()
    client.force_login(user)
    assert "You have no password yet" in client.post(DISCONNECT, follow=True).content.decode()
    assert SocialAccount.objects.exists()


def test_without_a_provider_there_is_no_word_of_it(client: Client, alice: Member) -> None:
    assert "single" not in client.get(SIGN_IN).content.decode()
    assert client.get(BEGIN).status_code == 404
    assert client.get(f"{BEGIN}callback/").status_code == 404
    client.force_login(alice.user)
    assert "single-sign-on" not in client.get(PROFILE).content.decode()


@pytest.mark.parametrize(
    "issuer",
    ["http://login.acme.example", "login.acme.example", "https://", "https://a.example/?x", "https://a.example/#x"],
)
def test_a_provider_that_anybody_could_pass_for_is_refused(issuer: str) -> None:
    with pytest.raises(ValidationError, match="https:// address of a provider of OpenID Connect"):
        Config(oidc_issuer=issuer)
