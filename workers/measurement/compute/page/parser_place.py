"""Where in a document the parser found what it asked for, as DevTools tells it and archives repeat it."""

from collections.abc import Mapping
from typing import Any

from workers.measurement.waterfall import Place

# No document is longer; what a file says may be anything, infinity too.
_MAX_PLACE = 2**31


def parser_place(initiator: Mapping[str, Any]) -> Place | None:
    """Of DevTools' initiator, which counts from 0; of what scripts name it tells another place. None where it names no
    document."""
    is_named = initiator.get("type") == "parser" and isinstance(initiator.get("url"), str)
    line, column = _counted(initiator.get("lineNumber")), _counted(initiator.get("columnNumber"))
    return (line, column) if is_named and line is not None and column is not None else None


def _counted(number: object) -> int | None:
    """From 1. To Python, though not to JSON, true is a number too."""
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number < _MAX_PLACE:
        return None
    return int(number) + 1
