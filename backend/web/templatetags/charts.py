"""Links between the choices of a chart: `{% load charts %}`, then `{% chart_link choice range="7d" %}`."""

from django import template

from backend.web.side_by_side import SideChoice
from backend.web.trend import Choice

register = template.Library()


@register.simple_tag
def chart_link(choice: Choice | SideChoice, **changes: str) -> str:
    """The address of the same page with one choice changed."""
    return choice.query(changes)
