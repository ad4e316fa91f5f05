"""What each form of an organisation carries: `{% form_token %}`, known to every template (`settings.TEMPLATES`)."""

from django import template
from django.template.defaulttags import CsrfTokenNode
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backend.web.access import OF_ORGANISATION

register = template.Library()


@register.simple_tag(takes_context=True)
def form_token(context: template.Context) -> SafeString:
    """Django's token against forms of others, and the organisation that the form was made in."""
    token, organisation = CsrfTokenNode().render(context), context.get("organisation")
    if organisation is None:
        return format_html("{}", token)
    return format_html('{}<input type="hidden" name="{}" value="{}">', token, OF_ORGANISATION, organisation.public_id)
