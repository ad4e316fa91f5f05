"""Tables for spreadsheets (CSV, RFC 4180)."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain
from typing import TypeVar

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from backend.pooled import give_back

MEDIA_TYPE = "text/csv"
# What is not known is None, and an empty cell.
Cell = str | int | float | None
Sent = TypeVar("Sent", bound=HttpResponseBase)
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_of(columns: Sequence[str], rows: Iterable[Iterable[Cell]]) -> str:
    """The table as text. Texts in it are no formulas."""
    return _lines([columns]) + _lines(rows)


def csv_file(name: str, text: str) -> HttpResponse:
    """What a browser keeps under a name."""
    return _kept(HttpResponse(text), name)


def csv_stream(name: str, columns: Sequence[str], blocks: Iterable[Iterable[Iterable[Cell]]]) -> StreamingHttpResponse:
    """A table of any length under a name: each block of rows is asked for when those before it are sent.

    The first one is asked for at once, so that a fault in it has an answer of its own. One in a later block breaks the
    transfer off, since what stands there would pass for the whole table.
    """
    texts = _texts(columns, blocks)
    return _kept(StreamingHttpResponse(chain([next(texts)], texts)), name)


def _kept(response: Sent, name: str) -> Sent:
    response["Content-Type"] = f"{MEDIA_TYPE}; charset=utf-8"
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _texts(columns: Sequence[str], blocks: Iterable[Iterable[Iterable[Cell]]]) -> Iterator[str]:
    """Of each block. Whoever reads them slowly holds no connection to the database meanwhile."""
    head = _lines([columns])
    for block in blocks:
        text = head + _lines(block)
        give_back()
        yield text
        head = ""
    if head:
        yield head


def _lines(rows: Iterable[Iterable[Cell]]) -> str:
    text = StringIO()
    csv.writer(text).writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
