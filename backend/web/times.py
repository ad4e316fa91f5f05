"""A time as a reader sees it: in the zone of the account (`middleware`)."""

from datetime import datetime

from django.utils import timezone


def short(at: datetime) -> str:
    """`20 Nov 14:32`."""
    local = timezone.localtime(at)
    return f"{local.day} {local:%b %H:%M}"


def exact(at: datetime) -> str:
    """`20 Nov 2025 14:32:07`: what may lie years ago, or seconds apart."""
    local = timezone.localtime(at)
    return f"{local.day} {local:%b %Y %H:%M:%S}"
