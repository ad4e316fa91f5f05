"""Numbers that options take."""

import argparse
from collections.abc import Callable


def whole(low: int, high: int, of: str = "") -> Callable[[str], int]:
    """What reads a whole number of `low` to `high`, and says so of any other text; `of` is its unit."""

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError as error:
            raise _refused(text, f"a whole number from {low} to {high}", of) from error
        if not low <= found <= high:
            raise _refused(text, f"from {low} to {high}", of)
        return found

    return read


def decimal(low: float, high: float, of: str = "") -> Callable[[str], float]:
    """The same with decimal places."""

    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError as error:
            raise _refused(text, f"a number from {low} to {high}", of) from error
        # What is no number (nan) is in no range.
        if not low <= found <= high:
            raise _refused(text, f"from {low} to {high}", of)
        return found

    return read


def _refused(text: str, wanted: str, of: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"must be {' '.join((wanted, of)).strip()}, not {text!r}")
