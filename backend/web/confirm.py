"""The page that asks before something is done that cannot be taken back."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: `text` says what follows, `verb` is on the button that does it, `back` leads away from it."""

    title: str
    text: str
    verb: str
    back: str
    section: str


def ask(request: HttpRequest, question: Question) -> HttpResponse:
    """The question; its button sends the form to the address that was asked for."""
    return render(request, "confirm.html", {"question": question, "section": question.section})
