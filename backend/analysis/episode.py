"""An alert from its opening to its end: how large, whether it stays, and when it is over."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf, log1p
from typing import Any

import numpy as np

from backend.analysis.change import (
    Change,
    Question,
    examine,
    least_told,
    level_error,
    level_of,
    level_of_most,
    levels,
    worth_telling,
)
from backend.analysis.clock_changes import same_hour
from backend.analysis.events import Alert, AlertClass
from backend.analysis.fusion import majority
from backend.analysis.history import History
from backend.analysis.model import Model
from backend.analysis.onset import Onset
from backend.analysis.persistence import Watch
from backend.analysis.settings import DAY_S, HOUR_S, ROLLOUT_S, Settings
from backend.analysis.transform import to_log

# How far back a change is looked for: so many rounds of tests, at least a day.
_LOOK_BACK_ROUNDS = 600
# Of a change that comes every day or week, each shows so much at least; and before it began no more than so much.
_HABIT_PART, _BEFORE_HABIT = 0.6, 0.4
# A region that brought nothing for so many rounds of tests is silent; one where half of the runs fail is not. When no
# region brought anything for a few rounds, it is ours.
_SILENT_ROUNDS, OUR_ROUNDS = 12, 3
# Twice the standard error: a level that is no further off may be the old one.
_ERRORS = 2
# Evidence, in natural logarithms of likelihood, that a level is the old one, or that a part of the shift is left.
_SURE = 2.5


@dataclass(frozen=True, slots=True)
class Facts:
    """What an episode is judged by. `ended_at`: until when the one before it lasted."""

    model: Model
    settings: Settings
    history: History
    ended_at: float = -inf

    def examine(self, at: float, question: Question, *, back_to: float = inf, after: float = -inf) -> Change | None:
        """The change asked for, looked for back to an instant at least, and not before the offsets held: what
        an earlier alert told is over."""
        reach = max(_LOOK_BACK_ROUNDS * self.settings.interval_s, DAY_S)
        since = max(min(at - reach, back_to), after, self.ended_at)
        samples, deploys = self.history.samples(since, at), self.history.deploys(since, at)
        return examine(samples, self.model, replace(question, deploys=deploys), self.settings)

    def worth_telling(self, shifts: Mapping[str, float]) -> bool:
        return worth_telling(self.model, shifts, self.settings)

    def least_told(self, shifts: Mapping[str, float]) -> float:
        return least_told(self.model, shifts, self.settings)

    def is_habit(self, at: float, change: Change) -> bool:
        """Whether the last two weeks had most of the change at the same time of the week, or the last two days at the
        same time of the day, when it began as well: days on end that were slow are none that became so."""
        return all(self._had_that_day(change, at, days) for days in (1, 2)) or all(
            any(self._had(change, at, ago) for ago in same_hour(at, days)) for days in (7, 14)
        )

    def _had_that_day(self, change: Change, at: float, days: int) -> bool:
        agos = same_hour(at, days)
        return any(self._had(change, at, ago) and not self._had_before(change, ago) for ago in agos)

    def _had(self, change: Change, at: float, ago: float) -> bool:
        """Since it may have begun. Of what has just begun the hour from then on says more of that day than its first
        runs, which chance moves."""
        spans = {(began, max(at, until)) for began in _begins(change) for until in (at, began + HOUR_S)}
        levels = [self._level_between(began - ago, until - ago, change) for began, until in sorted(spans)]
        return any(level is not None and level / _mean(change.shifts) >= _HABIT_PART for level in levels)

    def _had_before(self, change: Change, ago: float) -> bool:
        """Unknown is as good as had."""
        until = min(change.onset.earliest, change.onset.at - self.settings.interval_s) - ago
        level = self._level_between(until - HOUR_S, until, change)
        return level is None or level / _mean(change.shifts) > _BEFORE_HABIT

    def level_error(self, since: float, at: float, regions: Collection[str]) -> float:
        """How far chance may have moved the level of these regions since then."""
        samples = self.history.samples(since, at)
        return level_error({region: series for region, series in samples.items() if region in regions}, self.model)

    def deviations(self, since: float, at: float, regions: Collection[str]) -> list[tuple[float, str, float]]:
        """Of all runs of these regions from the baseline, in standard deviations: when, where and how far."""
        samples, found = self.history.samples(since, at), []
        for region in samples.keys() & set(regions):
            times, values = np.asarray(samples[region][0], dtype=np.float64), samples[region][1]
            far = self.model.members[region].baseline.deviations(times, to_log(values, self.settings))
            found += [(when, region, one) for when, one in zip(times.tolist(), far.tolist(), strict=True)]
        return sorted(found)

    def reporting(self, since: float, at: float) -> set[str]:
        """The regions that brought anything."""
        samples = self.history.samples(since, at)
        return {region for region, (times, _) in samples.items() if region in self.model.members and len(times) > 0}

    def _level_between(self, since: float, until: float, change: Change) -> float | None:
        # Regions take turns: as many runs of that day, and none of before, which would hide what is short.
        beside_s = self.settings.interval_s / 2 / len(change.shifts)
        samples = self.history.samples(since - beside_s, until)
        chosen = {region: series for region, series in samples.items() if region in change.shifts}
        return level_of_most(chosen, self.model, self.settings)


@dataclass(slots=True)
class Episode:
    """`shifts`: the levels of the regions affected above their baselines, in logarithms; `caution`: the part of them
    that is sure; `most`: the largest mean of them so far. `since`: when it opened, or
    reached most regions, so that what came later is evidence of its own. `measure_at`: when its size is to be measured
    again; None before it is confirmed. `heard`: when each region brought something last; `silent`: those that were left
    out since they did not.
    """

    alert: Alert
    direction: int
    shifts: dict[str, float]
    caution: float
    watch: Watch
    since: float
    measure_at: float | None = None
    most: float = 0.0
    heard: dict[str, float] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, at: float, change: Change, direction: int, facts: Facts) -> "Episode":
        alert = _describe(change, direction, at, facts)
        return cls(alert, direction, dict(change.shifts), change.caution, Watch(0.0, 0.0, at), at)

    def add(self, at: float, region: str, deviation: float, facts: Facts) -> None:
        """Takes in a sample, by its deviation from the baseline in standard deviations."""
        if at - max(self.heard.values(), default=at) > OUR_ROUNDS * facts.settings.interval_s:
            self.heard = dict.fromkeys(self.heard, at)
        self.heard[region] = at
        if region in self.shifts:
            self._show(self.watch, at, region, deviation, facts)

    def _show(self, watch: Watch, at: float, region: str, deviation: float, facts: Facts) -> None:
        size = self.caution * abs(self.shifts[region]) / facts.model.members[region].baseline.scale
        alone = len(self.shifts) == 1
        noise = facts.model.members[region].noise if alone else facts.model.noise
        watch.add(at, self.direction * deviation, size, noise)

    def keep(self, regions: Collection[str]) -> None:
        """Only these are measured from: whatever others said last, they are silent from now on."""
        self.heard.update(dict.fromkeys(self.shifts.keys() - set(regions), 0.0))

    def forget_silent(self, at: float, facts: Facts) -> bool:
        """Leaves out regions that say nothing any more, as long as others do: whether it is over there nobody knows.
        True where there were any."""
        patience_s = _SILENT_ROUNDS * facts.settings.interval_s
        speaking = {
            region: shift
            for region, shift in self.shifts.items()
            if at - self.heard.setdefault(region, at) <= patience_s
        }
        if not speaking or len(speaking) == len(self.shifts):
            return False
        self.silent += sorted(self.shifts.keys() - speaking.keys())
        self.shifts, self.alert = speaking, replace(self.alert, regions=tuple(sorted(speaking)))
        self._relevel(facts)
        return True

    def lasts(self, at: float, settings: Settings) -> bool:
        """Whether the time has come to confirm it."""
        hurried = self.alert.deploy_at is not None
        needed = settings.persistence_after_deploy_s if hurried else settings.persistence_s
        return self.alert.confirmed_at is None and at - self.since >= needed and self.watch.has_stayed

    def confirm(self, at: float, facts: Facts) -> bool:
        """Takes it for lasting, if with what has come since it is still worth telling."""
        if not self.measure(at, facts):
            return False
        self.alert = replace(self.alert, confirmed_at=at)
        self._become(self.alert)
        return True

    def is_to_measure(self, at: float) -> bool:
        """Whether the time has come to measure it again: not while it may be going back."""
        return self.measure_at is not None and at >= self.measure_at and self.watch.has_stayed

    def measure(self, at: float, facts: Facts) -> bool:
        """Measures the present level anew with what has come since; False, with nothing done, when it is normal."""
        self.measure_at = at + (at - self.alert.level_since)
        if self.alert.level_since > self.alert.change_at:
            # Each by itself: drawn towards the others, one that has not moved would seem to have.
            alone = (self._levels_since(self.alert.level_since, at, facts, region) for region in self.shifts)
            shifts = {**self.shifts, **{region: level for one in alone for region, level in one.items()}}
            return self._agree(shifts, at, facts)
        change = facts.examine(at, Question(direction=self.direction), back_to=self.alert.change_from)
        if change is None or not facts.worth_telling(change.shifts):
            return False
        if change.onset.at > self.alert.opened_at:
            # A second step on top: the first one is the one that lasted.
            change = replace(change, onset=self._onset())
        self._take(change, change.onset.at, facts)
        return True

    def ease(self, at: float, change: Change, facts: Facts) -> bool:
        """Takes in a change back; False, with nothing done, where that may be all of the way: the watch makes sure."""
        return self._ease(change.shifts, change.onset.at, at, facts) is False

    def shift(self, at: float, change: Change, facts: Facts) -> bool:
        """Takes in a further change, on or elsewhere. True when it is so much worse as to be worth telling."""
        before, was = _mean(self.shifts), self.alert.alert_class
        # One more region matters as long as it is not most of them anyway.
        further = was is AlertClass.REGIONAL and bool(change.shifts.keys() - self.shifts.keys() - {*self.silent})
        total = replace(change, onset=self._onset(), shifts=self.shifts | dict(change.shifts))
        self._take(total, change.onset.at, facts)
        self._measure_anew(at)
        if further and self.alert.alert_class is not AlertClass.REGIONAL:
            # Whether it lasts in most regions is another question.
            self._become(replace(self.alert, alert_class=AlertClass.SLOWDOWN, confirmed_at=None))
            self.since, self.watch, self.measure_at = at, Watch(0.0, 0.0, at), None
        least = log1p(facts.settings.min_change_pct / 100)
        return further or abs(_mean(self.shifts) - before) >= max(least, abs(before) / 2)

    def follow(self, at: float, facts: Facts) -> bool | None:
        """Takes the level since it began to go back as the present one; True when that is as good as the old one, None
        while it may be either."""
        self._look_back(at, facts)
        since = self.watch.back_since
        over = self._ease(self._levels_since(since, at, facts), since, at, facts)
        if over is None:
            self.watch.wait()
        else:
            self.watch.look_anew(at)
        return over

    def _look_back(self, at: float, facts: Facts) -> None:
        """Where runs came late, dates what goes back with them: those from just before and behind a gap say nothing of
        slow ones between."""
        runs = facts.deviations(self.watch.gone_since, at, self.shifts)
        if len(runs) <= self.watch.shown:
            return
        seen = self.watch.at_its_low()
        for when, region, deviation in runs:
            self._show(seen, when, region, deviation, facts)
        self.watch.gone_since, self.watch.back_at = seen.gone_since, seen.back_at
        self.watch.shown = seen.shown

    def _levels_since(self, since: float, at: float, facts: Facts, *among: str) -> dict[str, float]:
        samples = facts.history.samples(since, at)
        chosen = {region: series for region, series in samples.items() if region in (among or self.shifts)}
        return level_of(chosen, facts.model, facts.settings)

    def _ease(self, present: Mapping[str, float], since: float, at: float, facts: Facts) -> bool | None:
        """True, with nothing done, where the level is as good as the old one; None where that is not sure, as long as
        what is told may be true, and where a region has not spoken since: it is waited for until it is silent."""
        if self.shifts.keys() - facts.reporting(since, at):
            return None
        levels = {region: present.get(region, shift) for region, shift in self.shifts.items()}
        evidence = self._evidence_of_end(levels, since, at, facts)
        if abs(evidence) < _SURE and self.watch.may_wait:
            return None
        if evidence > 0:
            return True
        self.most = max(self.most, abs(_mean(self.shifts)))
        self.shifts, self.alert = levels, replace(self.alert, level_since=since)
        self._relevel(facts)
        self._measure_anew(at)
        return False

    def _evidence_of_end(self, levels: Mapping[str, float], since: float, at: float, facts: Facts) -> float:
        """For the old level, against one twice as far from it as what may be left of an alert that is over: what is not
        told of it, half of its shift at most, or what may be chance, a quarter at most. The logarithm of the likelihood
        ratio of two normal means."""
        left, shift = self.direction * _mean(levels), max(self.most, abs(_mean(self.shifts)))
        error = facts.level_error(since, at, levels)
        may_be_left = max(min(shift / 2, facts.least_told(self.shifts)), min(shift / 4, _ERRORS * error))
        return 2 * may_be_left * (may_be_left - left) / error**2

    def _relevel(self, facts: Facts) -> None:
        """Tells the present level."""
        before, after, change_pct = _sizes(self.shifts, facts)
        self.alert = replace(self.alert, baseline=before, level=after, change_pct=change_pct)

    def _agree(self, shifts: dict[str, float], at: float, facts: Facts) -> bool:
        """Takes measured levels in. A region that has less than half of what is told seemed to take part by chance."""
        found = {
            region: shift
            for region, shift in shifts.items()
            if self.direction * shift > 0 and facts.worth_telling({region: 2 * shift})
        }
        if not found or not facts.worth_telling(found):
            return False
        if found.keys() != self.shifts.keys():
            most = len(found) >= majority(len(facts.reporting(self.alert.level_since, at)))
            left = _class_of(self.direction, most=most)
            self._become(replace(self.alert, regions=tuple(sorted(found)), alert_class=left))
        self.shifts = found
        self._relevel(facts)
        return True

    def _take(self, change: Change, level_since: float, facts: Facts) -> None:
        self.shifts, self.caution = dict(change.shifts), change.caution
        described = _describe(change, self.direction, self.alert.opened_at, facts)
        self._become(replace(described, level_since=level_since, confirmed_at=self.alert.confirmed_at))

    def _measure_anew(self, at: float) -> None:
        """Of a level that is new little is known, and some regions may have no part in it any more: it is measured
        again, once it has lasted twice as long, and an hour."""
        if self.measure_at is not None:
            self.measure_at = at + max(at - self.alert.level_since, HOUR_S)

    def _become(self, alert: Alert) -> None:
        """A slowdown that has been confirmed is a regression."""
        if alert.alert_class is AlertClass.SLOWDOWN and alert.confirmed_at is not None:
            alert = replace(alert, alert_class=AlertClass.REGRESSION)
        self.alert = alert

    def _onset(self) -> Onset:
        return Onset(self.alert.change_at, self.alert.change_from, self.alert.change_until)

    def state(self) -> dict[str, Any]:
        """What JSON can hold."""
        return asdict(self) | {"alert": asdict(self.alert)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Episode":
        """The episode of a `state`. What a newer version has noted besides is left out: who goes back to this one keeps
        what is open.
        """
        # Of states that were kept before, the episode has it.
        told = {"level_since": state.get("level_since"), **state["alert"]}
        alert = Alert(
            **_known(Alert, told) | {"alert_class": AlertClass(told["alert_class"]), "regions": tuple(told["regions"])}
        )
        kept = {
            "shifts": dict(state["shifts"]),
            "heard": dict(state.get("heard", {})),
            "silent": list(state.get("silent", [])),
        }
        watch = Watch(**_known(Watch, state["watch"]))
        return cls(**_known(cls, state) | kept | {"alert": alert, "watch": watch})


def _known(cls: type["Alert | Episode | Watch"], state: Mapping[str, Any]) -> dict[str, Any]:
    return {one.name: state[one.name] for one in fields(cls) if one.name in state}


def _mean(shifts: Mapping[str, float]) -> float:
    return sum(shifts.values()) / len(shifts)


def _sizes(shifts: Mapping[str, float], facts: Facts) -> tuple[float, float, float | None]:
    """Typical values before and after, and the change in per cent."""
    before, after = levels(facts.model, shifts, facts.settings)
    return before, after, 100 * (after / before - 1) if before > 2 * facts.settings.least else None


def _begins(change: Change) -> set[float]:
    """When it began most likely, and at the latest."""
    return {change.onset.at, change.onset.latest}


def _describe(change: Change, direction: int, opened_at: float, facts: Facts) -> Alert:
    before, after, change_pct = _sizes(change.shifts, facts)
    began = change.onset
    deploys = facts.history.deploys(began.earliest - ROLLOUT_S, began.latest)
    return Alert(
        alert_class=_class_of(direction, most=len(change.shifts) >= majority(change.reporting)),
        opened_at=opened_at,
        change_at=began.at,
        change_from=began.earliest,
        change_until=began.latest,
        level_since=began.at,
        regions=tuple(sorted(change.shifts)),
        baseline=before,
        level=after,
        change_pct=change_pct,
        confidence=change.confidence,
        deploy_at=max(deploys, default=None),
    )


def _class_of(direction: int, *, most: bool) -> AlertClass:
    if direction < 0:
        return AlertClass.IMPROVEMENT
    return AlertClass.SLOWDOWN if most else AlertClass.REGIONAL
