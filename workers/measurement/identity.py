"""Names that follow from what they name, so that a message delivered twice is the same run twice."""

from datetime import UTC, datetime
from uuid import UUID, uuid5

# One namespace for each decision: reusing an id between decisions correlates them (one slot would mean one region).
_RUN = UUID("0d9c6d0b-5b44-4c47-9f0c-6a8c0a8a7f31")


def run_id(*, monitor_id: UUID, region: str, scheduled_for: datetime, attempt: int) -> UUID:
    """The id of one execution. `scheduled_for` must be aware; the same instant gives the same id in any time zone."""
    instant = scheduled_for.astimezone(UTC).isoformat(timespec="microseconds")
    return uuid5(_RUN, f"{monitor_id}/{region}/{instant}/{attempt}")
