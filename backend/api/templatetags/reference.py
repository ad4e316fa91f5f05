"""How the reference says things."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CODE = re.compile(r"`([^`\n]+)`")


@register.filter
def codes(text: str) -> SafeString:
    """What stands between backticks as code; everything is escaped first."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", conditional_escape(text)))
