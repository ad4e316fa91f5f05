"""What begins again and again: from a point on only its end is told."""

from datetime import datetime, timedelta

from backend.alerts.models import Incident

# So many times within an hour it begins again, and from then on only the end is told.
FLIPS, FLIP_WINDOW = 2, timedelta(hours=1)
# A flapping incident is over when nothing was bad for so long.
QUIET = timedelta(minutes=30)


def flip(incident: Incident, at: datetime) -> bool:
    """Notes in a locked incident that it began again; whether it is now that it is known to keep coming and going."""
    if incident.every is not None:
        # What it does within one of its times is no time of its own.
        return False
    was_flapping = incident.flapping
    incident.flips = [*(flip for flip in incident.flips if at - flip < FLIP_WINDOW), at]
    incident.flapping = comes_and_goes(incident)
    return incident.flapping and not was_flapping


def comes_and_goes(incident: Incident) -> bool:
    """Whether it is known to keep coming and going, or did until it was over."""
    return incident.flapping or len(incident.flips) >= FLIPS
