"""Links between the choices of a comparison: `{% load cdn %}`, then `{% cdn_link choice range="7d" %}`."""

from django import template

from backend.web.views.cdn import Choice

register = template.Library()


@register.simple_tag
def cdn_link(choice: Choice, **changes: str) -> str:
    """The address of the same page with one choice changed."""
    return choice.query(**changes)
