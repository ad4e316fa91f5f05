"""What is read about comparisons. Every question starts from the organisation, in a fixed number of statements."""

from backend.compare.queries.caches import Hits, RegionHits, hits_over_time
from backend.compare.queries.comparison import (
    PERIODS,
    AssetComparison,
    Comparison,
    RegionComparison,
    compare_assets,
    comparison_of,
)
from backend.compare.queries.pairings import pairing, pairings, pairings_after, proposed_pairs, verdicts_now

__all__ = [
    "PERIODS",
    "AssetComparison",
    "Comparison",
    "Hits",
    "RegionComparison",
    "RegionHits",
    "compare_assets",
    "comparison_of",
    "hits_over_time",
    "pairing",
    "pairings",
    "pairings_after",
    "proposed_pairs",
    "verdicts_now",
]
