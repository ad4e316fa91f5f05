"""Signing in and out, passwords, and what each person sets for themselves."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from backend.accounts import adapter
from backend.accounts.models import AuditEntry, User
from backend.accounts.permissions import Role
from backend.cast import Member, join
from backend.testing import wait_until

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _own_mails(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is sent beside an answer has been sent before the test is over: it is none of the next one's."""
    with ThreadPoolExecutor(2) as mails:
        monkeypatch.setattr(adapter, "_MAILS", mails)
        yield


@pytest.fixture
def user(alice: Member) -> User:
    alice.user.set_password(PASSWORD)
    alice.user.save()
    return alice.user


def sign_in(client: Client, email: str, password: str = PASSWORD, **query: str) -> tuple[int, str, str]:
    response = client.post("/account/login/", {"login": email, "password": password} | query)
    return response.status_code, response.headers.get("Location", ""), response.content.decode()


def test_a_person_signs_in_by_their_address_in_any_case(client: Client, user: User) -> None:
    assert sign_in(client, "ALICE@acme.example")[:2] == (302, "/sites/")
    assert client.get("/sites/").status_code == 200


def test_a_wrong_password_and_an_unknown_address_are_answered_alike(client: Client, user: User) -> None:
    wrong = sign_in(client, user.email, "not it")[2]
    unknown = sign_in(client, "nobody@acme.example", "not it")[2]
    sentence = "The email address and/or password you specified are not correct."
    alert = re.search(r'<div role="alert">(.*?)</div>', wrong, re.DOTALL)
    assert alert is not None, "a screen reader is told at once"
    assert sentence in alert[1]
    assert sentence in unknown


def test_guessing_is_stopped_after_a_few_tries_even_with_the_right_password(client: Client, user: User) -> None:
    for _ in range(5):
        sign_in(client, user.email, "not it")
    assert "Too many failed login attempts" in sign_in(client, user.email)[2]
    assert client.get("/sites/").status_code == 302


def test_nobody_signs_up_alone(client: Client, db: None) -> None:
    fields = {"email": "new@acme.example", "password1": PASSWORD, "password2": PASSWORD}
    for response in (client.get("/account/signup/"), client.post("/account/signup/", fields)):
        assert "Nobody can sign up alone" in response.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example", "http://[::1"]
)
def test_a_sign_in_never_leads_out_of_the_house(client: Client, user: User, target: str) -> None:
    assert sign_in(client, user.email, next=target)[1] == "/sites/"


def test_a_sign_in_leads_to_where_one_wanted(client: Client, user: User) -> None:
    assert sign_in(client, user.email, next="/regions/")[1] == "/regions/"


def test_signing_out_ends_the_session(client: Client, user: User) -> None:
    sign_in(client, user.email)
    assert client.get("/account/logout/").status_code == 200
    client.post("/account/logout/")
    assert client.get("/sites/").status_code == 302


def test_a_session_gets_a_new_key_at_sign_in(client: Client, user: User) -> None:
    client.get("/account/login/")
    client.session.save()
    before = client.session.session_key
    sign_in(client, user.email)
    assert client.session.session_key != before


def test_a_forgotten_password_is_replaced_by_mail_once(client: Client, user: User, settings: Settings) -> None:
    address = "/account/password/reset/"
    response = client.post(address, {"email": user.email}, follow=True, headers={"Host": "localhost"})
    assert "Look into your mail" in response.content.decode()
    wait_until(lambda: mail.outbox, "the mail")
    found = re.search(re.escape(settings.BASE_URL) + r"(/account/password/reset/key/\S+)", str(mail.outbox[0].body))
    assert found is not None
    form = client.get(found[1], follow=True)
    assert "New password" in form.content.decode()
    fields = {"password1": "another fine phrase", "password2": "another fine phrase"}
    client.post(form.redirect_chain[-1][0], fields)
    assert sign_in(Client(), user.email, "another fine phrase")[0] == 302
    assert "has been used or is too old" in Client().get(found[1], follow=True).content.decode()


def test_asking_for_an_unknown_address_is_answered_alike_and_sends_nothing(client: Client, db: None) -> None:
    response = client.post("/account/password/reset/", {"email": "nobody@acme.example"}, follow=True)
    assert "Look into your mail" in response.content.decode()
    assert not mail.outbox


@pytest.mark.parametrize("email", ["alice@acme.example", "nobody@acme.example"])
def test_a_mail_server_that_is_away_does_not_tell_who_has_an_account(
    user: User, settings: Settings, email: str
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    client = Client(raise_request_exception=False)
    response = client.post("/account/password/reset/", {"email": email}, follow=True)
    assert (response.status_code, "Look into your mail" in response.content.decode()) == (200, True)


def test_a_password_is_changed_with_the_old_one(client: Client, user: User) -> None:
    client.force_login(user)
    fields = {"oldpassword": PASSWORD, "password1": "another fine phrase", "password2": "another fine phrase"}
    response = client.post("/account/password/change/", fields)
    user.refresh_from_db()
    assert user.check_password("another fine phrase")
    assert response.headers["Location"] == "/profile/"


@pytest.mark.parametrize("password", ["short", "password123", "alice@acme"])
def test_a_weak_password_is_refused(client: Client, user: User, password: str) -> None:
    client.force_login(user)
    client.post("/account/password/change/", {"oldpassword": PASSWORD, "password1": password, "password2": password})
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_the_theme_is_kept_before_and_after_signing_in(client: Client, user: User) -> None:
    client.post("/theme/", {"theme": "dark", "next": "/account/login/"})
    assert 'data-theme="dark"' in client.get("/account/login/").content.decode()
    client.force_login(user)
    assert 'data-theme="system"' in client.get("/profile/").content.decode()
    client.post("/theme/", {"theme": "light"})
    assert 'data-theme="light"' in client.get("/profile/").content.decode()


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1", "http://[::1", "", "1", "web:sites"],
)
def test_the_theme_form_never_leads_out_of_the_house(client: Client, db: None, target: str) -> None:
    assert client.post("/theme/", {"theme": "dark", "next": target}).headers["Location"] == "/"


def test_an_unknown_theme_changes_nothing(client: Client, user: User) -> None:
    client.force_login(user)
    client.post("/theme/", {"theme": "<script>"})
    user.refresh_from_db()
    assert user.theme == "system"


def test_a_name_and_a_time_zone_are_kept(client: Client, user: User) -> None:
    client.force_login(user)
    client.post("/profile/", {"name": "Alice A.", "time_zone": "Europe/Berlin"})
    user.refresh_from_db()
    assert (user.name, user.time_zone) == ("Alice A.", "Europe/Berlin")
    for unknown in ("Mars/Olympus", "localtime"):
        assert client.post("/profile/", {"name": "", "time_zone": unknown}).status_code == 200
    user.refresh_from_db()
    assert user.time_zone == "Europe/Berlin"


@pytest.mark.parametrize("name", ["Alice\x1b[2K", "turned \u202e round"])
def test_a_name_that_would_change_the_line_it_stands_in_is_refused(client: Client, user: User, name: str) -> None:
    client.force_login(user)
    told = client.post("/profile/", {"name": name, "time_zone": "UTC"}).content.decode()
    assert "The name must be one line without control characters." in told
    user.refresh_from_db()
    assert user.name != name


def test_times_are_shown_in_the_readers_zone(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(time_zone="Asia/Tokyo")
    client.force_login(user)
    assert " JST" in client.get("/members/").content.decode()


def test_a_zone_that_this_machine_does_not_know_is_shown_as_utc(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(time_zone="Mars/Olympus")
    client.force_login(user)
    assert " UTC" in client.get("/members/").content.decode()


def test_who_belongs_to_two_organisations_chooses(client: Client, charlie: Member) -> None:
    twice = join("dora", Role.OWNER, "acme")
    charlie.organisation.memberships.create(user=twice.user, role=Role.VIEWER)
    client.force_login(twice.user)
    client.post(reverse("web:switch", args=[charlie.organisation.public_id]))
    assert charlie.user.email in client.get("/members/").content.decode()


def test_who_has_no_password_yet_sets_one(client: Client, alice: Member) -> None:
    client.force_login(alice.user)
    page = client.get("/account/password/change/", follow=True)
    assert "Set a password" in page.content.decode()
    client.post("/account/password/set/", {"password1": PASSWORD, "password2": PASSWORD})
    alice.user.refresh_from_db()
    assert alice.user.check_password(PASSWORD)


def test_the_log_knows_who_came_in_went_and_was_refused_and_from_where(client: Client, user: User) -> None:
    sign_in(client, user.email, "not the one")
    sign_in(client, user.email)
    client.post("/account/logout/")
    sign_in(client, "nobody@acme.example", "not it")
    entries = list(AuditEntry.objects.order_by("pk"))
    assert [entry.action for entry in entries] == ["refuse_sign_in", "sign_in", "sign_out"]
    assert {(entry.actor, entry.address) for entry in entries} == {(user, "127.0.0.1")}
    assert "not the one" not in str(AuditEntry.objects.values())


def test_a_sign_out_of_the_admin_is_known_too(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    sign_in(client, user.email)
    assert client.post("/admin/logout/").headers["Location"] == "/account/login/"
    assert client.get("/sites/").status_code == 302
    assert AuditEntry.objects.latest("pk").action == "sign_out"


def test_a_closed_account_is_refused_with_the_right_password_and_that_is_known(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert sign_in(client, user.email)[:2] == (302, "/account/inactive/")
    assert AuditEntry.objects.get().action == "refuse_sign_in"


def test_the_log_knows_how_a_password_was_changed(client: Client, user: User) -> None:
    client.force_login(user)
    fields = {"password1": "another fine phrase", "password2": "another fine phrase"}
    client.post("/account/password/change/", fields | {"oldpassword": PASSWORD})
    client.logout()
    client.post("/account/password/reset/", {"email": user.email})
    wait_until(lambda: mail.outbox, "the mail")
    found = re.search(r"/account/password/reset/key/\S+", str(mail.outbox[-1].body))
    assert found is not None
    client.post(client.get(found[0], follow=True).redirect_chain[-1][0], fields)
    entries = AuditEntry.objects.filter(action="change_password").order_by("pk")
    assert [(entry.actor, entry.detail) for entry in entries] == [(user, {}), (user, {"with": "a link sent by mail"})]
