"""How a page monitor's options are kept: as one document, since most monitors have none and nobody searches in them."""

from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from workers.measurement.page_options import PLAIN, PageOptions

_ADAPTER = TypeAdapter(PageOptions)
_PLAIN: dict[str, Any] = _ADAPTER.dump_python(PLAIN, mode="json")


def stored(options: PageOptions) -> dict[str, Any]:
    """What is kept of the options; nothing of plain ones."""
    document: dict[str, Any] = _ADAPTER.dump_python(options, mode="json")
    return {name: value for name, value in document.items() if value != _PLAIN[name]}


def read(document: dict[str, Any]) -> PageOptions:
    """The options that were stored. Raises ValueError for what this version does not understand."""
    if not document:
        return PLAIN
    try:
        return _ADAPTER.validate_python(document)
    except ValidationError as error:
        raise ValueError(f"stored page options cannot be read: {error.error_count()} faults") from None


def for_another_server(options: PageOptions) -> PageOptions:
    """The options without what only the monitor's own server may see."""
    return replace(options, cookies=(), login=None, steps=())
