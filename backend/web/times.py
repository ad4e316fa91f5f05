"""A time as a reader sees it: in the zone of the account (`middleware`)."""

from datetime import datetime

from django.utils import timezone


def short(at: datetime) -> str:
    """`20 Nov 14:32`."""
    local = timezone.localtime(at)
    return f"{local.day} {local:%b %H:%M}"
