"""What hints had come. Fonts that a document preloads, or a script loads: the first paint waits a while for them, so
that no text is painted twice. And files that nothing took, as Chromium says.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from workers.diagnosis.page.instants import CLOCKS_US
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import ConsoleLevel, ConsoleMessage
from workers.measurement.waterfall import Request, ResourceType, RowFlag

# So long beyond all else Chromium waits for them, and never that far into the load (its RenderBlockingFonts; measured
# 114 to 119 ms with the frame that follows, and nothing from 1,536 ms on).
_PATIENCE_US, _NEVER_AFTER_US = 100_000, 1_500_000
# What Chromium says of what had come by the load and was not taken within three seconds of that (Blink's
# ResourceFetcher::WarnUnusedPreloads; measured 2,998 to 3,010 ms behind the load).
_UNUSED = re.compile(r"The resource (\S+) was preloaded using link preload but not used within a few seconds")


def unused_addresses(console: Iterable[ConsoleMessage]) -> frozenset[str]:
    """Of what was preloaded and never taken."""
    said = (_UNUSED.match(one.text) for one in console if one.level is ConsoleLevel.WARNING)
    return frozenset(found[1].partition("#")[0] for found in said if found is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FontHold:
    """`comes` is when each of them had come, by number. What the parser stops at in the body, `beside` by number, is
    not waited for first."""

    comes: Mapping[int, int] = field(default_factory=dict)
    beside: frozenset[int] = frozenset()

    def without(self, rows: Iterable[Request]) -> "FontHold":
        """The same where these do not come at all."""
        gone = {row.number for row in rows}
        return replace(self, comes={number: us for number, us in self.comes.items() if number not in gone})

    def seen(self, ends: Mapping[int, int], fcp_us: int | None) -> "FontHold":
        """The same with what a paint at an instant may have waited for, where all else was there at these ends. What a
        script in the body preloads comes too late to be waited for: nothing but the paint tells where that stood."""
        if fcp_us is None or self._until_us(ends) <= fcp_us + CLOCKS_US:
            return self
        return replace(self, comes={number: us for number, us in self.comes.items() if us <= fcp_us + CLOCKS_US})

    def free_us(self, ends: Mapping[int, int]) -> int:
        """When a paint waits for nothing more, for which all was there at these ends, by row."""
        return max([self._until_us(ends), *ends.values()])

    def _until_us(self, ends: Mapping[int, int]) -> int:
        """Until when they hold a paint up for which all else was there at these ends, by row; 0 where none does."""
        ready_us = max((end for number, end in ends.items() if number not in self.beside), default=0)
        return min(max(self.comes.values(), default=0), ready_us + _PATIENCE_US, _NEVER_AFTER_US)


def fonts_come_us(page: PageMeasurement, rendering_us: int) -> dict[int, int]:
    """When each font had come that is so waited for, by number; for one that never came as long as any is waited for.
    Nothing was rendered before `rendering_us`."""
    fonts = (row for row in page.waterfall.requests if _is_asked_ahead(page, row, rendering_us))
    return {row.number: row.timing.end_us or _NEVER_AFTER_US for row in fonts}


def _is_asked_ahead(page: PageMeasurement, row: Request, rendering_us: int) -> bool:
    """Whether no text of the page can have needed it yet. A hint in the body comes too late to hold anything up."""
    if row.resource_type is not ResourceType.FONT or RowFlag.FRAME in row.flags:
        return False
    is_of_body = page.body_from is not None and row.initiator_at is not None and row.initiator_at > page.body_from
    is_hinted = RowFlag.PRELOAD in row.flags
    return not is_of_body if is_hinted else row.timing.start_us < rendering_us - CLOCKS_US
