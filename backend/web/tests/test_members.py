import re

import pytest
from django.test import Client
from django.urls import reverse

from backend.accounts import sign_ins
from backend.accounts.models import Membership, User
from backend.accounts.permissions import Role
from backend.cast import Member, join

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna(alice: Member) -> Member:
    return join("anna", Role.ADMIN, "acme")


def send(client: Client, who: Member, name: str, *arguments: int, **fields: str) -> tuple[int, str]:
    client.force_login(who.user)
    response = client.post(reverse(f"web:{name}", args=arguments), fields, follow=True)
    return response.status_code, response.content.decode()


def test_a_new_member_can_sign_in_with_the_password_that_is_shown_once(client: Client, alice: Member) -> None:
    _, text = send(client, alice, "member_add", email="new@acme.example", role="member")
    found = re.search(r"<code[^>]*>(\w+)</code>", text)
    assert found is not None
    visitor = Client()
    visitor.post("/account/login/", {"login": "new@acme.example", "password": found[1]})
    assert "New@acme" not in text
    assert visitor.get("/sites/").status_code == 200


def test_somebody_with_an_account_keeps_their_password(client: Client, alice: Member, charlie: Member) -> None:
    sign_ins.change_password(actor=charlie.user, password="a fine long phrase", by_mail=True)
    _, text = send(client, alice, "member_add", email=charlie.user.email, role="viewer")
    assert "with the password they have" in text


def test_an_account_that_nobody_has_proved_is_not_let_in(client: Client, alice: Member, charlie: Member) -> None:
    status, text = send(client, alice, "member_add", email=charlie.user.email, role="viewer")
    assert (status, "Forgot your password?" in text) == (400, True)
    assert not alice.organisation.memberships.filter(user=charlie.user).exists()


def test_nobody_is_added_twice(client: Client, alice: Member, bob: Member) -> None:
    status, text = send(client, alice, "member_add", email=bob.user.email, role="viewer")
    assert (status, "is a member already" in text) == (400, True)


def test_a_role_is_changed(client: Client, anna: Member, bob: Member) -> None:
    send(client, anna, "member_role", bob.membership.pk, role="viewer")
    assert Membership.objects.get(pk=bob.membership.pk).role == "viewer"


def test_a_role_that_does_not_exist_is_not_found(client: Client, anna: Member, bob: Member) -> None:
    assert send(client, anna, "member_role", bob.membership.pk, role="emperor")[0] == 404


def test_only_an_owner_makes_or_unmakes_owners(client: Client, alice: Member, anna: Member, bob: Member) -> None:
    for name, arguments, fields in (
        ("member_role", [anna.membership.pk], {"role": "owner"}),
        ("member_role", [alice.membership.pk], {"role": "viewer"}),
        ("member_remove", [alice.membership.pk], {}),
        ("member_add", [], {"email": "x@acme.example", "role": "owner"}),
    ):
        assert send(client, anna, name, *arguments, **fields)[0] == 403, name
    assert send(client, alice, "member_role", bob.membership.pk, role="owner")[0] == 200


def test_nobody_is_offered_what_only_an_owner_may_do(client: Client, alice: Member, anna: Member, bob: Member) -> None:
    offered = '<option value="owner"'
    client.force_login(anna.user)
    text = client.get("/members/").content.decode()
    assert offered not in text
    for address in ("member_role", "member_remove"):
        assert reverse(f"web:{address}", args=[bob.membership.pk]) in text
        assert reverse(f"web:{address}", args=[alice.membership.pk]) not in text
    client.force_login(alice.user)
    text = client.get("/members/").content.decode()
    assert text.count(offered) == 4
    assert reverse("web:member_remove", args=[alice.membership.pk]) in text


def test_the_last_owner_cannot_leave(client: Client, alice: Member) -> None:
    _, text = send(client, alice, "member_remove", alice.membership.pk)
    assert "An organisation needs an owner" in text
    assert Membership.objects.filter(pk=alice.membership.pk).exists()


def test_nobody_is_removed_by_one_click(client: Client, alice: Member, bob: Member) -> None:
    client.force_login(alice.user)
    address = reverse("web:member_remove", args=[bob.membership.pk])
    assert f'href="{address}"' in client.get("/members/").content.decode()
    text = client.get(address).content.decode()
    assert f"Remove {bob.user.email}?" in text
    assert "They see nothing of Acme from then on" in text
    assert Membership.objects.filter(pk=bob.membership.pk).exists()


def test_what_a_new_member_needs_is_said_with_the_password(client: Client, alice: Member) -> None:
    _, text = send(client, alice, "member_add", email="new@acme.example", role="admin")
    assert "new@acme.example is an admin now" in text
    assert "/account/login/" in text
    assert "Nobody is written to" in text


def test_a_removed_member_sees_nothing_any_more(client: Client, alice: Member, bob: Member) -> None:
    send(client, alice, "member_remove", bob.membership.pk)
    client.force_login(bob.user)
    assert client.get("/sites/").status_code == 403
    assert User.objects.filter(pk=bob.user.pk).exists()


def test_a_member_reads_the_list_without_buttons(client: Client, bob: Member, alice: Member) -> None:
    client.force_login(bob.user)
    text = client.get("/members/").content.decode()
    assert alice.user.email in text
    assert "Remove" not in text
    assert "Add a member" not in text
