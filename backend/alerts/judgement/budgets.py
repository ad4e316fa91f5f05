"""A metric's median over a limit: budgets and thresholds. The median of several runs, since one run is no verdict."""

from collections.abc import Collection
from dataclasses import dataclass
from statistics import median

from backend.alerts.judgement.samples import Memory, Sample, Standing, forget_others
from backend.alerts.states import State

# What is over must come so far below the limit to be under again, or a site that stands at the limit would alert and
# recover in turn.
CLEAR_AT = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Over `limit` is degraded, over `critical_limit` (if any) failing; in the door's unit."""

    metric: str
    limit: float
    critical_limit: float | None
    of_last: int
    regions: int


class OverBudget:
    """A region is over once the median of its last runs is; it needs all of them."""

    def __init__(self, memory: Memory, budget: Budget) -> None:
        self._budget = budget
        self._values: dict[str, list[float]] = dict(memory.get("values", {}))
        self._over: dict[str, int] = dict(memory.get("over", {}))
        self._critical: dict[str, int] = dict(memory.get("critical", {}))
        self._runs: dict[str, list[str]] = dict(memory.get("runs", {}))

    def memory(self) -> Memory:
        return {"values": self._values, "over": self._over, "critical": self._critical, "runs": self._runs}

    def observe(self, sample: Sample) -> None:
        value = sample.value(self._budget.metric)
        if value is None:
            return
        values = [*self._values.get(sample.region, ()), value][-self._budget.of_last :]
        self._values[sample.region] = values
        if len(values) == self._budget.of_last:
            middle = median(values)
            _note(self._over, sample, middle, self._budget.limit)
            _note(self._critical, sample, middle, self._budget.critical_limit)
        before, after = self._runs.get(sample.region, ["", ""])
        is_high = value > self._budget.limit
        self._runs[sample.region] = [before, sample.run_id.hex] if is_high else [sample.run_id.hex, after]

    def keep(self, regions: Collection[str]) -> None:
        for kept in (self._values, self._over, self._critical, self._runs):
            forget_others(kept, regions)

    def standing(self, current: State, now_us: int) -> Standing:
        if len(self._critical) >= self._budget.regions:
            state, where, limit = State.FAILING, self._critical, self._budget.critical_limit
        elif len(self._over) >= self._budget.regions:
            state, where, limit = State.DEGRADED, self._over, self._budget.limit
        else:
            return Standing(state=State.OK, since_us=now_us)
        codes = tuple(sorted(where, key=lambda code: (where[code], code)))
        before, after = self._runs[codes[0]]
        return Standing(
            state=state,
            since_us=where[codes[0]],
            regions=codes,
            before=before,
            after=after,
            facts={
                "metric": self._budget.metric,
                "value": max(median(self._values[code]) for code in codes),
                "limit": limit,
                "of_last": self._budget.of_last,
            },
        )


def _note(over: dict[str, int], sample: Sample, middle: float, limit: float | None) -> None:
    if limit is not None and middle > limit:
        over.setdefault(sample.region, sample.at_us)
    elif limit is None or middle <= limit * CLEAR_AT:
        over.pop(sample.region, None)
