"""Where in a document the parser found what it asked for, as DevTools tells it and archives repeat it."""

from collections.abc import Mapping
from typing import Any

from workers.measurement.waterfall import Place

# No document is longer; what a file says may be anything, infinity too.
_MAX_PLACE = 2**31


def parser_place(initiator: Mapping[str, Any]) -> Place | None:
    """Of DevTools' initiator, which counts from 0; of what scripts name it tells another place."""
    match initiator.get("type"), initiator.get("lineNumber"), initiator.get("columnNumber"):
        case "parser", int() | float() as line, int() | float() as column if (
            0 <= line < _MAX_PLACE and 0 <= column < _MAX_PLACE
        ):
            return int(line) + 1, int(column) + 1
    return None
