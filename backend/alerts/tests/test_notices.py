"""Notices are written in order, once for each channel, whatever the texts are."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from backend.alerts.message import MAX_CHARS, Event, Fact, Link, Message, Severity, clean
from backend.alerts.models import Channel, ChannelKind, Delivery, Notice
from backend.alerts.notices import tell
from backend.cast import Member

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def message(event: Event = Event.OPENED, **changes: object) -> Message:
    fields: dict[str, object] = {
        "event": event,
        "severity": Severity.CRITICAL,
        "title": "shop.example slower in Singapore: LCP 3.94 s (was 2.05 s)",
        "at": NOW,
        "sentences": ("Since 14:20 UTC.", "5 of the last 5 runs."),
        "facts": (Fact(label="Regions", value="Singapore"),),
        "context": ("Rule: regression",),
        "links": (Link(label="Open", path="/alerts/1/"),),
        "data": {"metric": "lcp_ms", "value": 3940.5, "regions": ["sin"]},
    }
    return Message(**(fields | changes))  # type: ignore[arg-type]  # Fields by name, changed by name.


def channel(member: Member, name: str = "ops", **fields: object) -> Channel:
    return Channel.objects.create(
        organisation=member.organisation, kind=ChannelKind.WEBHOOK, name=name, target="hook.example", **fields
    )


def test_a_message_survives_storage() -> None:
    assert Message.from_json(message().to_json()) == message()


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        message(at=NOW.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("two\nlines\x00and a NUL", "two lines and a NUL"),
        ("half \ud83d character", "half character"),
        ("\u202eesrever\u200b", "esrever"),
        ("x" * 2000, "x" * (MAX_CHARS - 1) + "…"),
        ("naïve, 漢字 🚦", "naïve, 漢字 🚦"),
    ],
)
def test_texts_of_others_are_cleaned(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.django_db
def test_notices_about_one_object_are_counted(alice: Member) -> None:
    about, one, two = uuid4(), channel(alice), channel(alice, "more")
    for event in (Event.OPENED, Event.RECOVERED):
        tell(organisation=alice.organisation, about=about, message=message(event), channels=[one, two, one])
    counted = Notice.objects.filter(about=about).order_by("sequence").values_list("sequence", flat=True)
    assert list(counted) == [1, 2]
    assert Delivery.objects.filter(state="waiting").count() == 4


@pytest.mark.django_db
def test_texts_that_the_database_cannot_hold_cost_no_notice(alice: Member) -> None:
    hostile = message(title="NUL \x00 and \ud800", data={"k\x00": ["\x00", {"deep": "\udfff"}]})
    notice = tell(organisation=alice.organisation, about=uuid4(), message=hostile, channels=[])
    notice.refresh_from_db()
    assert Message.from_json(notice.message).title == "NUL and"


@pytest.mark.django_db
def test_a_channel_that_is_off_is_noted_as_not_told(alice: Member) -> None:
    tell(organisation=alice.organisation, about=uuid4(), message=message(), channels=[channel(alice, enabled=False)])
    assert Delivery.objects.get().state == "dropped"


@pytest.mark.django_db
def test_a_channel_of_another_organisation_is_refused(alice: Member, charlie: Member) -> None:
    with pytest.raises(ValueError, match="another organisation"):
        tell(organisation=alice.organisation, about=uuid4(), message=message(), channels=[channel(charlie)])
    assert not Notice.objects.exists()
