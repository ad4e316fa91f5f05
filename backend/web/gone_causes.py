"""What was to be mended at a site and is not found any more, as its page tells it. Pure."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from backend.runs.queries import GoneCause
from backend.web.phrases import listed
from backend.web.waterfall.text import printable
from workers.diagnosis.catalogue import title_of
from workers.measurement.finding import FindingId

_KNOWN = frozenset(FindingId)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A cause, on which `host` where it has one, in which regions, and when it was found last."""

    title: str
    host: str
    where: str
    last_seen: datetime


def gone(causes: Iterable[GoneCause], open_ids: Collection[str]) -> Iterator[Gone]:
    """Those that no other region finds either, in words that are known here: a newer agent may have others."""
    for one in causes:
        if one.finding in _KNOWN and one.finding not in open_ids:
            yield Gone(
                title=title_of(FindingId(one.finding), one.severity),
                host=printable(one.host or "", 200),
                where=listed([printable(name, 100) for name in one.regions]),
                last_seen=one.last_seen,
            )
