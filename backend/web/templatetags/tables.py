"""The frame of a table: `{% load tables %}`, then `{% table "What it lists" %}`, its rows and `{% endtable %}`."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_block_tag
def table(content: SafeString, caption: str, kind: str = "stacked") -> SafeString:
    """A table that scrolls where it is too wide. The caption is for who cannot see it."""
    return format_html(
        '<div class="table-wrap">\n<table class="table {}">\n'
        '<caption class="visually-hidden">{}</caption>{}</table>\n</div>',
        kind,
        caption,
        content,
    )
