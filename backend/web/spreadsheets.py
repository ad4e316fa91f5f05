"""Tables for spreadsheets (CSV, RFC 4180)."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from django.http import HttpResponse

Cell = str | int | float
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_of(columns: Sequence[str], rows: Iterable[Iterable[Cell]]) -> str:
    """The table as text. Texts in it are no formulas."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def csv_file(name: str, text: str) -> HttpResponse:
    """What a browser keeps under a name."""
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _plain(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
