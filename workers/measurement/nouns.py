"""How the nouns are declared of which one probe makes hundreds.

To mypy `noun` is `dataclass`, and nothing may change a frozen one. While running it is not frozen: a constructor that
goes round its own lock takes three times as long, which was a tenth of a probe.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as noun
else:
    from dataclasses import dataclass

    def noun(*, frozen: bool, **options: bool):
        """Equal and hashed by its fields, as a frozen dataclass is."""
        return dataclass(unsafe_hash=frozen, **options)


__all__ = ["noun"]
