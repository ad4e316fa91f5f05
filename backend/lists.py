"""Lists that are read in parts, the newest first."""

from datetime import datetime

from django.db.models import Q


def older(field: str, last: tuple[datetime, int]) -> Q:
    """What stands behind the last line that was seen, by its time in this field and its number."""
    at, number = last
    # By itself an index of the times can do nothing with the two of which one must hold.
    return Q(**{f"{field}__lte": at}) & (Q(**{f"{field}__lt": at}) | Q(**{field: at, "pk__lt": number}))
