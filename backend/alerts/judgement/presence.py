"""Whether there is anything to judge at all: no run ended for some intervals although agents live."""

from collections.abc import Sequence

from backend.alerts.judgement.samples import Memory, Sample, Standing, newest_us
from backend.alerts.states import State


class Presence:
    """Only regions whose agents live count: for the others there is the rule about agents.

    A run that failed is data. A slot that was missed is not.
    """

    def __init__(self, memory: Memory, *, interval_s: int, intervals: int, began_us: int) -> None:
        self._seen: dict[str, int] = dict(memory.get("seen", {}))
        self._began_us = int(memory.get("began_us", began_us))
        self._interval_us, self._intervals = interval_s * 1_000_000, intervals
        self._live: Sequence[str] = ()
        self._slack_us = 0

    def memory(self) -> Memory:
        return {"seen": self._seen, "began_us": self._began_us}

    def expect(self, live: Sequence[str], *, slack_us: int) -> None:
        """Which regions ought to bring data, and how long a run may take to end."""
        self._live, self._slack_us = live, slack_us

    def observe(self, sample: Sample) -> None:
        self._seen[sample.region] = max(sample.at_us, self._seen.get(sample.region, 0))

    def restart(self, at_us: int) -> None:
        """What lies before is no silence: nothing was to be measured."""
        self._began_us = at_us

    def standing(self, current: State, now_us: int) -> Standing:
        if not self._live:
            return Standing(state=current, since_us=now_us, firm=False)
        newest = max(newest_us(self._seen.get(code, 0) for code in self._live), self._began_us)
        if now_us - newest <= self._intervals * self._interval_us + self._slack_us:
            return Standing(state=State.OK, since_us=newest)
        return Standing(
            state=State.NO_DATA, since_us=newest, regions=tuple(sorted(self._live)), facts={"seen_us": newest}
        )
