"""`python -m backend.analysis changepoints`: where the level of a series changed."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from backend.analysis.changepoints import changepoints
from backend.analysis.document import read

ABOUT = """\
Finds where the level of a series changed. Single spikes and slow noise are not changes.

stdin:   {"values": [212, 208, null, 230, …]}     in order of time, at one interval; null = missing
stdout:  {"changepoints": [117, 240]}             index of the first value of each new segment

example:
  echo '{"values": [10,11,10,11,10,11,10,11,30,31,30,31,30,31,30,31]}' | python -m backend.analysis changepoints

exit codes: 0 answered, 2 the document is wrong (stderr names the field)
"""
# So many take some ten seconds.
MAX_VALUES = 50_000

_Value = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    values: Annotated[list[_Value | None], Field(max_length=MAX_VALUES)]


_SHAPE = TypeAdapter(_Document)


def answer(text: bytes) -> dict[str, object]:
    """What to print for the document. Raises DocumentError."""
    return {"changepoints": changepoints(read(_SHAPE, text).values)}
