"""When and where a site that is held to be down is looked at again, between its own slots. Pure.

A page is measured every quarter of an hour, and an outage of a minute would be told to last as long. What is asked for
here is what a monitor of a minute would see: the regions in turn, and none twice within a minute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SECOND_US = 1_000_000
_MINUTE_US = 60 * _SECOND_US
_HOUR_US = 60 * _MINUTE_US
# After a look that saw it down, in the first half hour and later.
EVERY_US, LATER_US = 2 * _MINUTE_US, 10 * _MINUTE_US
EARLY_US = 30 * _MINUTE_US
# After a look that saw it well: as far apart as three regions are that are measured every minute.
NEXT_US = 20 * _SECOND_US
# The same region again.
AGAIN_US = _MINUTE_US
MOST_AN_HOUR = 20
# A slot of its own that comes so soon is waited for.
NEAR_US = _MINUTE_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Of a site that is held to be down since then: which regions have to see it well before it is over, with when
    each told anything last. `is_back` says that the newest run of those it was down in saw it well.
    """

    since_us: int
    regions: Mapping[str, int]
    newest_us: int
    is_back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """From when on a region may be asked."""

    at_us: int
    region: str


def lately(asked: Sequence[tuple[str, int]], now_us: int) -> list[tuple[str, int]]:
    """Which regions were asked when, within the last hour: more is not needed to go on."""
    return [(region, at_us) for region, at_us in asked if at_us > now_us - _HOUR_US]


def next_turn(held: Held, asked: Sequence[tuple[str, int]], *, now_us: int, interval_us: int) -> Turn | None:
    """The region whose turn comes first; None where the monitor's own slots come as often. `asked` is of this hour."""
    every_us = EVERY_US if now_us - held.since_us < EARLY_US else LATER_US
    if interval_us <= every_us or not held.regions:
        return None
    instants = sorted(at_us for _, at_us in asked)
    newest_us = max([held.newest_us, *instants[-1:]])
    first_us = newest_us + (NEXT_US if held.is_back else every_us)
    if len(instants) >= MOST_AN_HOUR:
        first_us = max(first_us, instants[-MOST_AN_HOUR] + _HOUR_US)
    last = {code: max([at_us, *(at for region, at in asked if region == code)]) for code, at_us in held.regions.items()}
    turns = [(max(first_us, at_us + AGAIN_US), at_us, code) for code, at_us in last.items()]
    at_us, _, region = min(turns)
    return Turn(at_us=at_us, region=region)
