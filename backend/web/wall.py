"""All sites on one screen, for who looks up at it from the other end of a room. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.alerts.message import Severity
from backend.alerts.wording import length
from backend.status.queries import Condition, WallSite
from backend.web.overview import PAUSED, WORST_FIRST, Level, Word
from backend.web.status_page import WORDS
from backend.web.times import handed_on

# Of what nobody measures although somebody should, people want to know.
_UNKNOWN = Word(level="warn", text=WORDS[Condition.UNKNOWN].text)
# Tiles are as large as their number lets them be.
_FEW, _SOME = 12, 40
_COUNTED: dict[Level, str] = {"bad": "in alarm", "warn": "to look at", "info": "in maintenance", "good": "up"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A site: how it is, and for how long or why."""

    name: str
    word: Word
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The whole screen: how many sites are how, the worst first, then each of them. `size` names that of a tile."""

    title: str
    at: str
    counts: Sequence[tuple[Word, int]]
    tiles: Sequence[Tile]
    size: str


def shown(title: str, sites: Sequence[WallSite], now: datetime) -> Shown:
    """What is drawn; sites that are alike stay in their order."""
    tiles = sorted((_tile(site, now) for site in sites), key=lambda tile: WORST_FIRST[tile.word.level])
    levels = Counter(tile.word.level for tile in tiles)
    return Shown(
        title=title,
        at=handed_on(now),
        counts=[(Word(level=level, text=text), levels[level]) for level, text in _COUNTED.items() if levels[level]],
        tiles=tiles,
        size="few" if len(tiles) <= _FEW else "some" if len(tiles) <= _SOME else "many",
    )


def _tile(site: WallSite, now: datetime) -> Tile:
    word = _word(site)
    if site.since is not None:
        return Tile(name=site.name, word=word, note=f"for {length(now - site.since)}")
    return Tile(name=site.name, word=word, note=site.alerts[0].title if site.alerts else "")


def _word(site: WallSite) -> Word:
    """What the judge is sure of; beside that, what alerts say of a site that can be reached."""
    if site.condition is None:
        return PAUSED
    if site.condition is Condition.UNKNOWN:
        return _UNKNOWN
    if site.condition is not Condition.UP or not site.alerts:
        return WORDS[site.condition]
    is_critical = any(one.severity == Severity.CRITICAL for one in site.alerts)
    return Word(level="bad" if is_critical else "warn", text="Alert open")
