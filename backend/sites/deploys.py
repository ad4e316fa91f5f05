"""What can be said of a deploy, and the rules it must keep: one sentence for each fault."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings

from backend.faults import InvalidError
from backend.kept import retention_start
from backend.texts import is_one_line
from workers.measurement.target import MAX_URL_CHARS

# Clocks of build machines are a little wrong; what is further ahead is a mistake.
MAX_AHEAD = timedelta(minutes=10)
MAX_CHARS = {"external_id": 100, "version": 100, "url": MAX_URL_CHARS, "note": 500}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployMarker:
    """What a pipeline tells of a release. `at` is when it was in force; None means now."""

    external_id: str = ""
    version: str = ""
    url: str = ""
    note: str = ""
    at: datetime | None = None


class InvalidDeployError(InvalidError):
    """The marker breaks a rule. `faults` holds a sentence for each field at fault."""


def validate(marker: DeployMarker, *, now: datetime) -> None:
    """Raises InvalidDeployError with every fault there is."""
    faults = {field: fault for field in MAX_CHARS if (fault := _text_fault(field, getattr(marker, field)))}
    if "url" not in faults and marker.url and not _is_web_address(marker.url):
        faults["url"] = "The address of a deploy must begin with https:// or http:// and name a host."
    if marker.at is not None and (fault := _time_fault(marker.at, now)):
        faults["at"] = fault
    if faults:
        raise InvalidDeployError(faults)


def _text_fault(field: str, text: str) -> str | None:
    if len(text) > MAX_CHARS[field]:
        return f"{field} may have at most {MAX_CHARS[field]} characters."
    return None if is_one_line(text) else f"{field} must be one line without control characters."


def _is_web_address(text: str) -> bool:
    """It becomes a link on our pages: no other scheme may."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and bool(parts.hostname)


def _time_fault(at: datetime, now: datetime) -> str | None:
    if at.tzinfo is None:
        return "The time of a deploy needs its offset from UTC, such as 2026-09-01T10:00:00Z."
    if at > now + MAX_AHEAD:
        return "The time of a deploy lies in the future; leave it out to say now."
    if at < retention_start(now):
        # Before that there is little to compare with.
        return f"The time of a deploy may lie at most {settings.RETENTION_DAYS} days back, as long as runs are kept."
    return None
