"""What mails say and look like, and what the answers of their servers mean."""

import smtplib
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from pytest_django import Settings

from backend.alerts.channels import Outcome, Parcel, Sent, email, slack_blocks, webhook
from backend.alerts.message import Event, Fact, Severity
from backend.alerts.tests.parcels import ABOUT, HOSTILE, parcel, stored, texts
from backend.alerts.tests.test_notices import message

ADDRESSES = {"addresses": ["ops@acme.example", "on-call@acme.example"]}


def mailed(sending: Parcel, settings: Settings) -> Any:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert email.send(ADDRESSES, sending).outcome is Outcome.DELIVERED
    return mail.outbox[-1]


def test_a_mail_has_text_and_html_and_the_same_id_at_each_try(settings: Settings) -> None:
    sending = parcel()
    one, again = mailed(sending, settings), mailed(sending, settings)
    assert one.subject == "[Firstbyte] shop.example slower in Singapore: LCP 3.94 s (was 2.05 s)"
    assert "5 of the last 5 runs." in one.body
    assert "Open: https://fb.example/alerts/1/" in one.body
    assert 'href="https://fb.example/alerts/1/"' in one.alternatives[0].content
    assert one.extra_headers["Message-ID"] == again.extra_headers["Message-ID"]
    assert str(ABOUT) in one.extra_headers["References"]


@pytest.mark.parametrize(
    ("events", "colour"),
    [
        ([("opened", "critical")], "#a31515"),
        ([("opened", "warning")], "#8a5300"),
        ([("test", "info")], "#0b57d0"),
        ([("recovered", "critical")], "#0a6b2d"),
        ([("recovered", "critical"), ("opened", "info"), ("opened", "warning")], "#8a5300"),
        ([("opened", "warning"), ("opened", "critical")], "#a31515"),
    ],
)
def test_a_mail_has_the_colour_of_what_it_says(events: list[tuple[str, str]], colour: str, settings: Settings) -> None:
    """That somebody pressed "Send test" is no alarm."""
    messages = [stored(message(event=Event(event), severity=Severity(severity))) for event, severity in events]
    assert f"border-left:6px solid {colour}" in mailed(parcel(*messages), settings).alternatives[0].content


def test_hostile_names_are_only_text_in_a_mail(settings: Settings) -> None:
    hostile = stored(message(title=f"{HOSTILE}\r\nBcc: evil@example.com", sentences=(HOSTILE,)))
    one = mailed(parcel(hostile), settings)
    assert "\n" not in one.subject
    assert "<script" not in one.alternatives[0].content
    assert one.recipients() == ADDRESSES["addresses"]
    assert "&lt;" not in one.body


def test_names_of_hosts_are_told_to_people_as_they_write_them_and_to_programs_as_the_dns_does(
    settings: Settings,
) -> None:
    encoded, fact = "www.xn--bcher-kva.example", Fact(label="Site", value="xn--bcher-kva.example")
    named = stored(message(title=f"{encoded} is down", sentences=(f"It was {encoded}.",), facts=(fact,)))
    one = mailed(parcel(named), settings)
    assert one.subject == "[Firstbyte] www.bücher.example is down"
    for told in (one.body, one.alternatives[0].content, "".join(texts(slack_blocks.payload(parcel(named))))):
        assert "It was www.bücher.example." in told
        assert "xn--" not in told
    digest = parcel(named, message())
    assert "- www.bücher.example is down" in mailed(digest, settings).body
    assert "www.bücher.example is down" in "".join(texts(slack_blocks.payload(digest)))
    assert f"{encoded} is down" in texts(webhook.payload(parcel(named)))


def test_many_at_once_are_one_mail(settings: Settings) -> None:
    one = mailed(parcel(*(message(title=f"site {number} is down") for number in range(60))), settings)
    assert one.subject == "[Firstbyte] 60 alerts at once"
    assert "- site 0 is down" in one.body
    assert "and 10 more" in one.body


def fails_with(error: Exception) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "outcome", "words"),
    [
        (ConnectionRefusedError(), Outcome.RETRY, "The mail server could not be reached, or broke off."),
        (smtplib.SMTPServerDisconnected(), Outcome.RETRY, "The mail server could not be reached, or broke off."),
        (smtplib.SMTPAuthenticationError(535, b"bad login"), Outcome.RETRY, "bad login"),
        (smtplib.SMTPDataError(451, b"try later"), Outcome.RETRY, "try later"),
        (smtplib.SMTPDataError(554, b"spam"), Outcome.REFUSED, "spam"),
        (smtplib.SMTPRecipientsRefused({"a@b.c": (550, b"no such user")}), Outcome.REFUSED, "no such user"),
        (smtplib.SMTPRecipientsRefused({"a@b.c": (450, b"greylisted")}), Outcome.RETRY, "greylisted"),
    ],
)
def test_a_mail_servers_answers_are_understood(
    error: Exception, outcome: Outcome, words: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    monkeypatch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", fails_with(error))
    sent = email.send(ADDRESSES, parcel())
    assert (sent.outcome, sent.answer) == (outcome, words)


def test_without_a_mail_server_nothing_counts_as_sent(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    sent = email.send(ADDRESSES, parcel())
    assert sent == Sent(outcome=Outcome.RETRY, answer=email.NO_SERVER)
