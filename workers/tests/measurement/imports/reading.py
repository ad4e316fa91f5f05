"""What is read of a document, in words that a test can compare."""

from typing import Any

from workers.measurement.imports.imported import Imported
from workers.measurement.imports.read import read_import
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request
from workers.tests.measurement.imports.samples import written


def read(document: dict[str, Any]) -> Imported:
    return read_import(written(document))


def only(document: dict[str, Any]) -> PageMeasurement:
    (found,) = read(document).pages
    return found.measurement


def rows(document: dict[str, Any]) -> tuple[Request, ...]:
    return only(document).waterfall.requests


def ms(span: Span | None) -> tuple[float, float] | None:
    return None if span is None else (span.start_us / 1000, span.end_us / 1000)
