"""E-mail, by the mail server that the operator named."""

import smtplib
from collections.abc import Mapping
from email.utils import parseaddr
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from backend.alerts.channels.parcel import Outcome, Parcel, Sent
from backend.alerts.message import GOOD_NEWS, Severity, clean, for_people
from backend.alerts.models.channels import MAX_ANSWER_CHARS
from workers.measurement.idn import readable

_CONSOLE = "django.core.mail.backends.console.EmailBackend"
NO_SERVER = "The service has no mail server: the operator names one in FIRSTBYTE_EMAIL_URL."
MAX_SUBJECT_CHARS, MAX_LISTED = 150, 50


def send(config: Mapping[str, Any], parcel: Parcel) -> Sent:
    """Hands the parcel to the mail server. Never raises for what that does."""
    if settings.EMAIL_BACKEND == _CONSOLE:
        return Sent(outcome=Outcome.RETRY, answer=NO_SERVER)
    try:
        taken = mail(parcel, config["addresses"]).send()
    except smtplib.SMTPRecipientsRefused as error:
        code, words = next(iter(error.recipients.values()))
        return _answer(code, words)
    except smtplib.SMTPResponseException as error:
        return _answer(error.smtp_code, error.smtp_error)
    except (OSError, smtplib.SMTPException):
        return Sent(outcome=Outcome.RETRY, answer="The mail server could not be reached, or broke off.")
    if not taken:
        return Sent(outcome=Outcome.RETRY, answer="The mail server took nothing.")
    return Sent(outcome=Outcome.DELIVERED, answer="Taken by the mail server.", status=250)


_GREEN = "#0a6b2d"
# The worst first.
_COLOURS = {Severity.CRITICAL: "#a31515", Severity.WARNING: "#8a5300", Severity.INFO: "#0b57d0"}


def mail(parcel: Parcel, addresses: list[str]) -> EmailMultiAlternatives:
    """The message as text and HTML. What is said about one object is one thread; the id is the same at each try."""
    context = _context(parcel)
    message = EmailMultiAlternatives(
        subject=f"[Firstbyte] {clean(context['title'], MAX_SUBJECT_CHARS)}",
        body=render_to_string("alerts/email.txt", context),
        to=addresses,
        headers={"Message-ID": _id(parcel.id), "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"},
    )
    if not parcel.is_digest:
        message.extra_headers["References"] = _id(parcel.items[0].about)
    message.attach_alternative(render_to_string("alerts/email.html", context), "text/html")
    return message


def _context(parcel: Parcel) -> dict[str, Any]:
    return {
        "title": readable(parcel.title),
        "colour": _colour(parcel),
        "message": None if parcel.is_digest else for_people(parcel.first),
        "links": [] if parcel.is_digest else [(link.label, parcel.url(link.path)) for link in parcel.first.links],
        "listed": [for_people(item.message) for item in parcel.items[:MAX_LISTED]] if parcel.is_digest else [],
        "more": max(len(parcel.items) - MAX_LISTED, 0),
        "organisation": parcel.organisation,
        "alerts_url": parcel.url("/alerts/"),
    }


def _colour(parcel: Parcel) -> str:
    """As severe as the worst of what it tells, unless that is good news alone."""
    severities = {item.message.severity for item in parcel.items if item.message.event not in GOOD_NEWS}
    return next((colour for severity, colour in _COLOURS.items() if severity in severities), _GREEN)


def _id(public_id: UUID) -> str:
    host = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return f"<{public_id}@{host}>"


def _answer(code: int, words: bytes | str) -> Sent:
    """What the mail server said. 5xx is its last word (RFC 5321, 4.2.1), but for a sign-in that fails."""
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else words
    final = 500 <= code < 600 and code not in (530, 535)
    outcome = Outcome.REFUSED if final else Outcome.RETRY
    return Sent(outcome=outcome, status=max(code, 0), answer=clean(text, MAX_ANSWER_CHARS))
