"""Pieces of sentences that many pages have."""

from collections.abc import Sequence

from backend.web import units


def number_of(number: int, noun: str) -> str:
    """`1 run`, `1,200 runs`."""
    return f"{units.count(number)} {noun}{'' if number == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
