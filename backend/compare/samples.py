"""The stored exchanges of pairs, as the verdict's own samples. One statement, however many monitors and regions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from backend.compare.models import Pairing
from backend.fleet.models import Region
from backend.runs.sql import fetch
from workers.diagnosis.pair.samples import LegSample, PairRun, pair_sample
from workers.diagnosis.pair.verdict import MAX_PAIRS
from workers.measurement.pair import CacheState, Leg
from workers.measurement.timing import Phases

# The newest runs of each monitor and region by the index of `run_once`, and their exchanges by primary key.
_LEGS = """
SELECT run.monitor_id, run.region_id, run.run_id, run.scheduled_for, leg.leg, leg.reused, leg.kept,
    leg.dns_us, leg.connect_us, leg.tls_us, leg.send_us, leg.wait_us, leg.download_us, leg.ttfb_us, leg.total_us,
    leg.status_code, leg.protocol, leg.encoding, leg.body_bytes, leg.cache, leg.age_s, leg.etag,
    host(connection.address), connection.port, connection.rtt_us, connection.tls_round_trips, connection.tls_version
FROM unnest(%(monitors)s::bigint[], %(since)s::timestamptz[]) AS pairing (monitor_id, since)
CROSS JOIN unnest(%(regions)s::bigint[]) AS place (region_id),
LATERAL (
    SELECT run_id, scheduled_for, runs_run.monitor_id, runs_run.region_id FROM runs_run
    WHERE runs_run.monitor_id = pairing.monitor_id AND runs_run.region_id = place.region_id
        AND scheduled_for >= pairing.since AND scheduled_for < %(until)s
        AND outcome = 'measured' AND trigger = 'schedule' AND contended IS NOT TRUE
    ORDER BY scheduled_for DESC, attempt DESC LIMIT %(limit)s
) run
JOIN runs_leg leg ON leg.run_id = run.run_id AND leg.scheduled_for = run.scheduled_for
LEFT JOIN runs_connection connection ON connection.run_id = leg.run_id
    AND connection.scheduled_for = leg.scheduled_for AND connection.number = leg.connection
ORDER BY run.scheduled_for
"""
_FAILED = """
SELECT monitor_id, region_id, count(*), (array_agg(failure_detail ORDER BY scheduled_for DESC))[1]
FROM unnest(%(monitors)s::bigint[], %(since)s::timestamptz[]) AS pairing (monitor, since)
JOIN runs_run ON runs_run.monitor_id = pairing.monitor
WHERE scheduled_for >= pairing.since AND scheduled_for < %(until)s AND region_id = ANY(%(regions)s)
    AND outcome = 'failed' AND trigger = 'schedule'
GROUP BY monitor_id, region_id
"""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when pairs count, and how many of the newest a region at most."""

    since: datetime
    until: datetime
    limit: int = MAX_PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The runs of one pairing in one region, oldest first, and those that failed."""

    runs: tuple[PairRun, ...] = ()
    newest: UUID | None = None
    failed: int = 0
    last_failure: str | None = None


class _Row(NamedTuple):
    monitor_id: int
    region_id: int
    run_id: UUID
    scheduled_for: datetime
    leg: str
    reused: bool
    kept: bool
    phases: tuple[int | None, ...]
    sample: tuple[Any, ...]


def samples_of(
    pairings: Sequence[Pairing], regions: Sequence[Region], window: Window
) -> dict[tuple[int, int], Samples]:
    """By pairing and region, both by their keys; those without any run are there, too. Two statements."""
    places = {pairing.monitor_id: pairing.pk for pairing in pairings}
    parameters = {
        "monitors": list(places),
        "since": [max(window.since, pairing.compared_from) for pairing in pairings],
        "until": window.until,
        "regions": [region.pk for region in regions],
        "limit": window.limit,
    }
    rows: dict[Place, list[_Row]] = defaultdict(list)
    for row in map(_row, fetch(_LEGS, parameters)):
        rows[row.monitor_id, row.region_id].append(row)
    failed = {(monitor, region): (count, text) for monitor, region, count, text in fetch(_FAILED, parameters)}
    return {
        (key, region.pk): _samples(rows.get((monitor, region.pk), ()), failed.get((monitor, region.pk), (0, None)))
        for monitor, key in places.items()
        for region in regions
    }


def _samples(rows: Sequence[_Row], failed: tuple[int, str | None]) -> Samples:
    by_run: dict[UUID, list[_Row]] = defaultdict(list)
    for row in rows:
        by_run[row.run_id].append(row)
    newest = rows[-1] if rows else None
    return Samples(
        runs=tuple(_run(exchanges) for exchanges in by_run.values()),
        newest=newest and newest.run_id,
        failed=failed[0],
        last_failure=failed[1],
    )


def _run(rows: Iterable[_Row]) -> PairRun:
    rows = list(rows)
    found: Mapping[tuple[str, bool], LegSample] = {(row.leg, row.reused): _leg(row) for row in rows}
    cold, reused = (pair_sample(found.get(("a", reused)), found.get(("b", reused))) for reused in (False, True))
    not_kept = tuple(leg for leg in Leg if any(row.leg == leg and not row.kept for row in rows))
    return PairRun(cold=cold, reused=reused, not_kept=not_kept)


def _leg(row: _Row) -> LegSample:
    status, protocol, encoding, body_bytes, cache, age_s, etag, address, port, rtt_us, trips, tls_version = row.sample
    return LegSample(
        phases=Phases(**dict(zip(Phases.__slots__, row.phases, strict=True))),
        status=status,
        protocol=protocol,
        content_encoding=encoding,
        body_bytes=body_bytes,
        cache=CacheState(cache),
        age_s=age_s,
        etag=etag,
        address=address,
        port=port,
        rtt_us=rtt_us,
        tls_round_trips=trips,
        tls_version=tls_version,
    )


def _row(row: tuple[Any, ...]) -> _Row:
    return _Row._make((*row[:7], row[7:15], row[15:]))
