from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from backend.accounts import actions, queries, sign_ins
from backend.accounts.models import AuditEntry, Membership, User
from backend.accounts.permissions import Permission, Role, allows
from backend.cast import Member
from backend.tests.side_by_side import both_having_read


def test_a_new_member_gets_a_password_that_is_told_once(alice: Member) -> None:
    invited = actions.add_member(
        actor=alice.user, organisation=alice.organisation, email="New@Acme.example", role=Role.MEMBER
    )
    assert invited.password is not None
    user = User.objects.get(email="new@acme.example")
    assert user.check_password(invited.password)
    assert invited.password not in str(AuditEntry.objects.values())


def test_someone_with_an_account_keeps_their_password(alice: Member, charlie: Member) -> None:
    sign_ins.change_password(actor=charlie.user, password="a fine long phrase", by_mail=True)
    invited = actions.add_member(
        actor=alice.user, organisation=alice.organisation, email=charlie.user.email, role=Role.VIEWER
    )
    assert invited.password is None
    assert {one.slug for one in queries.organisations_of(charlie.user)} == {"acme", "globex"}


def test_who_made_an_account_for_somebody_does_not_come_into_another_organisation_with_it(
    alice: Member, charlie: Member
) -> None:
    def invite(host: Member) -> actions.Invited:
        email = "boss@acme.example"
        return actions.add_member(actor=host.user, organisation=host.organisation, email=email, role=Role.ADMIN)

    made = invite(charlie)
    assert made.password is not None, "charlie knows it"
    actions.remove_member(actor=charlie.user, membership=made.membership)
    with pytest.raises(actions.UnprovedError, match="Ask them to choose a new password"):
        invite(alice)
    user = made.membership.user
    sign_ins.change_password(actor=user, password="known to whoever made it", by_mail=False)
    with pytest.raises(actions.UnprovedError):
        invite(alice)
    sign_ins.change_password(actor=user, password="known to the boss alone", by_mail=True)
    assert invite(alice).membership.user == user


def test_nobody_is_a_member_twice(alice: Member, bob: Member) -> None:
    with pytest.raises(actions.AlreadyMemberError):
        actions.add_member(actor=alice.user, organisation=alice.organisation, email=bob.user.email, role=Role.ADMIN)


def test_members_are_bounded(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_MEMBERS", 1)
    with pytest.raises(actions.MemberError, match="no more can be added"):
        actions.add_member(actor=alice.user, organisation=alice.organisation, email="x@acme.example", role=Role.VIEWER)


def test_the_last_owner_stays(alice: Member, bob: Member) -> None:
    with pytest.raises(actions.LastOwnerError):
        actions.change_role(actor=alice.user, membership=alice.membership, role=Role.ADMIN)
    with pytest.raises(actions.LastOwnerError):
        actions.remove_member(actor=alice.user, membership=alice.membership)
    actions.change_role(actor=alice.user, membership=bob.membership, role=Role.OWNER)
    actions.change_role(actor=alice.user, membership=alice.membership, role=Role.ADMIN)
    assert Membership.objects.get(pk=alice.membership.pk).role == "admin"


def test_only_expired_sessions_are_forgotten(db: None) -> None:
    now = timezone.now()
    for key, hours in (("old", -1), ("new", 1)):
        Session.objects.create(session_key=key, session_data="", expire_date=now + timedelta(hours=hours))
    assert actions.forget_sessions(now=now) == 1
    assert Session.objects.get().session_key == "new"


def test_an_organisation_is_made_once(db: None) -> None:
    first = actions.create_organisation(actor=None, name="Acme Ltd")
    assert actions.create_organisation(actor=None, name="acme ltd") == first


@pytest.mark.parametrize(
    ("role", "granted"),
    [
        (Role.VIEWER, {Permission.READ}),
        (Role.MEMBER, {Permission.READ, Permission.EDIT_SITES, Permission.EDIT_ALERTS}),
        (Role.ADMIN, set(Permission) - {Permission.MANAGE_ORGANISATION}),
        (Role.OWNER, set(Permission)),
    ],
)
def test_each_role_includes_the_ones_below(role: Role, granted: set[Permission]) -> None:
    assert {permission for permission in Permission if allows(role, permission)} == granted


def test_the_chosen_organisation_counts_only_for_its_members(alice: Member, charlie: Member) -> None:
    mine = queries.membership_of(alice.user, charlie.organisation.public_id)
    assert mine == alice.membership


@pytest.mark.django_db(transaction=True)
def test_of_two_organisations_that_add_a_new_person_at_once_one_is_told_of_the_others_account(
    alice: Member, charlie: Member
) -> None:
    homes = (alice.organisation, charlie.organisation)

    def add(number: int) -> None:
        actions.add_member(actor=None, organisation=homes[number], email="dora@new.example", role=Role.MEMBER)

    refused = both_having_read('SELECT "accounts_user"', add)
    assert [type(error) for error in refused] == [actions.UnprovedError]
    assert User.objects.filter(email="dora@new.example").count() == 1
