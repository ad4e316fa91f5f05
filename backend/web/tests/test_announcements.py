"""Telling the visitors of a status page something, and what they read."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from backend.instants import to_us
from backend.status.models import Announcement, AnnouncementStage, StatusPage, Update
from backend.status.queries import KNOWN_FOR, Condition, JudgedOutage, PublicAnnouncement, PublicUpdate
from backend.web.status_feed import MOST_ENTRIES, entries_of, feed_of
from backend.web.tests.test_findings import words
from backend.web.tests.test_status_page import AT, HOUR, page, site
from backend.web.tests.world import World, make_announcement, make_status_page

ADDRESS = "https://fb.example/status/acme/"
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def made(world: World, client: Client) -> StatusPage:
    client.force_login(world.member.user)
    cache.clear()
    return make_status_page(world)


def read(name: str = "status") -> str:
    return Client().get(reverse(f"web:{name}", args=["acme"])).content.decode()


@pytest.mark.django_db
def test_what_is_announced_is_read_by_guests_until_it_is_resolved(made: StatusPage, client: Client) -> None:
    form = {"title": "Orders <cannot> be paid", "stage": "investigating", "text": "We look for it.\nOrders are kept."}
    client.post(reverse("web:announcements", args=[made.public_id]), form)
    announcement = Announcement.objects.get()

    text = read()
    assert "Orders &lt;cannot&gt; be paid" in text
    assert "We look for it.<br>Orders are kept." in text
    assert "What was said lately" not in text

    address = reverse("web:announcement", args=[made.public_id, announcement.public_id])
    client.post(address, {"stage": "resolved", "text": "It works again."})
    cache.clear()
    assert "What was said lately" in read()
    told = words(client.get(address).content.decode())
    assert told.index("It works again.") < told.index("We look for it.")

    client.post(reverse("web:announcement_delete", args=[made.public_id, announcement.public_id]))
    cache.clear()
    assert "It works again." not in read()


@pytest.mark.django_db
def test_a_text_of_many_lines_may_be_as_long_as_the_browser_lets_it_be(made: StatusPage, client: Client) -> None:
    """Browsers count the end of a line as one character, and send two."""
    text = "\r\n".join(["x" * 99] * 20)

    client.post(reverse("web:announcements", args=[made.public_id]), {"title": "A", "stage": "resolved", "text": text})

    assert len(Update.objects.get().text) == 1_999


@pytest.mark.django_db
def test_who_says_more_does_not_open_again_what_is_resolved_without_choosing_so(
    made: StatusPage, client: Client
) -> None:
    announcement = make_announcement(made)
    address = reverse("web:announcement", args=[made.public_id, announcement.public_id])
    client.post(address, {"stage": "resolved", "text": "It works again."})

    assert '<option value="resolved" selected>' in client.get(address).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["title", "text"])
def test_what_cannot_be_told_keeps_what_was_typed(made: StatusPage, client: Client, field: str) -> None:
    form = {"title": "Orders", "stage": "identified", "text": "Soon."} | {field: "\u202e"}

    response = client.post(reverse("web:announcements", args=[made.public_id]), form)

    assert response.status_code == 400
    kept = "Soon." if field == "title" else 'value="Orders"'
    assert kept in response.content.decode()
    assert '<option value="identified" selected>' in response.content.decode()
    assert not Announcement.objects.exists()


@pytest.mark.django_db
def test_announcements_of_another_page_are_not_found(world: World, made: StatusPage, client: Client) -> None:
    other = StatusPage.objects.create(organisation=made.organisation, slug="other", title="Other")
    announcement = make_announcement(other)

    for name in ("announcement", "announcement_delete"):
        address = reverse(f"web:{name}", args=[made.public_id, announcement.public_id])
        assert client.post(address, {"stage": "resolved", "text": "x"}).status_code == 404
    assert Announcement.objects.filter(ended_at=None).exists()


@pytest.mark.django_db
def test_readers_of_feeds_follow_it(made: StatusPage, client: Client) -> None:
    make_announcement(made)

    response = Client().get(reverse("web:status_feed", args=["acme"]))

    assert response.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert response.headers["Cache-Control"] == "public, max-age=20"
    (entry,) = ElementTree.fromstring(response.content).iter(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "Investigating: Orders cannot be paid"
    assert entry.findtext(f"{ATOM}summary") == "We look for it.<br>Orders are kept."
    assert entry.findtext(f"{ATOM}id") == f"urn:uuid:{Announcement.objects.get().updates.get().public_id}"
    assert reverse("web:status_feed", args=["acme"]) in read()
    assert Client().get(reverse("web:status_feed", args=["nobody"])).status_code == 404


def test_an_outage_is_one_entry_from_its_begin_to_its_end() -> None:
    shop = site("A", Condition.DOWN, down=(2, 0))
    later = replace(shop.seen, down=((to_us(AT - 2 * HOUR), to_us(AT)),))
    (going_on,) = entries_of(page(shop), ADDRESS)
    (over,) = entries_of(replace(page(replace(shop, seen=later)), at=AT + HOUR), ADDRESS)

    assert (going_on.title, going_on.text) == ("A: down", "Since 30 Nov 2026 10:00 UTC.")
    assert (over.title, over.text) == (
        "A: down, over",
        "From 30 Nov 2026 10:00 UTC to 30 Nov 2026 12:00 UTC (2 h 0 min).",
    )
    assert (going_on.id, going_on.updated, over.updated) == (over.id, AT - 2 * HOUR, AT)


def judged(key: int, began_h: float, condition: Condition = Condition.DOWN, *, until_h: float = 0) -> JudgedOutage:
    """From and until so many hours ago."""
    since_us, until_us = (to_us(AT - hours * HOUR) for hours in (began_h, until_h))
    return JudgedOutage(key=key, condition=condition, since_us=since_us, until_us=until_us)


def test_an_entry_stays_the_same_when_another_monitor_turns_out_to_have_been_down_before() -> None:
    shop = replace(site("A", Condition.DOWN, down=(2, 0)), judged=(judged(7, 2),))
    moved = replace(shop, seen=site("A", down=(3, 0)).seen, judged=(judged(7, 2), judged(8, 3)))
    beside = replace(shop, judged=(judged(5, 9, until_h=2), judged(6, 2, Condition.PARTLY), judged(7, 2)))
    another = replace(shop, judged=(judged(9, 2),))

    (first,), (second,), (third,), (fourth,) = (
        entries_of(page(one), ADDRESS) for one in (shop, moved, beside, another)
    )

    assert (first.id, first.published) == (second.id, second.published + HOUR)
    assert third.id == first.id
    assert fourth.id != first.id


def test_an_outage_that_planned_work_parts_is_two_entries() -> None:
    shop = replace(site("A", Condition.DOWN, down=(5, 0)), judged=(judged(7, 5),))
    planned = replace(shop.seen, planned=((to_us(AT - 3 * HOUR), to_us(AT - 2 * HOUR)),))

    before, after = entries_of(page(replace(shop, seen=planned)), ADDRESS)

    assert before.id != after.id
    assert [before.id] == [one.id for one in entries_of(page(shop), ADDRESS)]


def test_an_entry_was_published_when_the_outage_began() -> None:
    feed = ElementTree.fromstring(feed_of(page(site("A", down=(3, 1))), ADDRESS))

    (entry,) = feed.iter(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}published") == (AT - 3 * HOUR).isoformat()
    assert entry.findtext(f"{ATOM}updated") == (AT - HOUR).isoformat()


def test_of_an_outage_that_began_before_anything_is_known_there_is_no_news() -> None:
    """Its begin would be another at each look, and be told anew each time."""
    shop = site("A", Condition.DOWN)
    for at in (AT, AT + HOUR):
        seen = replace(shop.seen, down=((to_us(at - KNOWN_FOR), to_us(at)),))
        assert list(entries_of(replace(page(replace(shop, seen=seen)), at=at), ADDRESS)) == []


def test_what_is_long_over_or_was_planned_is_no_entry() -> None:
    planned = site("A", down=(3, 1))
    planned = replace(planned, seen=replace(planned.seen, planned=((to_us(AT - 4 * HOUR), to_us(AT)),)))

    assert list(entries_of(page(site("B", down=(24 * 20, 24 * 15)), planned), ADDRESS)) == []


def test_what_people_write_is_no_markup_in_a_feed() -> None:
    said = PublicUpdate(
        public_id=uuid4(), stage=AnnouncementStage.IDENTIFIED, text="<img src=x onerror=y>\n1 < 2", at=AT
    )
    one = PublicAnnouncement(public_id=uuid4(), title="<b>A</b> & B", is_open=True, updates=(said,))
    feed = ElementTree.fromstring(feed_of(replace(page(), announcements=(one,)), ADDRESS))

    (entry,) = feed.iter(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "Identified: <b>A</b> & B"
    assert entry.findtext(f"{ATOM}summary") == "&lt;img src=x onerror=y&gt;<br>1 &lt; 2"
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == "Acme"


def test_a_feed_has_the_newest_entries() -> None:
    shop = site("A")
    spans = tuple((to_us(AT - n * HOUR), to_us(AT - (n - 0.5) * HOUR)) for n in range(60, 0, -1))
    feed = feed_of(page(replace(shop, seen=replace(shop.seen, partly=spans))), ADDRESS)

    entries = list(ElementTree.fromstring(feed).iter(f"{ATOM}entry"))
    assert len(entries) == MOST_ENTRIES
    assert entries[0].findtext(f"{ATOM}updated") == (AT - timedelta(minutes=30)).isoformat()


@given(st.text(max_size=80))
def test_a_feed_can_be_read_whatever_a_site_is_called(name: str) -> None:
    feed = feed_of(page(site(name, Condition.DOWN, down=(2, 0))), ADDRESS)

    assert len(list(ElementTree.fromstring(feed).iter(f"{ATOM}entry"))) == 1
