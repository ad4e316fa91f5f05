"""Numbers and times in templates: `{% load format %}`, then `{{ run.ttfb_us|duration }}`."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backend.web import times, units
from backend.web.waterfall.text import printable
from workers.diagnosis.units import lasting

register = template.Library()


@register.filter
def duration(us: int | None) -> str:
    """Microseconds as `4.2 ms`, `317 ms` or `1.84 s`; a dash when absent."""
    return units.duration(us)


@register.filter
def size(count_bytes: int | None) -> str:
    """Bytes as `73 kB`; a dash when absent."""
    return units.size(count_bytes)


@register.filter
def count(number: int | None) -> str:
    """A number with thousands separated; a dash when absent."""
    return units.count(number)


@register.filter
def interval(seconds: int) -> str:
    """Seconds as `30 s`, `15 min` or `2 h`."""
    return units.interval(seconds)


@register.filter
def span(seconds: float) -> str:
    """How long something takes: `40 s`, `75 min`, `4 h`."""
    return lasting(seconds)


@register.filter
def shown(text: str | None) -> str:
    """A text from outside, with hidden characters made visible and its length bounded."""
    return printable(text or "")


@register.filter
def as_read(text: str) -> str:
    """A sentence of ours with its instants in the reader's time zone."""
    return times.as_read(text)


@register.filter
def moment(at: datetime | None) -> str | SafeString:
    """`20 Nov 14:32` in the reader's time zone, with the year where it is another, and the exact time behind it."""
    if at is None:
        return units.ABSENT
    return _time_tag(at, times.short(at))


@register.filter
def day_and_time(at: datetime) -> SafeString:
    """`20 Nov 2025 14:32`: what may lie years ago."""
    local = timezone.localtime(at)
    return _time_tag(at, f"{local.day} {local:%b %Y %H:%M}")


@register.filter
def ago(at: datetime | None) -> str | SafeString:
    """`3 min ago`, with the exact time behind it; `never` when absent."""
    if at is None:
        return "never"
    return _time_tag(at, units.age(int((timezone.now() - at).total_seconds())))


def _time_tag(at: datetime, text: str) -> SafeString:
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), f"{local:%Y-%m-%d %H:%M:%S %Z}", text
    )
