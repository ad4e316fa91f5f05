"""The CDN's cache over time, and what it spares the origin. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.compare.queries import AssetComparison, Hits, RegionHits
from backend.sites.models import HostRole
from backend.web import times, units
from backend.web.hosts import HostRow
from backend.web.phrases import number_of
from backend.web.waterfall.text import printable
from workers.measurement.pair import CacheState

# The drawing's own units; the style sheet gives it its size.
BAR_WIDTH, HEIGHT = 10, 36
# Even a bucket without a hit shows that something was asked.
_LEAST_HEIGHT = 1.5
MOST_MISSED = 5
_VIEWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HitBar:
    """A stretch of time as a bar; of no answers there is none. `text` says it in words."""

    x: int
    y: float
    height: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    """A region: its hit rate over the whole period, and bar by bar. `begins` and `ends` are the axis."""

    name: str
    rate: str
    answers: str
    bars: tuple[HitBar, ...]
    width: int
    spoken: str
    begins: datetime
    ends: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedRow:
    """An asset that the CDN often had to fetch."""

    name: str
    text: str


def hit_rows(found: Sequence[RegionHits]) -> list[HitRow]:
    """By region; none at all when no cache ever said anything."""
    return [_row(one) for one in found] if any(one.all.told for one in found) else []


def missed_of(assets: Sequence[AssetComparison]) -> list[MissedRow]:
    """The assets that the CDN had least, those it always had left out. Of the newest pairs over fresh connections."""
    rates = [(rate, one) for one in assets if (rate := _hits(one)).told and rate.hits < rate.told]
    rates.sort(key=lambda pair: pair[0].hits / pair[0].told)
    return [
        MissedRow(
            name=printable(one.pairing.name, 120), text=f"{hits.told - hits.hits} of {hits.told} not in the cache"
        )
        for hits, one in rates[:MOST_MISSED]
    ]


def bytes_text(rows: Sequence[HostRow], hits: Hits) -> str:
    """Who sends the bytes of a page: per a thousand views, and what of the CDN's the origin has to send after all."""
    known = [(row.role, row.costs) for row in rows if row.costs is not None]
    # Each load speaks to some host, though not to every one.
    loads = max((costs.loads for _, costs in known), default=1)
    edge, origin = (
        _VIEWS * int(sum(costs.bytes or 0 for of, costs in known if of is role)) / loads
        for role in (HostRole.CDN, HostRole.ORIGIN)
    )
    if not edge:
        return ""
    share = round(100 * edge / (edge + origin))
    text = (
        f"Of {units.count(_VIEWS)} views the CDN sends {units.size(round(edge))} and the origin "
        f"{units.size(round(origin))}, TLS included: {share} % comes from the edge."
    )
    if hits.rate is None or hits.rate == 1:
        return text
    fetched = units.size(round(edge * (1 - hits.rate)))
    return f"{text} At {_percent(hits)} hits the CDN in turn fetches about {fetched} of it from the origin."


def difference_of(cdn_bytes: float | None, origin_bytes: float | None) -> str:
    """How much more or less the CDN sends of an asset; empty where they are alike within a hundredth."""
    if not cdn_bytes or not origin_bytes:
        return ""
    percent = round(100 * (cdn_bytes / origin_bytes - 1))
    if abs(percent) < 1:
        return ""
    return f"{units.count(abs(percent))} % {'more' if percent > 0 else 'less'} than the origin"


def _row(found: RegionHits) -> HitRow:
    whole = found.all
    bars = tuple(
        _bar(place, one, found.since + place * found.width) for place, one in enumerate(found.buckets) if one.told
    )
    name = printable(found.region.name, 60)
    answers = number_of(whole.told, "answer")
    spoken = f"{name}: {_percent(whole)} hits over the whole period; " + "; ".join(bar.text for bar in bars)
    return HitRow(
        name=name,
        rate=_percent(whole),
        answers=answers if whole.told else "no answer said so",
        bars=bars,
        width=BAR_WIDTH * len(found.buckets),
        spoken=spoken,
        begins=found.since,
        ends=found.since + len(found.buckets) * found.width,
    )


def _bar(place: int, hits: Hits, at: datetime) -> HitBar:
    height = max(round(HEIGHT * (hits.rate or 0.0), 1), _LEAST_HEIGHT)
    text = f"{times.short(at)}: {hits.hits} of {hits.told}"
    return HitBar(x=BAR_WIDTH * place + 1, y=round(HEIGHT - height, 1), height=height, text=text)


def _percent(hits: Hits) -> str:
    return units.ABSENT if hits.rate is None else f"{100 * hits.rate:.0f} %"


def _hits(one: AssetComparison) -> Hits:
    facts = one.region.cold.a
    if facts is None:
        return Hits()
    told = sum(count for state, count in facts.caches.items() if state is not CacheState.UNKNOWN)
    return Hits(hits=facts.caches.get(CacheState.HIT, 0), told=told)
