"""What is read of the audit log."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts import actions, audit_log
from backend.accounts.audit import acting_from, forget_acts, record
from backend.accounts.models import AuditEntry, Membership, User
from backend.accounts.permissions import Role
from backend.cast import Member

pytestmark = pytest.mark.django_db


def act(member: Member, actor: User | None, *, at: datetime | None = None) -> None:
    record("look", member.membership, actor=actor, organisation=member.organisation, name="x")
    if at is not None:
        AuditEntry.objects.filter(pk=AuditEntry.objects.latest("pk").pk).update(at=at)


def test_acts_come_newest_first_in_parts_that_neither_repeat_nor_lose_one(
    alice: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # Several at the very same moment: the time alone does not say where a part begins.
    now = timezone.now()
    for number in range(9):
        act(alice, alice.user, at=now - timedelta(seconds=number // 4))
    seen: list[audit_log.Act] = []
    before = None
    for _ in range(5):
        with django_assert_num_queries(1):
            part = audit_log.acts(alice.organisation, before=before, limit=2)
        seen += part
        before = (part[-1].at, part[-1].pk)
    assert len({one.pk for one in seen}) == 9
    assert [(one.at, one.pk) for one in seen] == sorted(((one.at, one.pk) for one in seen), reverse=True)


def test_they_can_be_those_of_one_person_of_the_service_itself_or_about_one_kind(alice: Member, bob: Member) -> None:
    for actor in (alice.user, bob.user, None):
        act(alice, actor)
    record("look", alice.organisation, actor=bob.user, organisation=alice.organisation)

    def found(who: str = "", object_type: str = "") -> list[tuple[str | None, str]]:
        acts = audit_log.acts(alice.organisation, who=who, object_type=object_type, limit=9)
        return [(one.who, one.object_type) for one in acts]

    assert found(who=bob.user.email) == [(bob.user.email, "organisation"), (bob.user.email, "membership")]
    assert found(who=audit_log.SERVICE) == [(None, "membership")]
    assert found(object_type="organisation", who=alice.user.email) == []
    assert found(object_type="organisation") == [(bob.user.email, "organisation")]


def test_nothing_of_another_organisation_is_read(alice: Member, charlie: Member) -> None:
    act(charlie, charlie.user)
    assert audit_log.acts(alice.organisation, limit=9) == []
    assert charlie.user.email not in audit_log.people(alice.organisation)


def test_what_is_too_old_is_forgotten_a_few_at_a_time_the_oldest_first(alice: Member, charlie: Member) -> None:
    now = timezone.now()
    for days in (1, 5, 7, 6, 9):
        act(charlie if days == 7 else alice, None, at=now - timedelta(days=days))
    before = now - timedelta(days=5, hours=12)
    forgotten = []
    while deleted := forget_acts(before=before, limit=2):
        forgotten.append((deleted, min(AuditEntry.objects.values_list("at", flat=True))))
    assert forgotten == [(2, now - timedelta(days=6)), (1, now - timedelta(days=5))]
    assert AuditEntry.objects.count() == 2


def test_who_left_can_still_be_asked_for(
    alice: Member, bob: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    act(alice, bob.user)
    Membership.objects.filter(pk=bob.membership.pk).delete()
    with django_assert_num_queries(1):
        assert audit_log.people(alice.organisation) == [alice.user.email, bob.user.email]


def test_an_act_says_where_its_request_came_from(alice: Member, bob: Member) -> None:
    with acting_from("203.0.113.9"):
        actions.change_role(actor=alice.user, membership=bob.membership, role=Role.VIEWER)
    actions.change_role(actor=alice.user, membership=bob.membership, role=Role.MEMBER)
    assert [one.address for one in audit_log.acts(alice.organisation, limit=9)] == [None, "203.0.113.9"]
