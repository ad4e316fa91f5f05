"""Days in addresses, as `<date:week>`. Whoever has such an address imports this before it makes it."""

from datetime import date

from django.urls import register_converter


class Day:
    """`2026-11-23`; what is no day is no address."""

    regex = "[0-9]{4}-[0-9]{2}-[0-9]{2}"

    def to_python(self, value: str) -> date:
        return date.fromisoformat(value)

    def to_url(self, value: date) -> str:
        return value.isoformat()


register_converter(Day, "date")
