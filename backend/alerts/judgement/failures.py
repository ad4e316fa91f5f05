"""X of the last N runs failed, in at least M regions: what consecutive failures never show (one in three, say)."""

from collections.abc import Collection
from dataclasses import dataclass

from backend.alerts.judgement.samples import MAX_DETAIL_CHARS, Memory, Sample, Seen, Standing, forget_others
from backend.alerts.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLimit:
    """So many failed runs, of so many, in so many regions."""

    failed: int
    of_last: int
    regions: int


class Failures:
    """A region counts from its `failed`-th failure among the last runs on, until fewer of them failed and as many in a
    row were good."""

    def __init__(self, memory: Memory, limit: FailureLimit) -> None:
        self._limit = limit
        self._last: dict[str, str] = dict(memory.get("last", {}))
        self._bad: dict[str, int] = dict(memory.get("bad", {}))
        self._runs: dict[str, list[str]] = dict(memory.get("runs", {}))
        self._detail = str(memory.get("detail", ""))

    def memory(self) -> Memory:
        return {"last": self._last, "bad": self._bad, "runs": self._runs, "detail": self._detail}

    def observe(self, sample: Sample) -> None:
        if sample.seen is Seen.NOTHING:
            return
        is_down = sample.seen is Seen.DOWN
        last = (self._last.get(sample.region, "") + ("x" if is_down else "."))[-self._limit.of_last :]
        self._last[sample.region] = last
        self._note_run(sample, is_down=is_down)
        if last.count("x") >= self._limit.failed:
            self._bad.setdefault(sample.region, sample.at_us)
        elif last.endswith("." * self._limit.failed):
            self._bad.pop(sample.region, None)

    def keep(self, regions: Collection[str]) -> None:
        for kept in (self._last, self._bad, self._runs):
            forget_others(kept, regions)

    def standing(self, current: State, now_us: int) -> Standing:
        if len(self._bad) < self._limit.regions:
            return Standing(state=State.OK, since_us=now_us)
        codes = tuple(sorted(self._bad, key=lambda code: (self._bad[code], code)))
        before, after = self._runs[codes[0]]
        counts = {code: self._last[code].count("x") for code in codes}
        return Standing(
            state=State.FAILING,
            since_us=self._bad[codes[0]],
            regions=codes,
            before=before,
            after=after,
            facts={"failed": max(counts.values()), "of_last": self._limit.of_last, "detail": self._detail},
        )

    def _note_run(self, sample: Sample, *, is_down: bool) -> None:
        """The last good run of a region before it counted, and its last failed one."""
        before, after = self._runs.get(sample.region, ["", ""])
        if is_down:
            self._runs[sample.region], self._detail = [before, sample.run_id.hex], sample.detail[:MAX_DETAIL_CHARS]
        elif sample.region not in self._bad:
            self._runs[sample.region] = [sample.run_id.hex, after]
