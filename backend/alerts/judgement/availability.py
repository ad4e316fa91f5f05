"""Whether a site can be reached. One failed run says little: another region has to agree before it counts.

Regions are measured one after the other, so that a site that is down for all is seen to be down region by region. What
a region said before the first failure is therefore no evidence that the site is up there.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from backend.alerts.judgement.rechecks import Held
from backend.alerts.judgement.samples import (
    MAX_DETAIL_CHARS,
    Memory,
    Sample,
    Seen,
    Standing,
    forget_others,
    newest_us,
)
from backend.alerts.states import State

# Runs in a row before a region that is down alone counts, against others that are up.
REGIONAL_FAILS = 3
# Runs in a row where nobody else can be asked.
LONELY_FAILS = 2
# Failed runs in all, where somebody has reached the site since the first of them: two that fail now and then are no
# outage, although both fall between two good ones.
DENIED_FAILS = 3
# Good runs before it is over.
OKS = 2
_MINUTE_US = 60_000_000


class Doubt(NamedTuple):
    """A first failure that others are to be asked about: whose, and since when."""

    region: str
    since_us: int


@dataclass(slots=True)
class _Place:
    """What a region says: runs in a row, the newest's time, since when it fails, one run that fails and the last good
    one, and why; since when it is good, when it failed last, and when it was good last.
    """

    fails: int = 0
    oks: int = 0
    at_us: int = 0
    since_us: int = 0
    bad: str = ""
    good: str = ""
    detail: str = ""
    good_us: int = 0
    bad_us: int = 0
    up_us: int = 0
    # The newest failures behind the first one: when, which run, and why.
    later: list[tuple[int, str, str]] = field(default_factory=list)

    def memory(self) -> list[int | str]:
        told = (self.since_us, self.bad, self.good, self.detail, self.good_us, self.bad_us)
        return [self.fails, self.oks, self.at_us, *told]

    def begin_after(self, at_us: int) -> None:
        """What failed up to then is over: it is down since the next failure, if there is one."""
        if self.since_us <= at_us:
            since = next((failure for failure in self.later if failure[0] > at_us), None)
            self.since_us, self.bad, self.detail = since or (self.since_us, self.bad, self.detail)


class Availability:
    """Down in several regions is failing, down in one region for a while is degraded: the site is up, but not there."""

    def __init__(self, memory: Memory, *, interval_s: int) -> None:
        self._places = {code: _Place(*values) for code, values in memory.get("places", {}).items()}
        for code, up_us in memory.get("up_us", {}).items():
            self._places[code].up_us = up_us
        for code, later in memory.get("later", {}).items():
            self._places[code].later = [(at_us, run, detail) for at_us, run, detail in later]
        self._failed = set(memory.get("failed", ()))
        self._asked_us = int(memory.get("asked_us", 0))
        # When one of the regions that are down reached it last.
        self._denied_us = int(memory.get("denied_us", 0))
        # A region that said nothing for so long is no witness.
        self._patience_us = interval_s * 2_500_000 + _MINUTE_US
        self._interval_us = interval_s * 1_000_000

    def memory(self) -> Memory:
        return {
            "places": {code: place.memory() for code, place in self._places.items()},
            # Apart from the places, whose number of values judges of an earlier version count on.
            "up_us": {code: place.up_us for code, place in self._places.items() if place.up_us},
            "later": {code: [list(one) for one in place.later] for code, place in self._places.items() if place.later},
            "failed": sorted(self._failed),
            "asked_us": self._asked_us,
            "denied_us": self._denied_us,
        }

    def observe(self, sample: Sample) -> None:
        """A confirmation is a sample like any other, but one that came after a newer one says nothing new."""
        place = self._places.setdefault(sample.region, _Place())
        if sample.seen is Seen.NOTHING or sample.at_us <= place.at_us:
            return
        place.at_us = sample.at_us
        if sample.seen is Seen.UP:
            place.good_us, place.up_us = place.good_us if place.oks else sample.at_us, sample.at_us
            place.fails, place.oks, place.good, place.detail = 0, place.oks + 1, sample.run_id.hex, ""
            place.later = []
            return
        failure = sample.at_us, sample.run_id.hex, sample.detail[:MAX_DETAIL_CHARS]
        if place.fails:
            place.later = [*place.later, failure][1 - DENIED_FAILS :]
        else:
            place.since_us, place.bad, place.detail = failure
        place.fails, place.oks, place.bad_us = place.fails + 1, 0, sample.at_us
        self._failed.add(sample.region)

    def keep(self, regions: Collection[str]) -> None:
        forget_others(self._places, regions)
        self._failed &= set(regions)

    def forgive(self, region: str, since_us: int) -> None:
        """Takes back that a region saw it down from then on: it saw nothing at all."""
        place = self._places.get(region)
        if place is not None and place.fails and place.since_us >= since_us:
            place.fails, place.bad, place.detail, place.later = 0, "", "", []
            self._failed.discard(region)

    def standing(self, current: State, now_us: int) -> Standing:
        fresh = self._fresh()
        down = {code: place for code, place in fresh.items() if place.fails}
        if not down:
            if not fresh or not self._is_over(fresh, current):
                return Standing(state=current, since_us=now_us, regions=tuple(sorted(self._failed)), firm=False)
            ended_us, failed = self._ended_us(fresh), sorted(self._failed)
            self._failed.clear()
            facts = {"up": sorted(fresh.keys() - set(failed))}
            return Standing(state=State.OK, since_us=ended_us, regions=tuple(failed), facts=facts)
        since_us = min(place.since_us for place in down.values())
        up = {code: place for code, place in fresh.items() if not place.fails and place.at_us > since_us}
        needed = DENIED_FAILS if self._is_denied(since_us) else 0
        state, where = self._decide(down, up, current, alone=len(fresh) == 1, needed=needed)
        if state is State.OK:
            return Standing(state=State.OK, since_us=now_us)
        if state is State.FAILING and current is State.OK:
            self._begin(where)
        codes = tuple(
            sorted(where, key=lambda code: (where[code].since_us <= self._denied_us, where[code].since_us, code))
        )
        first = fresh[codes[0]]
        return Standing(
            state=state,
            since_us=first.since_us,
            regions=codes,
            before=first.good,
            after=first.bad,
            turned_us=_turned_us(current, state, down, up),
            facts={"detail": first.detail, "up": sorted(up), "fails": first.fails},
        )

    def doubtful(self, now_us: int) -> Doubt | None:
        """The failure that nobody has confirmed or denied so far and that was not asked about; it is now."""
        down = {code: place for code, place in self._fresh().items() if place.fails}
        if len(down) != 1:
            return None
        ((code, place),) = down.items()
        is_new = place.fails == 1 and place.since_us != self._asked_us and now_us - place.at_us < self._interval_us
        if not is_new:
            return None
        self._asked_us = place.since_us
        return Doubt(code, place.since_us)

    def unanswered(self) -> None:
        """Who was asked said nothing: it is as if nobody had been, unless a region reached it meanwhile by itself."""
        if not self._is_denied(self._asked_us):
            self._asked_us = 0

    def _begin(self, down: dict[str, _Place]) -> None:
        """What one of the regions that are down now denied by reaching it was another trouble, and is over."""
        self._denied_us = newest_us(place.up_us for place in down.values())
        for place in down.values():
            place.begin_after(self._denied_us)

    def _is_denied(self, since_us: int) -> bool:
        """Whether a region has reached the site since."""
        return any(place.up_us > since_us for place in self._fresh().values())

    def held(self, current: State, since_us: int) -> Held:
        """Which regions have to see it well before it is over. What failed for the first time where another region is
        down alone has its own next slot to fail again."""
        counting = {
            code: place
            for code, place in self._fresh().items()
            if code in self._failed or not self._failed
            if current is not State.DEGRADED or not 0 < place.fails < REGIONAL_FAILS
        }
        down = {code: place for code, place in counting.items() if place.fails}
        open_still = down or {code: place for code, place in counting.items() if place.oks < OKS}
        last_bad_us = newest_us(place.bad_us for place in counting.values())
        return Held(
            since_us=since_us,
            regions={code: place.at_us for code, place in open_still.items()},
            newest_us=newest_us(place.at_us for place in counting.values()),
            is_back=any(place.up_us > last_bad_us for place in counting.values()),
        )

    def _fresh(self) -> dict[str, _Place]:
        newest = newest_us(place.at_us for place in self._places.values())
        oldest = newest - self._patience_us
        return {code: place for code, place in self._places.items() if place.at_us >= oldest and place.at_us}

    def _is_over(self, fresh: dict[str, _Place], current: State) -> bool:
        if current is State.OK:
            return True
        witnesses = self._failed & set(fresh)
        if not witnesses and self._failed and current is State.DEGRADED:
            # It was down there alone: that the others reach it, as they always did, says nothing.
            return False
        witnesses = witnesses or set(fresh)
        return sum(min(fresh[code].oks, OKS) for code in witnesses) >= OKS

    def _ended_us(self, fresh: dict[str, _Place]) -> int:
        """The first good run after the last failed one, in a region where it failed: others were good all the time."""
        witnesses = [fresh[code] for code in self._failed & set(fresh)]
        last_us = newest_us(place.bad_us for place in witnesses)
        goods = [at_us for place in witnesses for at_us in (place.good_us, place.at_us) if at_us > last_us]
        return min(goods, default=newest_us(place.at_us for place in fresh.values()))

    def _decide(
        self, down: dict[str, _Place], up: dict[str, _Place], current: State, *, alone: bool, needed: int
    ) -> tuple[State, dict[str, _Place]]:
        """`up` are regions that reached the site after the first failure; `alone` is the only region that tells, and
        `needed` how many runs have to have failed."""
        if alone:
            is_sure = max(place.fails for place in down.values()) >= LONELY_FAILS
            return State.FAILING if is_sure else current, down
        # Where one region is down already, another's first failure is a first failure again.
        sure = [code for code, place in down.items() if current is not State.DEGRADED or place.fails > 1]
        if len(sure) > 1 and len(sure) > len(up) and sum(down[code].fails for code in sure) >= needed:
            return State.FAILING, down
        # Where the site was down for all, a region that has not looked since it is up elsewhere is none that is down.
        back_us = min((place.good_us for place in up.values()), default=0) if current is State.FAILING else 0
        regional = {
            code: place for code, place in down.items() if place.fails >= REGIONAL_FAILS and place.at_us > back_us
        }
        if regional and up and self._is_settled(up, current):
            return State.DEGRADED, regional
        return current, down

    def _is_settled(self, up: dict[str, _Place], current: State) -> bool:
        """Regions recover one after the other: one that is up again twice is no passing moment."""
        return current is not State.FAILING or all(place.oks >= OKS for place in up.values())


def _turned_us(before: State, after: State, down: Mapping[str, _Place], up: Mapping[str, _Place]) -> int | None:
    """When a part of the regions became most of them, or most of them a part."""
    told = len(down) + len(up)
    match before, after:
        case State.DEGRADED, State.FAILING:
            return sorted(place.since_us for place in down.values())[told // 2]
        case State.FAILING, State.DEGRADED:
            return sorted(place.good_us for place in up.values())[(told - 1) // 2]
    return None
