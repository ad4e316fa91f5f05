"""What holds of a pairing now, stored: which verdict since when, and whether the CDN is surely slower.

Verdicts are made anew every few minutes over a day that moves on, so a rare error of each would be seen often. An alert
therefore needs less doubt: a hundredth of what the page allows itself. It ends when the page no longer says so.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from backend.alerts.models import Resolution, RuleKind
from backend.alerts.reports import report
from backend.alerts.states import State
from backend.compare.models import Pairing, StoredVerdict
from backend.compare.queries.comparison import PERIODS, RegionComparison, compared_in, places_of
from backend.compare.samples import Samples, Window, samples_of
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from workers.diagnosis.pair.samples import Verdict
from workers.diagnosis.pair.verdict import MIN_PAIRS, PairVerdict, judge, overall
from workers.diagnosis.units import ms

PERIOD = PERIODS["24h"]
# The verdict asks for five times less doubt than it is told: this makes it one in ten thousand.
SURE = 0.9995


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """In this region the CDN has become slower than the origin, or is so no longer."""

    region: Region
    slower: bool


@transaction.atomic
def judge_pairing(pairing: Pairing, *, now: datetime) -> list[Change]:
    """Stores the verdicts of now and tells the rules of alerts; what has changed.

    By the pairing as it is now, and it is held: one that is given another address meanwhile is another comparison.
    """
    held = Pairing.objects.select_for_update(of=("self",)).select_related("monitor", "site__organisation")
    found_again = held.filter(pk=pairing.pk).first()
    if found_again is None:
        return []
    pairing = found_again
    regions = places_of(pairing, usable_regions(pairing.site.organisation))
    samples = samples_of([pairing], regions, Window(since=now - PERIOD, until=now))
    before = {row.region_id: row for row in StoredVerdict.objects.select_for_update().filter(pairing=pairing)}
    found = {region.pk: compared_in(pairing, region, samples[pairing.pk, region.pk]) for region in regions}
    rows: list[StoredVerdict] = []
    changes: list[Change] = []
    for region in regions:
        known = before.get(region.pk)
        row = _row(pairing, region, found[region.pk].cold, known, now)
        row.slower_since = _slower_since(known, found[region.pk], samples[pairing.pk, region.pk], now)
        rows.append(row)
        if (known is not None and known.slower_since is not None) != (row.slower_since is not None):
            slower = row.slower_since is not None
            changes.append(Change(region=region, slower=slower))
    rows.append(_row(pairing, None, _overall(found), before.get(None), now))
    _store(pairing, rows)
    was_slower = {region_id for region_id, row in before.items() if region_id and row.slower_since}
    _report(pairing, [found[region.pk] for region in regions], rows, now, gone=was_slower - found.keys())
    return changes


def report_end(pairing: Pairing, *, now: datetime, why: Resolution = Resolution.RECOVERED) -> None:
    """What was said of a pairing that is no more, or is another one from now on, holds no longer."""
    report(kind=RuleKind.CDN, site=pairing.site, state=State.OK, at=now, subject=_subject(pairing), resolution=why)


def _report(
    pairing: Pairing, found: Sequence[RegionComparison], rows: Sequence[StoredVerdict], now: datetime, *, gone: Set[int]
) -> None:
    """Says where the CDN is surely slower; that it is slower nowhere only where something is known. `gone` are regions
    where it was slower and is not measured any more: nobody has seen that it is so no longer."""
    since = {row.region_id: row.slower_since for row in rows if row.region_id and row.slower_since}
    slower = [one for one in found if one.region.pk in since]
    if pairing.monitor.paused:
        report_end(pairing, now=now, why=Resolution.PAUSED)
    elif not found:
        report_end(pairing, now=now, why=Resolution.UNMEASURED)
    elif slower:
        slower.sort(key=lambda one: -one.cold.estimate_us)
        report(
            kind=RuleKind.CDN,
            site=pairing.site,
            state=State.DEGRADED,
            at=now,
            subject=_subject(pairing),
            title=_title(pairing, slower),
            sentences=_told(pairing, slower[0]),
            regions=[one.region.code for one in slower],
            since=min(since.values()),
            after_run=slower[0].newest,
        )
    elif gone:
        report_end(pairing, now=now, why=Resolution.REPLACED)
    elif any(one.cold.pairs >= MIN_PAIRS for one in found):
        report_end(pairing, now=now)


def _title(pairing: Pairing, slower: Sequence[RegionComparison]) -> str:
    worst = slower[0]
    more = f" and {len(slower) - 1} more" if len(slower) > 1 else ""
    by = ms(worst.cold.estimate_us)
    return f"{pairing.site.name}: the CDN is {by} slower than the origin in {worst.region.name}{more}"


def _told(pairing: Pairing, worst: RegionComparison) -> list[str]:
    reason = worst.cold.main_reason
    return [f"{pairing.name}: {worst.cold.sentence}", *([reason.text] if reason else [])]


def _subject(pairing: Pairing) -> str:
    """What keeps the pairings of a site apart: twenty characters are enough of its id."""
    return pairing.public_id.hex[:20]


def _row(
    pairing: Pairing, region: Region | None, verdict: PairVerdict, known: StoredVerdict | None, now: datetime
) -> StoredVerdict:
    difference = verdict.difference
    is_same = known is not None and known.verdict == verdict.verdict
    return StoredVerdict(
        pairing=pairing,
        region=region,
        verdict=verdict.verdict.value,
        since=known.since if known is not None and is_same else now,
        judged_at=now,
        pairs=verdict.pairs,
        estimate_us=None if difference is None else difference.estimate_us,
        low_us=None if difference is None else difference.low_us,
        high_us=None if difference is None else difference.high_us,
        sentence=verdict.sentence,
        reason=verdict.main_reason.text if verdict.main_reason else "",
    )


def _slower_since(
    known: StoredVerdict | None, found: RegionComparison, samples: Samples, now: datetime
) -> datetime | None:
    since = known.slower_since if known is not None else None
    if found.cold.pairs < MIN_PAIRS:
        # Too little is known to call it over, or to begin it.
        return since
    if found.cold.verdict is not Verdict.ORIGIN_FASTER:
        return None
    return since or (now if _is_sure(samples) else None)


def _is_sure(samples: Samples) -> bool:
    colds = [run.cold for run in samples.runs if run.cold is not None]
    return judge(colds, confidence=SURE).verdict is Verdict.ORIGIN_FASTER


def _overall(found: Mapping[int, RegionComparison]) -> PairVerdict:
    return overall({one.region.name: one.cold for one in found.values()})


def _store(pairing: Pairing, rows: Sequence[StoredVerdict]) -> None:
    """In the place of those before; regions that no longer measure it are gone with theirs."""
    StoredVerdict.objects.filter(pairing=pairing).delete()
    StoredVerdict.objects.bulk_create(rows)
