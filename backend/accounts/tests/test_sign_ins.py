"""Who came in, went, was refused, or has another password: written in every organisation of theirs, and in no other."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from backend.accounts import sign_ins
from backend.accounts.audit import acting_from
from backend.accounts.models import AuditEntry, Membership, User
from backend.accounts.permissions import Role
from backend.cast import Member

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        yield clock


def refuse(email: str, address: str | None, times: int = 1) -> None:
    for _ in range(times):
        with acting_from(address):
            sign_ins.note_refusal(email=email)


def details() -> list[tuple[str | None, dict[str, object]]]:
    return [(entry.address, entry.detail) for entry in AuditEntry.objects.order_by("at", "pk")]


def test_each_organisation_of_a_person_is_told_and_no_other(alice: Member, charlie: Member, bob: Member) -> None:
    Membership.objects.create(user=alice.user, organisation=charlie.organisation, role=Role.VIEWER)
    sign_ins.note_sign_in(actor=alice.user)
    sign_ins.note_sign_out(actor=alice.user)
    sign_ins.note_sign_in(actor=bob.user)
    told = AuditEntry.objects.order_by("pk").values_list("organisation", "actor", "action", "object_type", "object_id")
    both = {alice.organisation.pk, charlie.organisation.pk}
    assert {row for row in told if row[1] == alice.user.pk} == {
        (home, alice.user.pk, action, "user", str(alice.user.pk)) for home in both for action in ("sign_in", "sign_out")
    }
    assert [row[0] for row in told if row[1] == bob.user.pk] == [alice.organisation.pk]


def test_a_new_password_and_the_word_of_it_come_together_without_the_password(alice: Member) -> None:
    sign_ins.change_password(actor=alice.user, password="another fine phrase", by_mail=True)
    entry = AuditEntry.objects.get()
    assert User.objects.get(pk=alice.user.pk).check_password("another fine phrase")
    assert (entry.action, entry.detail) == ("change_password", {"with": "a link sent by mail"})


def test_nothing_is_kept_of_an_address_that_is_nobodys(alice: Member) -> None:
    User.objects.create_user("alone@nowhere.example", "a password of theirs")
    for email in ("nobody@acme.example", "alone@nowhere.example", ""):
        refuse(email, "203.0.113.9")
    assert not AuditEntry.objects.exists()


def test_tries_from_one_place_are_counted_in_one_entry_an_hour(alice: Member, clock: time_machine.Traveller) -> None:
    refuse(alice.user.email.upper(), "203.0.113.9", 40)
    refuse(alice.user.email, None, 2)
    clock.shift(timedelta(minutes=61))
    refuse(alice.user.email, "203.0.113.9")
    known = {"email": alice.user.email}
    assert details() == [
        ("203.0.113.9", known | {"tries_within_an_hour": 40}),
        (None, known | {"tries_within_an_hour": 2}),
        ("203.0.113.9", known | {"tries_within_an_hour": 1}),
    ]


def test_what_was_refused_for_another_reason_than_the_password_is_counted_among_all(alice: Member) -> None:
    for number in range(sign_ins.REFUSALS_AN_HOUR):
        refuse(alice.user.email, f"203.0.113.{number}")
    with acting_from("203.0.113.99"):
        sign_ins.note_refusal(email=alice.user.email, why=sign_ins.WRONG_CODE)
        sign_ins.note_refusal(email=alice.user.email, why=sign_ins.OVER_THE_LIMIT)
    known = {"email": alice.user.email, "tries_within_an_hour": 1}
    told = {"tries_from_other_addresses": 2, sign_ins.WRONG_CODE: 1, sign_ins.OVER_THE_LIMIT: 1}
    assert details()[-1][1] == known | told


def test_tries_from_everywhere_fill_no_more_than_a_few_lines_an_hour(alice: Member, bob: Member) -> None:
    for number in range(200):
        refuse(alice.user.email, f"203.0.113.{number}")
    refuse(bob.user.email, "203.0.113.9")
    entries = details()
    assert len(entries) == sign_ins.REFUSALS_AN_HOUR + 1
    assert entries[-2][1]["tries_from_other_addresses"] == 200 - sign_ins.REFUSALS_AN_HOUR
    assert sum(int(str(detail.get("tries_from_other_addresses", 0))) for _, detail in entries) == 190
    assert entries[-1][1] == {"email": bob.user.email, "tries_within_an_hour": 1}
