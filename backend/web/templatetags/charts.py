"""Links between the choices of a chart: `{% load charts %}`, then `{% chart_link choice range="7d" %}`."""

from django import template

from backend.web.trend import Choice

register = template.Library()


@register.simple_tag
def chart_link(choice: Choice, **changes: str) -> str:
    """The address of the same page with one choice changed."""
    return choice.query(changes)
