"""Fonts that a document preloads, or a script loads: the first paint waits a while for them, so that no text is painted
twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workers.diagnosis.page.instants import CLOCKS_US
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType, RowFlag

# So long beyond all else Chromium waits for them, and never that far into the load (its RenderBlockingFonts; measured
# 114 to 119 ms with the frame that follows, and nothing from 1,536 ms on).
_PATIENCE_US, _NEVER_AFTER_US = 100_000, 1_500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FontHold:
    """`come_us` is when the last of them had come. What the parser stops at in the body, `beside` by number, is not
    waited for first."""

    come_us: int = 0
    beside: frozenset[int] = frozenset()

    def free_us(self, ends: Mapping[int, int]) -> int:
        """When a paint waits for nothing more, for which all was there at these ends, by row."""
        return max([self._until_us(ends), *ends.values()])

    def _until_us(self, ends: Mapping[int, int]) -> int:
        """Until when they hold a paint up for which all else was there at these ends, by row; 0 where none does."""
        ready_us = max((end for number, end in ends.items() if number not in self.beside), default=0)
        return min(self.come_us, ready_us + _PATIENCE_US, _NEVER_AFTER_US)


def fonts_come_us(page: PageMeasurement, rendering_us: int) -> int:
    """When the last font had come that is so waited for; 0 where there is none, and for one that never came as long as
    any is waited for. Nothing was rendered before `rendering_us`."""
    fonts = (row for row in page.waterfall.requests if _is_asked_ahead(page, row, rendering_us))
    return max((row.timing.end_us or _NEVER_AFTER_US for row in fonts), default=0)


def _is_asked_ahead(page: PageMeasurement, row: Request, rendering_us: int) -> bool:
    """Whether no text of the page can have needed it yet. A hint in the body comes too late to hold anything up."""
    if row.resource_type is not ResourceType.FONT or RowFlag.FRAME in row.flags:
        return False
    is_of_body = page.body_from is not None and row.initiator_at is not None and row.initiator_at > page.body_from
    is_hinted = RowFlag.PRELOAD in row.flags and not is_of_body
    return is_hinted or row.timing.start_us < rendering_us - CLOCKS_US
