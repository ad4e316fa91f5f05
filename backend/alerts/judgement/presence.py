"""Whether there is anything to judge at all: no run ended for some intervals although agents live."""

from collections.abc import Collection, Sequence

from backend.alerts.judgement.samples import MAX_DETAIL_CHARS, Memory, Sample, Seen, Standing, forget_others
from backend.alerts.states import State


class Presence:
    """Only regions whose agents live count: for the others there is the rule about agents.

    A run that failed is data. A slot that was missed is not. Whoever had no agents, or was not asked to measure, is
    excused until they have had time. Runs that fail by our own fault are no data either, and the last one tells why.
    """

    def __init__(self, memory: Memory, *, patience_us: int, began_us: int) -> None:
        self._seen: dict[str, int] = dict(memory.get("seen", {}))
        self._excused: dict[str, int] = dict(memory.get("excused", {}))
        # Of regions that saw nothing since: the last run that failed, as hex, and how.
        self._failed: dict[str, list[str]] = dict(memory.get("failed", {}))
        # Nobody was to measure as often as is asked for from now on.
        is_hurried = patience_us < memory.get("patience_us", patience_us)
        self._began_us = began_us if is_hurried else int(memory.get("began_us", began_us))
        self._patience_us = patience_us
        self._asked: list[str] | None = memory.get("asked")
        self._live: Sequence[str] = ()

    def memory(self) -> Memory:
        return {
            "seen": self._seen,
            "excused": self._excused,
            "failed": self._failed,
            "began_us": self._began_us,
            "patience_us": self._patience_us,
            "asked": self._asked,
        }

    def expect(self, live: Sequence[str], silent: Sequence[str], now_us: int) -> None:
        """Which regions ought to bring data, and which cannot."""
        joined = [code for code in live if self._asked is not None and code not in self._asked]
        self._live, self._asked = live, sorted([*live, *silent])
        self._excused.update(dict.fromkeys([*silent, *joined], now_us))

    def restart(self, at_us: int) -> None:
        """What lies before is no silence: nothing was to be measured, or nobody looked."""
        self._began_us = at_us

    def observe(self, sample: Sample) -> None:
        if sample.seen is not Seen.NOTHING:
            self._seen[sample.region] = max(sample.at_us, self._seen.get(sample.region, 0))
            self._failed.pop(sample.region, None)
        elif sample.detail:
            self._failed[sample.region] = [sample.run_id.hex, sample.detail[:MAX_DETAIL_CHARS]]

    def keep(self, regions: Collection[str]) -> None:
        forget_others(self._seen, regions)
        forget_others(self._excused, regions)
        forget_others(self._failed, regions)

    def standing(self, current: State, now_us: int) -> Standing:
        oldest = now_us - self._patience_us
        newest = max((self._seen.get(code, 0) for code in self._live), default=0)
        if newest > oldest:
            return Standing(state=State.OK, since_us=newest)
        late = [code for code in self._live if max(self._excused.get(code, 0), self._began_us) <= oldest]
        if not late:
            return Standing(state=current, since_us=now_us, firm=False)
        since_us = max(newest or min(self._excused.get(code, 0) for code in late), self._began_us)
        regions = tuple(sorted(late, key=lambda code: (code not in self._failed, code)))
        after, detail = self._failed.get(regions[0], ("", ""))
        facts = {"seen_us": newest or None, "detail": detail}
        return Standing(state=State.NO_DATA, since_us=since_us, regions=regions, after=after, facts=facts)
