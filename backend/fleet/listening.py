"""Whether the service could hear its agents at all: who was not listening must not call others silent."""

import logging
import threading
from datetime import datetime, timedelta

from django.db import Error, close_old_connections
from django.db.models import Case, F, When
from django.utils import timezone

from backend.fleet.models import Listening

log = logging.getLogger(__name__)

RENEW_S = 10.0
# A web process that was busy for two turns was still listening.
BREAK_AFTER = timedelta(seconds=45)
_ROW = 1


def renew(now: datetime) -> None:
    """Notes that a web process listens at this moment. After a break it listens anew."""
    unbroken = When(at__gte=now - BREAK_AFTER, then=F("since"))
    if not Listening.objects.filter(pk=_ROW).update(at=now, since=Case(unbroken, default=now)):
        Listening.objects.bulk_create([Listening(pk=_ROW, at=now, since=now)], ignore_conflicts=True)


def listening_since(now: datetime) -> datetime | None:
    """Since when agents can be heard without a break; None while nobody listens."""
    row = Listening.objects.filter(pk=_ROW, at__gte=now - BREAK_AFTER).first()
    return None if row is None else row.since


def renew_for_ever() -> None:
    """Keeps renewing in a thread of this process, as long as it lives."""
    threading.Thread(target=_renewing, name="listening", daemon=True).start()


def _renewing() -> None:
    wait = threading.Event().wait
    while True:
        try:
            renew(timezone.now())
        except Error as error:
            log.warning("cannot note that we listen: %s", str(error).strip())
        close_old_connections()
        wait(RENEW_S)
