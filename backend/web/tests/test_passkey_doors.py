"""What somebody could try who has another's passkey, session or first password, and what people without one need."""

import json
from datetime import timedelta

import pytest
import time_machine
from allauth.mfa.models import Authenticator as Kept
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.utils import timezone

from backend.accounts import sign_ins
from backend.accounts.models import User
from backend.cast import Member
from backend.web.tests.authenticator import HOME, ORIGIN, Authenticator
from backend.web.tests.test_passkeys import ADD, add, options_on, show
from backend.web.tests.test_second_factor import CODE, PASSWORD, acts, codes_on, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(alice: Member) -> User:
    alice.user.set_password(PASSWORD)
    alice.user.save()
    return alice.user


def test_who_has_found_one_and_has_not_its_finger_does_not_come_in_by_what_their_own_account_was_asked(
    client: Client, user: User, bob: Member, passkey: Authenticator
) -> None:
    add(client, user, passkey)
    bob.user.set_password(PASSWORD)
    bob.user.save()
    add(Client(), bob.user, Authenticator(home=HOME, origin=ORIGIN))
    thief = Client()
    sign_in(thief, bob.user)
    asked_of_bob = options_on(thief.get(CODE).content.decode())
    passkey.verifies = False
    # By then the second step has run out, and the door is open again.
    with time_machine.travel(timezone.now() + timedelta(minutes=20)):
        assert show(thief, passkey.shown(asked_of_bob)) == "/account/login/"
        assert thief.get("/sites/").status_code == 302


def test_who_has_no_password_gets_recovery_codes_and_can_remove_it_again(
    client: Client, user: User, passkey: Authenticator
) -> None:
    user.set_unusable_password()
    user.save()
    client.force_login(user)
    made = passkey.made(options_on(client.get(ADD).content.decode()))
    fields = {"name": "", "credential": json.dumps(made), "passwordless": "True"}
    assert len(codes_on(client.post(ADD, fields, follow=True).content.decode())) == 10
    client.post(f"/account/passkeys/{Kept.objects.get(type=Kept.Type.WEBAUTHN).pk}/remove/")
    assert not Kept.objects.exists()


def test_the_log_tells_of_every_way_in_that_the_owners_first_proof_has_closed(
    client: Client, user: User, passkey: Authenticator
) -> None:
    """Whoever made the account can have connected themselves, too."""
    add(client, user, passkey)
    SocialAccount.objects.create(user=user, provider="sso", uid="who made it")
    sign_ins.change_password(actor=user, password="another fine phrase", by_mail=True)
    assert not SocialAccount.objects.exists()
    assert acts()[-3:] == [
        ("remove_passkey", {"name": "My phone"}),
        ("disconnect_single_sign_on", {}),
        ("change_password", {"with": "a link sent by mail"}),
    ]


def test_no_page_speaks_of_an_app_to_who_has_none(client: Client, user: User, passkey: Authenticator) -> None:
    assert "your app" not in add(client, user, passkey)
    visitor = Client()
    sign_in(visitor, user)
    assert "the app" not in visitor.post(CODE, {"code": "12345678"}).content.decode()
