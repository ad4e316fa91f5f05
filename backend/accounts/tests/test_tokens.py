"""Tokens of the API: what is kept of them, how long they are good, and what the audit log says of their acts."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from backend.accounts import actions, queries
from backend.accounts.audit import acting_with
from backend.accounts.models import ApiToken, AuditEntry, Membership
from backend.accounts.permissions import Permission, Role, Scope, allows
from backend.accounts.tokens import KIND, is_token, new_secret
from backend.cast import Member

WANTED = actions.NewToken(
    name="CI", role=Role.MEMBER, scopes=frozenset({Scope.READ, Scope.GATES}), life=timedelta(days=90)
)


def make(member: Member, wanted: actions.NewToken = WANTED) -> actions.MadeToken:
    return actions.create_token(actor=member.user, organisation=member.organisation, wanted=wanted)


def test_the_secret_is_kept_nowhere(alice: Member) -> None:
    made = make(alice)
    assert made.secret.startswith(KIND)
    assert made.secret not in str(ApiToken.objects.values()) + str(AuditEntry.objects.values()) + repr(made)
    assert made.secret.startswith(made.token.prefix)


def test_a_token_is_found_by_its_secret_in_one_statement(
    alice: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made = make(alice)
    with django_assert_num_queries(1):
        found = queries.token_by_secret(made.secret, now=timezone.now())
    assert found is not None
    assert (found.organisation, found.scopes) == (alice.organisation, ["gates", "read"])


def test_what_is_no_token_does_not_reach_the_database(
    alice: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    secret = make(alice).secret
    typo = secret[:20] + ("a" if secret[20] != "a" else "b") + secret[21:]
    with django_assert_num_queries(0):
        for text in ("", "fb_", typo, secret + "0", secret[:-1], "x" * 10_000, KIND + "é" * 49):
            assert queries.token_by_secret(text, now=timezone.now()) is None, text


@given(st.text(max_size=80))
def test_no_text_looks_like_a_token_by_chance(text: str) -> None:
    assert not is_token(text)
    assert not is_token(KIND + text)
    assert is_token(new_secret())


def test_a_revoked_token_is_refused_at_once(alice: Member) -> None:
    made = make(alice)
    actions.revoke_token(actor=alice.user, token=made.token)
    assert queries.token_by_secret(made.secret, now=timezone.now()) is None
    assert queries.tokens(alice.organisation) == []
    assert AuditEntry.objects.filter(action="revoke_token", object_id=made.token.public_id).exists()


def test_an_expired_token_is_refused_and_still_listed(alice: Member) -> None:
    made = make(alice)
    later = timezone.now() + timedelta(days=91)
    assert queries.token_by_secret(made.secret, now=later) is None
    assert queries.tokens(alice.organisation) == [made.token]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": " "}, "Give the token a name"),
        ({"name": "ci\nalice"}, "one line without control characters"),
        ({"name": "\x1b[2Kci"}, "one line without control characters"),
        ({"scopes": frozenset()}, "Choose what the token is for"),
        ({"role": Role.OWNER}, "cannot own an organisation"),
        ({"life": timedelta(days=367)}, "at most 366 days"),
        ({"life": timedelta(0)}, "at most 366 days"),
    ],
)
def test_a_token_that_would_be_wrong_is_not_made(alice: Member, change: dict[str, object], sentence: str) -> None:
    with pytest.raises(actions.TokenError, match=sentence):
        make(alice, replace(WANTED, **change))  # type: ignore[arg-type]  # keyword by keyword is what a test wants
    assert not ApiToken.objects.exists()


def test_tokens_are_bounded(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_TOKENS", 1)
    first = make(alice)
    with pytest.raises(actions.TokenError, match="revoke one"):
        make(alice)
    actions.revoke_token(actor=alice.user, token=first.token)
    make(alice)


def test_the_database_itself_refuses_a_token_that_owns(alice: Member) -> None:
    made = make(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=made.token.pk).update(role=Role.OWNER)


def test_last_use_is_noted_to_the_minute(alice: Member, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    token, now = make(alice).token, timezone.now()
    actions.note_token_use(token, address="203.0.113.9", now=now)
    token.refresh_from_db()
    assert (token.last_used_at, token.last_used_ip) == (now, "203.0.113.9")
    with django_assert_num_queries(0):
        actions.note_token_use(token, address="203.0.113.10", now=now + timedelta(seconds=59))
    actions.note_token_use(token, address="203.0.113.10", now=now + timedelta(seconds=61))
    token.refresh_from_db()
    assert token.last_used_ip == "203.0.113.10"


def test_what_a_token_does_is_in_the_log_with_its_name(alice: Member) -> None:
    made = make(alice)
    with acting_with(made.token):
        actions.create_organisation(actor=alice.user, name="Initech")
    actions.create_organisation(actor=alice.user, name="Hooli")
    entries = {
        entry.organisation.name: entry
        for entry in AuditEntry.objects.filter(action="create_organisation")
        if entry.organisation
    }
    assert entries["Initech"].detail["token"] == str(made.token)
    assert entries["Initech"].actor == alice.user
    assert "token" not in entries["Hooli"].detail


def test_a_token_outlives_the_membership_of_who_made_it(alice: Member) -> None:
    made = make(alice)
    Membership.objects.filter(user=alice.user).delete()
    alice.user.delete()
    found = queries.token_by_secret(made.secret, now=timezone.now())
    assert found is not None
    assert found.created_by is None


def test_admins_manage_tokens_and_members_do_not() -> None:
    assert {role for role in Role if allows(role, Permission.MANAGE_TOKENS)} == {Role.OWNER, Role.ADMIN}


def test_a_token_is_its_organisations_alone(alice: Member, charlie: Member) -> None:
    made = make(alice)
    assert queries.token(charlie.organisation, made.token.public_id) is None
    assert queries.token(alice.organisation, made.token.public_id) == made.token
