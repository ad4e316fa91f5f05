"""Passkeys: made under *Your account*, enough to sign in, and a second factor after the password."""

import json
import re
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator as Kept
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from backend.accounts import sign_ins
from backend.accounts.models import User
from backend.accounts.passkeys import MAX_PASSKEYS, home
from backend.cast import Member
from backend.web.tests.authenticator import HOME, ORIGIN, Authenticator
from backend.web.tests.test_second_factor import AGAIN, CODE, OFF, PASSWORD, acts, codes_on, sign_in, switch_on

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("passkey")]

ADD, DOOR = "/account/passkeys/add/", "/account/passkeys/sign-in/"
NOT_KNOWN = "This passkey is not known here"


@pytest.fixture
def user(alice: Member) -> User:
    alice.user.set_password(PASSWORD)
    alice.user.save()
    return alice.user


def options_on(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="passkey-options" type="application/json">(.*?)</script>', page)
    assert found is not None
    options: dict[str, Any] = json.loads(found[1])
    return options


def add(client: Client, user: User, passkey: Authenticator, name: str = "My phone", **said: Any) -> str:
    """The page that comes after."""
    client.force_login(user)
    client.post(AGAIN + f"?next={ADD}", {"password": PASSWORD})
    made = passkey.made(options_on(client.get(ADD).content.decode()), **said)
    fields = {"name": name, "credential": json.dumps(made), "passwordless": "True"}
    return client.post(ADD, fields, follow=True).content.decode()


def asked(visitor: Client) -> dict[str, Any]:
    options: dict[str, Any] = visitor.get(DOOR, headers={"Accept": "application/json"}).json()["request_options"]
    return options


def show(visitor: Client, credential: object, **fields: str) -> str:
    """Where it leads."""
    answer = visitor.post(DOOR, {"credential": json.dumps(credential)} | fields)
    assert answer.status_code == 302
    return answer.headers.get("Location", "")


def test_it_is_made_after_the_password_and_lets_in_alone(client: Client, user: User, passkey: Authenticator) -> None:
    client.force_login(user)
    assert client.get(ADD).headers["Location"].startswith(AGAIN)
    assert len(codes_on(add(client, user, passkey))) == 10
    visitor = Client()
    assert show(visitor, passkey.shown(asked(visitor)), next="/regions/") == "/regions/"
    assert visitor.get("/sites/").status_code == 200
    assert acts() == [("add_passkey", {"name": "My phone"}), ("sign_in", {"by": "a passkey"})]
    page = visitor.get("/profile/").content.decode()
    assert "My phone" in page
    assert "last used" in page


def test_it_asks_for_a_key_that_stays_and_for_a_finger(client: Client, user: User) -> None:
    client.force_login(user)
    client.post(AGAIN + f"?next={ADD}", {"password": PASSWORD})
    options = options_on(client.get(ADD).content.decode())["publicKey"]
    assert options["rp"] == {"id": HOME, "name": "Firstbyte"}
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert asked(Client())["publicKey"]["userVerification"] == "required"


def test_after_the_password_it_or_a_recovery_code_is_asked_for(
    client: Client, user: User, passkey: Authenticator
) -> None:
    codes = codes_on(add(client, user, passkey))
    visitor = Client()
    assert sign_in(visitor, user, next="/regions/") == CODE
    options = options_on(visitor.get(CODE).content.decode())
    answer = visitor.post(CODE, {"credential": json.dumps(passkey.shown(options))})
    assert answer.headers["Location"] == "/regions/"
    other = Client()
    sign_in(other, user)
    assert "app shows" not in other.get(CODE).content.decode()
    assert other.post(CODE, {"code": codes[0]}).headers["Location"] == "/sites/"
    assert [detail for action, detail in acts() if action == "sign_in"] == [
        {"with": "a passkey"},
        {"with": "a recovery code"},
    ]


def test_a_wrong_one_after_the_password_is_told_and_stopped_after_a_few(
    client: Client, user: User, passkey: Authenticator
) -> None:
    add(client, user, passkey)
    stranger, visitor = Authenticator(home=HOME, origin=ORIGIN), Client()
    sign_in(visitor, user)
    for _ in range(6):
        options = options_on(visitor.get(CODE).content.decode())
        page = visitor.post(CODE, {"credential": json.dumps(stranger.shown(options))}).content.decode()
        assert NOT_KNOWN in page or "Too many failed login attempts" in page
    ((_, detail),) = acts()[1:]
    assert detail == {
        "email": user.email,
        "tries_within_an_hour": 6,
        "of_these_right_password_wrong_passkey": 5,
        "of_these_over_the_limit": 1,
    }


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"origin": "https://evil.example"}, {}),
        ({"origin": f"https://evil.{HOME}"}, {}),
        ({"home": "evil.example"}, {}),
        ({"verifies": False}, {}),
        ({}, {"type": "webauthn.create"}),
        ({}, {"challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}),
        ({"credential_id": b"another"}, {}),
    ],
    ids=["another site", "a neighbour", "another home", "no finger", "another act", "another challenge", "another key"],
)
def test_what_was_not_said_here_and_now_opens_nothing(
    client: Client, user: User, passkey: Authenticator, changed: dict[str, Any], said: dict[str, Any]
) -> None:
    add(client, user, passkey)
    fields = {name: getattr(passkey, name) for name in ("home", "origin", "key", "credential_id", "owner")}
    visitor = Client()
    shown = Authenticator(**fields | changed).shown(asked(visitor), **said)
    assert show(visitor, shown) == "/account/login/"
    assert NOT_KNOWN in visitor.get("/account/login/").content.decode()
    assert visitor.get("/sites/").status_code == 302


def test_what_was_shown_once_opens_nothing_any_more(client: Client, user: User, passkey: Authenticator) -> None:
    add(client, user, passkey)
    visitor, thief = Client(), Client()
    shown = passkey.shown(asked(visitor))
    asked(thief)
    assert show(thief, shown) == "/account/login/"
    assert show(visitor, shown) == "/sites/"
    visitor.post("/account/logout/")
    assert show(visitor, shown) == "/account/login/"


def test_nobody_comes_in_as_somebody_else(client: Client, user: User, bob: Member, passkey: Authenticator) -> None:
    add(client, user, passkey)
    add(Client(), bob.user, of_bob := Authenticator(home=HOME, origin=ORIGIN))
    visitor = Client()
    for owner in (of_bob.owner, "OTg3NjU0MzIx", ""):
        passkey.owner = owner
        assert show(visitor, passkey.shown(asked(visitor))) == "/account/login/"


def test_a_closed_account_stays_closed(client: Client, user: User, passkey: Authenticator) -> None:
    add(client, user, passkey)
    User.objects.filter(pk=user.pk).update(is_active=False)
    visitor = Client()
    assert show(visitor, passkey.shown(asked(visitor))) == "/account/inactive/"
    assert visitor.get("/sites/").status_code == 302


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"verifies": False}, {}), ({"origin": "https://evil.example"}, {}), ({}, {"type": "webauthn.get"})],
    ids=["no finger", "another site", "another act"],
)
def test_none_is_kept_that_was_not_made_here_for_a_finger(
    client: Client, user: User, changed: dict[str, Any], said: dict[str, Any]
) -> None:
    page = add(client, user, Authenticator(**{"home": HOME, "origin": ORIGIN} | changed), **said)
    assert "Try once more" in page
    assert not Kept.objects.exists()


def test_so_many_are_kept_and_each_has_a_name(client: Client, user: User) -> None:
    for number in range(MAX_PASSKEYS):
        assert "no more are kept" not in add(client, user, Authenticator(home=HOME, origin=ORIGIN), name="")
        assert f"Passkey {number + 1}" in client.get("/profile/").content.decode()
    assert "no more are kept" in add(client, user, Authenticator(home=HOME, origin=ORIGIN))
    assert Kept.objects.filter(type=Kept.Type.WEBAUTHN).count() == MAX_PASSKEYS


def test_a_name_is_one_line(client: Client, user: User, passkey: Authenticator) -> None:
    assert "one line" in add(client, user, passkey, name="a\u202eb")
    assert not Kept.objects.exists()


def test_the_last_one_that_goes_takes_the_recovery_codes_along(
    client: Client, user: User, passkey: Authenticator
) -> None:
    add(client, user, passkey)
    kept = Kept.objects.get(type=Kept.Type.WEBAUTHN)
    remove = f"/account/passkeys/{kept.pk}/remove/"
    assert "whoever knows your password gets in then" in client.get(remove).content.decode()
    client.post(remove)
    assert not Kept.objects.exists()
    assert sign_in(Client(), user) == "/sites/"
    assert ("remove_passkey", {"name": "My phone"}) in acts()
    visitor = Client()
    assert show(visitor, passkey.shown(asked(visitor))) == "/account/login/"


def test_codes_of_an_app_and_passkeys_stand_side_by_side(client: Client, user: User, passkey: Authenticator) -> None:
    add(client, user, passkey)
    switch_on(client, user)
    assert "a code of your app, or for a passkey" in client.get("/profile/").content.decode()
    assert "asked for a passkey or a recovery code" in client.get(OFF).content.decode()
    client.post(OFF, follow=True)
    assert "after your password you are asked for a passkey" in client.get("/profile/").content.decode()
    assert sign_in(Client(), user) == CODE


def test_nobody_removes_that_of_somebody_else(client: Client, user: User, bob: Member, passkey: Authenticator) -> None:
    add(client, user, passkey)
    kept = Kept.objects.get(type=Kept.Type.WEBAUTHN)
    bob.user.set_password(PASSWORD)
    bob.user.save()
    thief = Client()
    thief.force_login(bob.user)
    thief.post(AGAIN, {"password": PASSWORD})
    assert thief.post(f"/account/passkeys/{kept.pk}/remove/").status_code == 404
    assert Kept.objects.filter(pk=kept.pk).exists()


def test_one_that_was_made_before_the_owner_came_is_worth_nothing_once_they_have(
    client: Client, user: User, passkey: Authenticator
) -> None:
    """Whoever made the account knows its first password, and could leave a way in for later."""
    add(client, user, passkey)
    sign_ins.prove_by_provider(user=user)
    assert not Kept.objects.exists()


def test_one_that_its_owner_made_outlasts_a_new_password_by_mail(
    client: Client, user: User, passkey: Authenticator
) -> None:
    User.objects.filter(pk=user.pk).update(proved_at=timezone.now())
    user.refresh_from_db()
    add(client, user, passkey)
    sign_ins.change_password(actor=user, password="another fine phrase", by_mail=True)
    assert Kept.objects.filter(type=Kept.Type.WEBAUTHN).exists()


def test_a_first_password_by_mail_ends_those_that_were_made_before_it(
    client: Client, user: User, passkey: Authenticator
) -> None:
    add(client, user, passkey)
    switch_on(client, user)
    sign_ins.change_password(actor=user, password="another fine phrase", by_mail=True)
    assert set(Kept.objects.values_list("type", flat=True)) == {Kept.Type.TOTP, Kept.Type.RECOVERY_CODES}


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://watch.example", "watch.example"),
        ("https://watch.example:8443", "watch.example"),
        ("http://localhost:8800", "localhost"),
        ("http://watch.localhost:8800", "watch.localhost"),
        ("http://watch.example", None),
        ("http://127.0.0.1:8800", None),
        ("https://192.0.2.7", None),
        ("https://[2001:db8::1]", None),
    ],
)
def test_they_are_offered_where_browsers_make_them(
    client: Client, user: User, settings: Settings, base_url: str, name: str | None
) -> None:
    settings.BASE_URL = base_url
    assert home() == name
    assert ("Sign in with a passkey" in client.get("/account/login/").content.decode()) is (name is not None)
    client.force_login(user)
    assert ("Browsers make them only" in client.get("/profile/").content.decode()) is (name is None)
    assert (client.get(ADD).status_code == 404) is (name is None)


def test_asking_too_often_is_stopped(db: None) -> None:
    client = Client(REMOTE_ADDR="192.0.2.1")
    with time_machine.travel(timezone.now(), tick=False):
        statuses = [client.get(DOOR, headers={"Accept": "application/json"}).status_code for _ in range(61)]
    assert (set(statuses[:-1]), statuses[-1]) == ({200}, 429)


def test_who_opens_the_address_by_hand_is_led_to_the_door(client: Client) -> None:
    assert client.get(DOOR).headers["Location"] == "/account/login/"


COUNT = count(1)
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=3)
)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_in_place_of_one_is_refused_with_a_sentence(user: User, data: st.DataObject) -> None:
    # Each from an address of its own: they are more than one may send.
    visitor = Client(REMOTE_ADDR=f"10.0.0.{next(COUNT)}")
    passkey = Authenticator(home=HOME, origin=ORIGIN)
    shown: Any = deepcopy(passkey.shown(asked(visitor)))
    place = data.draw(st.sampled_from([shown, shown["response"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(HOSTILE)
    assert show(visitor, shown) == "/account/login/"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "7", "[" * 20_000, '{"response": {}}', "x" * 30_000, '{"response": []}']
)
def test_what_is_no_credential_at_all_is_refused_with_a_sentence(client: Client, text: str) -> None:
    assert client.post(DOOR, {"credential": text}).headers["Location"] == "/account/login/"
    assert NOT_KNOWN in client.get("/account/login/").content.decode()
