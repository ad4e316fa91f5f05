"""What people tell the visitors of a status page."""

from datetime import datetime, timedelta

import pytest
import time_machine
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry, Organisation
from backend.alerts.tests.world import World, make_world
from backend.runs.tests.factories import NOW
from backend.status import announcing
from backend.status.actions import Wanted, create_status_page
from backend.status.announcing import (
    InvalidAnnouncementError,
    Said,
    announce,
    delete_announcement,
    update_announcement,
)
from backend.status.models import Announcement, AnnouncementStage, StatusPage, Update
from backend.status.queries import MAX_ANNOUNCEMENTS, PublicAnnouncement, public_page

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LOOKING = Said(stage=AnnouncementStage.INVESTIGATING, text="We look for it.\nOrders are kept.")
RESOLVED = Said(stage=AnnouncementStage.RESOLVED, text="It works again.")


@pytest.fixture
def world() -> World:
    return make_world("fra", now=NOW)


@pytest.fixture
def page(world: World) -> StatusPage:
    wanted = Wanted(title="Acme status", slug="acme", sites=[world.fleet.site.public_id])
    return create_status_page(actor=None, organisation=world.fleet.organisation, wanted=wanted)


def made(page: StatusPage, title: str = "Orders cannot be paid", said: Said = LOOKING) -> Announcement:
    return announce(actor=None, page=page, title=title, said=said)


def seen(now: datetime = NOW + HOUR) -> tuple[PublicAnnouncement, ...]:
    found = public_page("acme", now=now)
    assert found is not None
    return found.announcements


def test_guests_read_what_was_said_the_newest_first(page: StatusPage) -> None:
    with time_machine.travel(NOW, tick=False):
        announcement = made(page)
    with time_machine.travel(NOW + HOUR, tick=False):
        update_announcement(actor=None, announcement=announcement, said=RESOLVED)

    (one,) = seen()
    assert (one.title, one.is_open) == ("Orders cannot be paid", False)
    assert [(said.stage, said.at) for said in one.updates] == [
        (AnnouncementStage.RESOLVED, NOW + HOUR),
        (AnnouncementStage.INVESTIGATING, NOW),
    ]
    assert one.updates[1].text == LOOKING.text


def test_what_is_said_after_the_end_opens_it_again(page: StatusPage) -> None:
    announcement = made(page, said=RESOLVED)
    assert not seen()[0].is_open

    update_announcement(actor=None, announcement=announcement, said=LOOKING)

    assert seen()[0].is_open


def test_what_is_over_for_two_weeks_is_told_no_more_and_what_is_open_for_ever(page: StatusPage) -> None:
    with time_machine.travel(NOW - 30 * DAY, tick=False):
        made(page, "still open")
        made(page, "long over", RESOLVED)
    with time_machine.travel(NOW - 13 * DAY, tick=False):
        made(page, "over lately", RESOLVED)

    assert [one.title for one in seen(NOW)] == ["still open", "over lately"]


def test_what_is_open_is_told_however_much_was_resolved_since(page: StatusPage) -> None:
    made(page, "still open")
    for number in range(MAX_ANNOUNCEMENTS):
        made(page, f"over {number}", RESOLVED)

    told = seen()
    assert (len(told), told[0].title, told[1].title) == (MAX_ANNOUNCEMENTS, "still open", "over 49")


@pytest.mark.parametrize("end_of_line", ["\n", "\r\n", "\r", "\u2028", "\x0b", "\x85"])
def test_lines_end_as_lines_do_whoever_wrote_them(page: StatusPage, end_of_line: str) -> None:
    text = f"We look for it.{end_of_line}Orders are kept."

    made(page, said=Said(stage=AnnouncementStage.INVESTIGATING, text=text))

    assert Update.objects.get().text == "We look for it.\nOrders are kept."


def test_ends_of_lines_count_once_as_browsers_count_them(page: StatusPage) -> None:
    text = "\r\n".join(["x" * 99] * 20)

    made(page, said=Said(stage=AnnouncementStage.INVESTIGATING, text=text))

    assert len(Update.objects.get().text) == 1_999


@pytest.mark.parametrize(
    ("title", "text", "at_fault"),
    [
        (" ", "x", {"title"}),
        ("x" * 151, "x", {"title"}),
        ("two\nlines", "x", {"title"}),
        ("x", " \n ", {"text"}),
        ("x", "x" * 2_001, {"text"}),
        ("x", "turned \u202e round", {"text"}),
        ("x", "A line.\nturned \u202e round", {"text"}),
        ("", "", {"title", "text"}),
    ],
)
def test_what_cannot_be_told_is_refused_with_a_sentence_for_each_field(
    page: StatusPage, title: str, text: str, at_fault: set[str]
) -> None:
    with pytest.raises(InvalidAnnouncementError) as refused:
        made(page, title, Said(stage=AnnouncementStage.INVESTIGATING, text=text))

    assert set(refused.value.faults) == at_fault
    assert not Announcement.objects.exists()


def test_only_so_many_are_open_at_once(page: StatusPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "MAX_OPEN", 2)
    first = made(page)
    made(page)
    with pytest.raises(InvalidAnnouncementError):
        made(page)

    update_announcement(actor=None, announcement=first, said=RESOLVED)
    made(page)


def test_what_is_over_is_opened_again_only_where_there_is_room(
    page: StatusPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "MAX_OPEN", 1)
    over = made(page, said=RESOLVED)
    still_open = made(page)

    with pytest.raises(InvalidAnnouncementError) as refused:
        update_announcement(actor=None, announcement=over, said=LOOKING)
    assert set(refused.value.faults) == {"stage"}
    update_announcement(actor=None, announcement=over, said=RESOLVED)
    update_announcement(actor=None, announcement=still_open, said=LOOKING)

    update_announcement(actor=None, announcement=still_open, said=RESOLVED)
    update_announcement(actor=None, announcement=over, said=LOOKING)


def test_what_is_open_can_be_resolved_however_much_was_said_of_it(
    page: StatusPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "MAX_UPDATES", 1)
    announcement = made(page)

    update_announcement(actor=None, announcement=announcement, said=RESOLVED)

    assert Announcement.objects.get().ended_at is not None
    with pytest.raises(InvalidAnnouncementError):
        update_announcement(actor=None, announcement=announcement, said=RESOLVED)


def test_only_so_much_is_said_of_one(page: StatusPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "MAX_UPDATES", 2)
    announcement = made(page)
    update_announcement(actor=None, announcement=announcement, said=LOOKING)

    with pytest.raises(InvalidAnnouncementError) as refused:
        update_announcement(actor=None, announcement=announcement, said=LOOKING)
    assert set(refused.value.faults) == {"text"}


def test_of_what_is_over_the_newest_are_kept(page: StatusPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "MAX_KEPT", 2)
    made(page, "open")
    for number in range(4):
        made(page, f"over {number}", RESOLVED)

    assert list(Announcement.objects.order_by("pk").values_list("title", flat=True)) == ["open", "over 2", "over 3"]


def test_all_that_is_done_is_in_the_audit_log(page: StatusPage) -> None:
    announcement = made(page)
    update_announcement(actor=None, announcement=announcement, said=RESOLVED)
    delete_announcement(actor=None, announcement=announcement)

    acts = AuditEntry.objects.filter(object_type="announcement").order_by("pk")
    assert list(acts.values_list("action", "detail__name")) == [
        ("announce", "Orders cannot be paid"),
        ("update_announcement", "Orders cannot be paid"),
        ("delete_announcement", "Orders cannot be paid"),
    ]
    assert set(acts.values_list("organisation__name", flat=True)) == {page.organisation.name}
    assert not Update.objects.exists()


def test_other_pages_say_nothing_of_it(world: World, page: StatusPage) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    made(StatusPage.objects.create(organisation=other, slug="other", title="Other"))

    assert seen() == ()


def test_guests_cost_as_many_statements_however_much_was_said(
    page: StatusPage, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        announcement = made(page, str(number))
        update_announcement(actor=None, announcement=announcement, said=LOOKING)

    with django_assert_num_queries(14):
        seen()
