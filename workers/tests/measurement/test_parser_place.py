"""Where in a document the parser found something, out of what DevTools or an archive says."""

from typing import Any

import pytest

from workers.measurement.compute.page.parser_place import parser_place

PAGE = {"type": "parser", "url": "https://a.example/", "lineNumber": 2, "columnNumber": 17.0}


def test_a_place_is_counted_from_one_as_editors_do() -> None:
    assert parser_place(PAGE) == (3, 18)


@pytest.mark.parametrize(
    "told",
    [
        {"type": "script"},
        {"url": None},
        {"lineNumber": True},
        {"columnNumber": "3"},
        {"lineNumber": -1},
        {"columnNumber": float("inf")},
        {"lineNumber": float("nan")},
    ],
)
def test_what_names_no_place_of_a_document_gives_none(told: dict[str, Any]) -> None:
    assert parser_place(PAGE | told) is None
