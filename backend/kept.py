"""How long what was measured is kept run by run."""

from datetime import datetime, timedelta

from django.conf import settings


def retention_start(now: datetime) -> datetime:
    """Before this nothing is kept (FIRSTBYTE_RETENTION_DAYS)."""
    return now - timedelta(days=settings.RETENTION_DAYS)
