"""What people tell the visitors of a status page."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import User
from backend.as_it_is import as_it_is
from backend.faults import InvalidError
from backend.status.models import (
    MAX_ANNOUNCEMENT_CHARS,
    MAX_UPDATE_CHARS,
    Announcement,
    AnnouncementStage,
    StatusPage,
    Update,
)
from backend.texts import is_one_line

MAX_UPDATES, MAX_OPEN = 50, 20
# More than anybody reads; the oldest that are over go.
MAX_KEPT = 200
MAX_LISTED = MAX_OPEN + MAX_KEPT
_ENOUGH_OPEN = f"{MAX_OPEN} announcements are open; resolve one first."


class InvalidAnnouncementError(InvalidError):
    """It cannot be told so. `faults` holds a sentence for each field at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is told, in lines of plain text."""

    stage: AnnouncementStage
    text: str


@transaction.atomic
def announce(*, actor: User | None, page: StatusPage, title: str, said: Said) -> Announcement:
    """Tells the visitors of a page something. Raises InvalidAnnouncementError."""
    page = as_it_is(page, "organisation")
    title, faults = title.strip(), _faults(said)
    if not title or len(title) > MAX_ANNOUNCEMENT_CHARS or not is_one_line(title):
        faults["title"] = f"The title is one line of 1 to {MAX_ANNOUNCEMENT_CHARS} characters."
    elif _are_enough_open(page):
        faults["title"] = _ENOUGH_OPEN
    if faults:
        raise InvalidAnnouncementError(faults)
    announcement = Announcement.objects.create(page=page, title=title)
    _say(announcement, said, actor)
    _forget_old(page)
    record("announce", announcement, actor=actor, organisation=page.organisation, name=title, stage=said.stage)
    return announcement


@transaction.atomic
def update_announcement(*, actor: User | None, announcement: Announcement, said: Said) -> Update:
    """Tells how it goes on. What is resolved is over, until more is said of it; what is open can be resolved, however
    much was said of it. Raises InvalidAnnouncementError."""
    page = as_it_is(announcement.page)
    announcement = as_it_is(announcement, "page__organisation")
    faults, is_open = _faults(said), announcement.ended_at is None
    is_end = said.stage is AnnouncementStage.RESOLVED
    if announcement.updates.count() >= MAX_UPDATES and not (is_open and is_end):
        faults["text"] = f"{MAX_UPDATES} updates are enough of one; announce anew what is new."
    if not is_open and not is_end and _are_enough_open(page):
        faults["stage"] = _ENOUGH_OPEN
    if faults:
        raise InvalidAnnouncementError(faults)
    update = _say(announcement, said, actor)
    organisation = announcement.page.organisation
    detail = {"name": announcement.title, "stage": said.stage}
    record("update_announcement", announcement, actor=actor, organisation=organisation, **detail)
    return update


@transaction.atomic
def delete_announcement(*, actor: User | None, announcement: Announcement) -> None:
    """It was never said."""
    announcement = as_it_is(announcement, "page__organisation")
    organisation = announcement.page.organisation
    record("delete_announcement", announcement, actor=actor, organisation=organisation, name=announcement.title)
    announcement.delete()


def _are_enough_open(page: StatusPage) -> bool:
    return page.announcements.filter(ended_at=None).count() >= MAX_OPEN


def _say(announcement: Announcement, said: Said, actor: User | None) -> Update:
    now = timezone.now()
    announcement.ended_at = _ended_at(said.stage, now)
    announcement.save(update_fields=["ended_at"])
    return Update.objects.create(
        announcement=announcement, stage=said.stage, text=_text(said), at=now, created_by=actor
    )


def _ended_at(stage: AnnouncementStage, now: datetime) -> datetime | None:
    return now if stage is AnnouncementStage.RESOLVED else None


def _forget_old(page: StatusPage) -> None:
    over = page.announcements.exclude(ended_at=None).order_by("-ended_at").values_list("pk", flat=True)
    Announcement.objects.filter(pk__in=list(over[MAX_KEPT:])).delete()


def _faults(said: Said) -> dict[str, str]:
    text = _text(said)
    if 1 <= len(text) <= MAX_UPDATE_CHARS and all(map(is_one_line, text.split("\n"))):
        return {}
    return {"text": f"The text is 1 to {MAX_UPDATE_CHARS:,} characters that can be seen."}


def _text(said: Said) -> str:
    """Browsers end lines with two characters, and count them as one."""
    return "\n".join(said.text.strip().splitlines())
