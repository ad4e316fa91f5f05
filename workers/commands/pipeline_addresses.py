"""Where a side of a gate is reached, as it is said on the command line."""

import re
from collections.abc import Sequence
from typing import Any

from workers.commands import UsageError

# What names a monitor holds nothing that a URL has before its first "=".
_OF_MONITOR = re.compile(r"([A-Za-z0-9-]{1,40})=(.+)", re.DOTALL)


def address_of(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """`URL`, at most once, and any number of `MONITOR=URL`, as the API takes them. Raises UsageError."""
    named = [_OF_MONITOR.fullmatch(text) for text in texts]
    bases = [text for text, match in zip(texts, named, strict=True) if match is None]
    if len(bases) > 1:
        raise UsageError(f"{option} takes one address for all monitors; give others as MONITOR=URL")
    urls = [{"monitor": match[1], "url": match[2]} for match in named if match is not None]
    return {**({"url": bases[0]} if bases else {}), **({"urls": urls} if urls else {})}
