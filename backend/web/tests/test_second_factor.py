"""The second factor: a code of an app or a recovery code after the password, and the way there and back."""

import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import unquote

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.actions import NewToken, create_token
from backend.accounts.models import AuditEntry, User
from backend.accounts.permissions import Role, Scope
from backend.cast import Member, join

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
STEP_S = 30
ON, OFF, AGAIN = "/account/second-factor/on/", "/account/second-factor/off/", "/account/password/again/"
CODE, CODES, NEW_CODES = (f"/account/second-factor/{name}/" for name in ("sign-in", "codes", "codes/new"))


@pytest.fixture(autouse=True)
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        yield clock


@pytest.fixture
def user(alice: Member) -> User:
    alice.user.set_password(PASSWORD)
    alice.user.save()
    return alice.user


def sign_in(client: Client, user: User, **query: str) -> str:
    fields = {"login": user.email, "password": PASSWORD} | query
    return client.post("/account/login/", fields).headers.get("Location", "")


def code_at(secret: str, steps: int = 0) -> str:
    """What an app shows so many steps from now; held against RFC 6238's own values below."""
    return str(format_hotp_value(hotp_value(secret, int(timezone.now().timestamp()) // STEP_S + steps)))


def switch_on(client: Client, user: User) -> tuple[str, list[str]]:
    """The secret, and the recovery codes that are shown."""
    client.force_login(user)
    client.post(AGAIN + f"?next={ON}", {"password": PASSWORD})
    found = re.search(r"<code[^>]*>([A-Z2-7 ]{39})</code>", client.get(ON).content.decode())
    assert found is not None
    secret = found[1].replace(" ", "")
    page = client.post(ON, {"code": code_at(secret)}, follow=True).content.decode()
    return secret, codes_on(page)


def codes_on(page: str) -> list[str]:
    found = re.search(r"<textarea[^>]*>([\d\n]+)</textarea>", page)
    return found[1].split() if found else []


def acts() -> list[tuple[str, dict[str, object]]]:
    return [(entry.action, entry.detail) for entry in AuditEntry.objects.order_by("pk")]


@pytest.mark.parametrize(("at", "code"), [(59, "287082"), (1111111109, "081804"), (20000000000, "353130")])
def test_codes_are_those_of_the_standard(at: int, code: str, clock: time_machine.Traveller) -> None:
    """RFC 6238, appendix B, in six digits: its secret is the ASCII text 12345678901234567890."""
    clock.move_to(at)
    assert code_at("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ") == code


def test_it_is_switched_on_with_the_password_and_a_code_and_asked_for_from_then_on(
    client: Client, user: User, clock: time_machine.Traveller
) -> None:
    client.force_login(user)
    assert client.get(ON).headers["Location"].startswith(AGAIN)
    secret, _ = switch_on(client, user)
    clock.shift(timedelta(seconds=STEP_S))
    visitor = Client()
    assert sign_in(visitor, user, next="/regions/") == CODE
    assert visitor.get("/sites/").status_code == 302
    answer = visitor.post(CODE, {"code": code_at(secret)})
    assert answer.headers["Location"] == "/regions/"
    assert visitor.get("/sites/").status_code == 200
    assert [action for action, _ in acts()] == ["enable_second_factor", "sign_in"]
    assert acts()[-1][1] == {"with": "a code of an app"}


def test_a_wrong_code_switches_nothing_on_and_says_what_to_do(client: Client, user: User) -> None:
    client.force_login(user)
    client.post(AGAIN + f"?next={ON}", {"password": PASSWORD})
    client.get(ON)
    page = client.post(ON, {"code": "12345"}).content.decode()
    assert "An app shows a new one each half minute" in page
    assert not Authenticator.objects.exists()
    assert acts() == []


def test_the_qr_code_and_the_link_carry_what_the_app_needs(client: Client, user: User) -> None:
    client.force_login(user)
    client.post(AGAIN + f"?next={ON}", {"password": PASSWORD})
    response = client.get(ON)
    page = response.content.decode()
    assert re.search(r'href="otpauth://totp/alice%40acme.example\?secret=[A-Z2-7]{32}&amp;issuer=Firstbyte"', page)
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert picture is not None
    assert b"<path" in b64decode(picture[1])
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_a_clock_may_be_off_by_one_step_and_no_more(
    client: Client, user: User, clock: time_machine.Traveller, steps: int
) -> None:
    secret, _ = switch_on(client, user)
    clock.shift(timedelta(minutes=10))
    for off, location in ((2 * steps or 2, ""), (steps, "/sites/")):
        visitor = Client()
        sign_in(visitor, user)
        assert visitor.post(CODE, {"code": code_at(secret, off)}).headers.get("Location", "") == location


def test_a_code_opens_once_also_while_it_is_still_right(
    client: Client, user: User, clock: time_machine.Traveller
) -> None:
    secret, _ = switch_on(client, user)
    clock.shift(timedelta(minutes=10))
    code = code_at(secret, 1)
    first, second = Client(), Client()
    sign_in(first, user)
    assert first.post(CODE, {"code": f"{code[:3]} {code[3:]}"}).status_code == 302
    clock.shift(timedelta(seconds=STEP_S + 1))
    sign_in(second, user)
    assert "was used before" in second.post(CODE, {"code": code}).content.decode()


def test_the_code_that_switched_it_on_opens_nothing_any_more(client: Client, user: User) -> None:
    secret, _ = switch_on(client, user)
    visitor = Client()
    sign_in(visitor, user)
    assert visitor.post(CODE, {"code": code_at(secret)}).status_code == 200


def test_a_recovery_code_lets_in_once_and_the_log_says_so(client: Client, user: User) -> None:
    _, codes = switch_on(client, user)
    assert len(set(codes)) == 10
    for location in ("/sites/", ""):
        visitor = Client()
        sign_in(visitor, user)
        assert visitor.post(CODE, {"code": codes[3]}).headers.get("Location", "") == location
        told = "That recovery code is used up; 9 left" in visitor.get("/profile/", follow=True).content.decode()
        assert told is bool(location)
    assert ("sign_in", {"with": "a recovery code"}) in acts()
    assert "9 recovery codes left" in client.get("/profile/").content.decode()


def test_recovery_codes_are_shown_once_with_a_file_of_them(client: Client, user: User) -> None:
    client.force_login(user)
    client.post(AGAIN + f"?next={ON}", {"password": PASSWORD})
    client.get(ON)
    secret = client.session["mfa.totp.secret"]
    answer = client.post(ON, {"code": code_at(secret)}, follow=True)
    page = answer.content.decode()
    codes = codes_on(page)
    assert "no-store" in answer.headers["Cache-Control"]
    file = re.search(r'href="(data:text/plain[^"]+)" download=', page)
    assert file is not None
    assert unquote(file[1]).split()[-10:] == codes
    again = client.get(CODES).content.decode()
    assert codes_on(again) == []
    assert not any(code in again for code in codes)
    assert "10 of 10 can still be used" in again


def test_new_recovery_codes_end_the_old_ones(client: Client, user: User) -> None:
    _, old = switch_on(client, user)
    page = client.post(NEW_CODES, follow=True).content.decode()
    new = codes_on(page)
    assert len(new) == 10
    assert not set(new) & set(old)
    for code, location in ((old[0], ""), (new[0], "/sites/")):
        visitor = Client()
        sign_in(visitor, user)
        assert visitor.post(CODE, {"code": code}).headers.get("Location", "") == location
    assert ("renew_recovery_codes", {}) in acts()


def test_it_is_switched_off_with_the_password_again(client: Client, user: User, clock: time_machine.Traveller) -> None:
    switch_on(client, user)
    clock.shift(timedelta(minutes=6))
    assert client.post(OFF).headers["Location"].startswith(AGAIN)
    assert "Incorrect password" in client.post(AGAIN + f"?next={OFF}", {"password": "not it"}).content.decode()
    assert client.get(OFF).headers["Location"].startswith(AGAIN)
    page = client.post(AGAIN + f"?next={OFF}", {"password": PASSWORD}, follow=True).content.decode()
    assert "Your app is asked for no codes any more" in page
    assert "Off: whoever knows your password gets in" in page
    assert not Authenticator.objects.exists()
    assert sign_in(Client(), user) == "/sites/"
    assert [action for action, _ in acts()] == [
        *("enable_second_factor", "refuse_sign_in", "disable_second_factor", "sign_in")
    ]


def test_guessing_codes_is_stopped_after_a_few_and_counted_in_one_line(client: Client, user: User) -> None:
    secret, _ = switch_on(client, user)
    visitor = Client()
    sign_in(visitor, user)
    for _ in range(7):
        page = visitor.post(CODE, {"code": "12345"}).content.decode()
    assert "Too many failed login attempts" in page
    assert "Too many failed login attempts" in visitor.post(CODE, {"code": code_at(secret, 1)}).content.decode()
    assert acts()[1:] == [
        (
            "refuse_sign_in",
            {
                "email": user.email,
                "tries_within_an_hour": 8,
                "of_these_right_password_wrong_code": 5,
                "of_these_over_the_limit": 3,
            },
        )
    ]


def test_who_changes_their_mind_at_the_code_comes_back_to_the_sign_in(client: Client, user: User) -> None:
    switch_on(client, user)
    visitor = Client()
    sign_in(visitor, user)
    assert visitor.get("/account/login/").headers["Location"] == CODE
    assert visitor.post("/account/logout/").headers["Location"] == "/account/login/"
    assert visitor.get("/account/login/").status_code == 200


def test_a_new_password_by_mail_takes_nothing_of_it_away(client: Client, user: User) -> None:
    switch_on(client, user)
    user.set_password("another fine phrase")
    user.save()
    assert sign_in(Client(), user, password="another fine phrase") == CODE


def test_programs_go_on_with_their_tokens(client: Client, user: User, alice: Member) -> None:
    wanted = NewToken(name="ci", role=Role.VIEWER, scopes=frozenset({Scope.READ}), life=timedelta(days=1))
    made = create_token(actor=user, organisation=alice.organisation, wanted=wanted)
    switch_on(client, user)
    assert Client().get("/api/v1/sites", headers={"Authorization": f"Bearer {made.secret}"}).status_code == 200


def test_staff_are_asked_for_a_code_before_the_admin_opens(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    switch_on(client, user)
    visitor = Client()
    assert visitor.get("/admin/login/", follow=True).request["PATH_INFO"] == "/account/login/"
    assert sign_in(visitor, user, next="/admin/") == CODE
    assert visitor.get("/admin/").status_code == 302


def test_what_is_stored_of_it_is_sealed(client: Client, user: User) -> None:
    secret, codes = switch_on(client, user)
    kept = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert len(Authenticator.objects.all()) == 2
    assert not any(text in kept for text in (secret, *codes))


def test_who_has_lost_the_key_is_told_who_can_help(client: Client, user: User, settings: Settings) -> None:
    secret, _ = switch_on(client, user)
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    visitor = Client()
    sign_in(visitor, user)
    page = visitor.post(CODE, {"code": code_at(secret, 1)}).content.decode()
    assert "No key of FIRSTBYTE_FERNET_KEYS opens your second factor" in page
    assert "10 recovery codes left" in client.get("/profile/").content.decode()
    assert client.get(NEW_CODES).status_code == 200


def test_the_operator_lets_in_who_has_lost_everything_and_the_log_says_so(client: Client, user: User) -> None:
    switch_on(client, user)
    call_command("second_factor_off", "Alice@acme.example")
    assert sign_in(Client(), user) == "/sites/"
    entry = AuditEntry.objects.get(action="remove_second_factor")
    assert (entry.actor, entry.detail) == (None, {"email": user.email})
    for email, sentence in ((user.email, "has no second factor"), ("nobody@acme.example", "Nobody has the address")):
        with pytest.raises(CommandError, match=sentence):
            call_command("second_factor_off", email)


def test_who_manages_members_sees_who_has_one_and_others_do_not(
    client: Client, user: User, bob: Member, vera: Member
) -> None:
    switch_on(Client(), user)
    client.force_login(join("anna", Role.ADMIN, "acme").user)
    page = client.get("/members/").content.decode()
    cells = re.findall(r'data-label="Second factor">(?:<[^>]+>)?(\w+)', page)
    assert cells == ["on", "off", "off", "off"]
    for member in (bob, vera):
        client.force_login(member.user)
        assert "Second factor" not in client.get("/members/").content.decode()


def test_nobody_sees_or_changes_that_of_somebody_else(client: Client, user: User, bob: Member) -> None:
    switch_on(Client(), user)
    bob.user.set_password(PASSWORD)
    bob.user.save()
    client.force_login(bob.user)
    client.post(AGAIN + f"?next={OFF}", {"password": PASSWORD})
    assert "Off: whoever knows your password" in client.get("/profile/").content.decode()
    assert [client.post(page).status_code for page in (OFF, CODES)] == [404, 405]
    assert client.get(CODES).status_code == 404
    client.post(NEW_CODES)
    assert Authenticator.objects.filter(user=user).count() == 2


def test_its_pages_are_shut_to_who_is_not_signed_in(client: Client, db: None) -> None:
    for page in (ON, OFF, AGAIN, CODES, NEW_CODES, "/account/second-factor/"):
        for answer in (client.get(page), client.post(page)):
            assert answer.headers["Location"].startswith("/account/login/"), page
    assert client.get(CODE).headers["Location"] == "/account/login/"


def test_what_comes_too_often_from_one_address_is_counted_without_being_looked_at(client: Client, user: User) -> None:
    answers = [client.post("/account/login/", {"login": user.email, "password": "not it"}) for _ in range(31)]
    assert answers[-1].status_code == 429
    assert "Too many tries" in answers[-1].content.decode()
    client.post("/account/login/", {"login": "\0", "password": "not it"})
    ((action, detail),) = acts()
    assert action == "refuse_sign_in"
    assert (detail["tries_within_an_hour"], detail["of_these_over_the_limit"]) == (31, 26)
