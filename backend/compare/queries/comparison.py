"""Whether a CDN helps, where, by how much and why: the verdicts of a pairing on the pairs of a period."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from backend.compare.models import Pairing
from backend.compare.samples import Samples, Window, samples_of
from backend.fleet.models import Region
from workers.diagnosis.pair.cdn import diagnosis_of_pairs
from workers.diagnosis.pair.verdict import PairVerdict, compare, overall
from workers.measurement.finding import Diagnosis
from workers.measurement.web_address import host_of

# By the words that stand in URLs.
PERIODS = {"24h": timedelta(hours=24), "7d": timedelta(days=7)}
# Of several assets side by side each has fewer pairs: their figures are read together.
ASSET_PAIRS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionComparison:
    """A pairing in a region: over fresh connections, and over those that were open. `newest` is its last run,
    `diagnosis` what follows for the CDN.
    """

    region: Region
    cold: PairVerdict
    reused: PairVerdict
    failed: int
    last_failure: str | None
    newest: UUID | None
    diagnosis: Diagnosis

    def of(self, *, reused: bool) -> PairVerdict:
        return self.reused if reused else self.cold


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A pairing in all of its regions, by their order, and over all of them."""

    pairing: Pairing
    window: Window
    regions: tuple[RegionComparison, ...]
    cold: PairVerdict
    reused: PairVerdict

    @property
    def since(self) -> datetime:
        """From when on pairs count: what was measured before the pairing was as it is was another comparison."""
        return max(self.window.since, self.pairing.compared_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetComparison:
    """One of several pairings, in one region."""

    pairing: Pairing
    region: RegionComparison


def comparison_of(pairing: Pairing, regions: Sequence[Region], window: Window) -> Comparison:
    """The verdicts of one pairing. Two statements."""
    places = places_of(pairing, regions)
    samples = samples_of([pairing], places, window)
    compared = tuple(compared_in(pairing, region, samples[pairing.pk, region.pk]) for region in places)
    return Comparison(
        pairing=pairing,
        window=window,
        regions=compared,
        cold=overall({one.region.name: one.cold for one in compared}),
        reused=overall({one.region.name: one.reused for one in compared}),
    )


def places_of(pairing: Pairing, regions: Sequence[Region]) -> list[Region]:
    """Those of the regions in which the pairing is measured."""
    return [region for region in regions if not pairing.monitor.regions or region.code in pairing.monitor.regions]


def compare_assets(pairings: Sequence[Pairing], region: Region, window: Window) -> list[AssetComparison]:
    """Several pairings in one region, by the newest hundred pairs of each. Two statements."""
    short = Window(since=window.since, until=window.until, limit=min(window.limit, ASSET_PAIRS))
    samples = samples_of(pairings, [region], short)
    return [
        AssetComparison(pairing=one, region=compared_in(one, region, samples[one.pk, region.pk])) for one in pairings
    ]


def compared_in(pairing: Pairing, region: Region, samples: Samples) -> RegionComparison:
    """The verdicts on the pairs of one region."""
    found = compare(samples.runs, failed=samples.failed)
    return RegionComparison(
        region=region,
        cold=found.cold,
        reused=found.reused,
        failed=samples.failed,
        last_failure=samples.last_failure,
        newest=samples.newest,
        diagnosis=diagnosis_of_pairs(samples.runs, found, host=host_of(pairing.monitor.url)),
    )
