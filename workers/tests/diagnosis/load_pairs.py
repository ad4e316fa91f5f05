"""Pairs of loads that were never made: a page's figures with hosts, and what a test says they are without them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workers.diagnosis.without.samples import LeftOut, Load, LoadPair, LoadSample, Metric, SamplePair, Side
from workers.measurement.failure import FailureKind, failure

HOST = "tags.example"
USUAL = {
    Metric.LCP: 1_200_000,
    Metric.FCP: 800_000,
    Metric.START_RENDER: 790_000,
    Metric.SPEED_INDEX: 900_000,
    Metric.TBT: 0,
    Metric.FULLY_LOADED: 2_000_000,
    Metric.BYTES: 500_000,
    Metric.REQUESTS: 30,
}
FAILED = Load(left_out=LeftOut.FAILED, failure=failure(FailureKind.PAGE_TIMEOUT))
DISTURBED = Load(left_out=LeftOut.DISTURBED)


def sample(changes: Mapping[Metric, int | None] | None = None, **more: Any) -> LoadSample:
    """The usual page, with other values of some metrics."""
    rest: dict[str, Any] = {"asked": frozenset({"www.example", HOST}), "own_requests": 20, "largest": "img.hero"}
    return LoadSample(values={**USUAL, **(changes or {})}, **(rest | more))


def without(changes: Mapping[Metric, int | None] | None = None, **more: Any) -> LoadSample:
    """What is asked of a host is asked all the same: it fails."""
    return sample(changes, **more)


def pair(with_hosts: LoadSample | Load, lesser: LoadSample | Load, first: Side = Side.WITH) -> LoadPair:
    return LoadPair(first=first, with_hosts=_load(with_hosts), without=_load(lesser))


def compared(metric: Metric, differences: Sequence[int | None]) -> list[SamplePair]:
    """A pair for each difference of that metric; None where its load without the hosts lacks it."""
    usual = sample()
    values = [None if one is None else USUAL[metric] + one for one in differences]
    return [SamplePair(usual, replace(usual, values={**usual.values, metric: value})) for value in values]


def _load(one: LoadSample | Load) -> Load:
    return one if isinstance(one, Load) else Load(sample=one)
