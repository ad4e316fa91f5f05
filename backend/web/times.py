"""A time as a reader sees it: in the zone of the account (`middleware`), and in UTC in a file that is handed on."""

import re
from datetime import UTC, datetime

from django.utils import timezone

# An instant in a sentence that channels are told, which know no reader's zone (`backend.alerts.wording.clock`).
_TOLD = re.compile(r"\b([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}) UTC\b")


def short(at: datetime) -> str:
    """`20 Nov 14:32`, and `20 Nov 2025 14:32` where it is no time of this year."""
    local = timezone.localtime(at)
    year = "" if local.year == timezone.localtime().year else f"{local:%Y} "
    return f"{local.day} {local:%b} {year}{local:%H:%M}"


def exact(at: datetime) -> str:
    """`20 Nov 2025 14:32:07`: what may lie years ago, or seconds apart."""
    local = timezone.localtime(at)
    return f"{local.day} {local:%b %Y %H:%M:%S}"


def handed_on(at: datetime) -> str:
    """`20 Nov 2025 14:32 UTC`: for a file, whose readers have clocks that nobody knows here, and no account with us."""
    there = at.astimezone(UTC)
    return f"{there.day} {there:%b %Y %H:%M} UTC"


def as_read(text: str) -> str:
    """A sentence of ours as its reader's clock has it: `since 2025-11-20 13:32 UTC` becomes `since 20 Nov 14:32`."""
    return _TOLD.sub(_on_the_clock, text)


def _on_the_clock(told: re.Match[str]) -> str:
    try:
        return short(datetime.strptime(told[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return told[0]
