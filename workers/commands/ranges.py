"""Numbers that options take."""

import argparse
from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number", int, float)


def whole(low: int, high: int, of: str = "") -> Callable[[str], int]:
    """What reads a whole number of `low` to `high`, and says so of any other text; `of` is its unit."""
    return _within(int, "a whole number", low, high, of)


def decimal(low: float, high: float, of: str = "") -> Callable[[str], float]:
    """The same with decimal places."""
    return _within(float, "a number", low, high, of)


def _within(read: Callable[[str], Number], kind: str, low: Number, high: Number, of: str) -> Callable[[str], Number]:
    span = f"from {low} to {high} {of}".rstrip()

    def checked(text: str) -> Number:
        try:
            found = read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"must be {kind} {span}, not {text!r}") from error
        # What is no number (nan) is in no range.
        if not low <= found <= high:
            raise argparse.ArgumentTypeError(f"must be {span}, not {text!r}")
        return found

    return checked
