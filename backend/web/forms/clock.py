"""A date and time as somebody's own clock shows it, also on the two days of a year on which it is set."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.dateparse import parse_datetime


class ClockField(forms.DateTimeField):
    """In the person's own time zone. Of a time that their clock shows twice it means the first, or with `later` the
    second: so a stretch is the longer one. A time that their clock leaves out is refused.
    """

    def __init__(self, *, later: bool = False, **options: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        super().__init__(widget=widget, **options)
        self._fold = int(later)

    def to_python(self, value: Any) -> datetime | None:
        read = _read(value)
        return super().to_python(value) if read is None else _on_the_clock(read, self._fold)


def _read(value: object) -> datetime | None:
    """What a browser sends; None for anything else, and for a time that names its zone."""
    try:
        read = parse_datetime(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None
    return read if read is not None and read.tzinfo is None else None


def _on_the_clock(read: datetime, fold: int) -> datetime:
    zone = timezone.get_current_timezone()
    try:
        at = read.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        is_shown = at.astimezone(zone).replace(tzinfo=None, fold=0) == read
    except OverflowError:
        raise ValidationError("No calendar goes there.", code="invalid") from None
    if not is_shown:
        raise ValidationError("On that day the clock is set forward, and leaves this time out.", code="invalid")
    return at
