"""A detector run over what was measured: the alerts that it would have raised, told once each."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from operator import itemgetter

from backend.analysis.detector import Detector
from backend.analysis.events import ENDS, Alert, Event, Kind
from backend.analysis.history import Series
from backend.analysis.settings import Settings

# A time and what was measured then; None is a failed check.
Sample = tuple[float, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An alert as it was known last, with how it ended: `ended` is None while it is open. `lasting_at` is when it was
    first known to last, whatever it became after that."""

    alert: Alert
    lasting_at: float | None
    ended: Kind | None
    ended_at: float | None


class Recorded:
    """A history in memory."""

    def __init__(self, regions: Mapping[str, Sequence[Sample]], deploys: Sequence[float] = ()) -> None:
        self._series = {region: _present(samples) for region, samples in regions.items()}
        self._deploys = sorted(deploys)

    def samples(self, since: float, until: float) -> Mapping[str, Series]:
        return {region: _between(series, since, until) for region, series in self._series.items()}

    def deploys(self, since: float, until: float) -> Sequence[float]:
        return self._deploys[bisect_right(self._deploys, since) : bisect_right(self._deploys, until)]


def replay(regions: Mapping[str, Sequence[Sample]], deploys: Sequence[float], settings: Settings) -> list[Told]:
    """The alerts over samples in order of time, in the order in which they opened."""
    detector = Detector(settings, Recorded(regions, deploys))
    told: list[Told] = []
    for at, region, value in in_order(regions):
        for event in detector.observe(at, region, value):
            _record(told, event)
    if detector.alert:
        # It has been measured again since it was told.
        told[-1] = replace(told[-1], alert=detector.alert)
    return told


def in_order(regions: Mapping[str, Sequence[Sample]]) -> Iterator[tuple[float, str, float | None]]:
    """The samples of all regions as they came in."""
    streams = [[(at, region, value) for at, value in samples] for region, samples in regions.items()]
    return merge(*streams, key=itemgetter(0))


def _record(told: list[Told], event: Event) -> None:
    if event.kind is Kind.OPENED:
        told.append(Told(alert=event.alert, lasting_at=None, ended=None, ended_at=None))
        return
    ended = event.kind if event.kind in ENDS else None
    lasting_at = event.alert.confirmed_at if told[-1].lasting_at is None else told[-1].lasting_at
    told[-1] = Told(alert=event.alert, lasting_at=lasting_at, ended=ended, ended_at=event.at if ended else None)


def _present(samples: Sequence[Sample]) -> Series:
    present = [(at, value) for at, value in samples if value is not None]
    return [at for at, _ in present], [value for _, value in present]


def _between(series: Series, since: float, until: float) -> Series:
    times, values = series
    first, last = bisect_right(times, since), bisect_right(times, until)
    return times[first:last], values[first:last]
