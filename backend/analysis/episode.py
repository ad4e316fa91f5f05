"""An alert from its opening to its end: how large, whether it stays, and when it is over."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import log1p
from typing import Any

from backend.analysis.attribution import ROLLOUT_S
from backend.analysis.change import Change, Question, examine, level_of, levels, worth_telling
from backend.analysis.events import Alert, AlertClass
from backend.analysis.fusion import majority
from backend.analysis.history import History
from backend.analysis.model import Model
from backend.analysis.onset import Onset
from backend.analysis.persistence import Watch
from backend.analysis.settings import DAY_S, WEEK_S, Settings

# How far back a change is looked for: so many rounds of tests, at least a day.
_LOOK_BACK_ROUNDS = 600
# Of a change that comes every week, each week shows so much at least.
_WEEKLY_PART = 0.6


@dataclass(frozen=True, slots=True)
class Facts:
    """What an episode is judged by."""

    model: Model
    settings: Settings
    history: History

    def examine(self, at: float, question: Question, since: float | None = None) -> Change | None:
        """The change asked for, looked for back to `since` at least."""
        reach = max(_LOOK_BACK_ROUNDS * self.settings.interval_s, DAY_S)
        samples = self.history.samples(min(at - reach, at if since is None else since), at)
        return examine(samples, self.model, question, self.settings)

    def worth_telling(self, shifts: Mapping[str, float]) -> bool:
        return worth_telling(self.model, shifts, self.settings)

    def is_weekly(self, at: float, change: Change) -> bool:
        """Whether the last two weeks had most of the change at the same time of the week."""
        weeks = [self._level_between(change.onset.at - ago, at - ago, change) for ago in (WEEK_S, 2 * WEEK_S)]
        shift = _mean(change.shifts)
        return all(level is not None and level / shift >= _WEEKLY_PART for level in weeks)

    def _level_between(self, since: float, until: float, change: Change) -> float | None:
        samples = self.history.samples(since - self.settings.interval_s / 2, until)
        chosen = {region: series for region, series in samples.items() if region in change.shifts}
        level = level_of(chosen, self.model, self.settings)
        return _mean(level) if level else None


@dataclass(slots=True)
class Episode:
    """`shifts`: the levels of the regions affected above their baselines, in logarithms; `caution`: the part of them
    that is sure; `level_since`: since when. `since`: when it opened, or reached most regions, so that what came later
    is evidence of its own. `measure_at`: when its size is to be measured again; None before it is confirmed."""

    alert: Alert
    direction: int
    shifts: dict[str, float]
    caution: float
    watch: Watch
    since: float
    level_since: float
    measure_at: float | None = None

    @classmethod
    def begin(cls, at: float, change: Change, direction: int, facts: Facts) -> "Episode":
        alert = _describe(change, direction, at, facts)
        return cls(alert, direction, dict(change.shifts), change.caution, Watch(0.0, 0.0, at), at, change.onset.at)

    def add(self, at: float, region: str, deviation: float, facts: Facts) -> None:
        """Takes in a sample, by its deviation from the baseline in standard deviations."""
        shift = self.shifts.get(region)
        if shift is None:
            return
        size = self.caution * abs(shift) / facts.model.members[region].baseline.scale
        alone = len(self.shifts) == 1
        noise = facts.model.members[region].noise if alone else facts.model.noise
        self.watch.add(at, self.direction * deviation, size, noise)

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

    def measure(self, at: float, facts: Facts) -> bool:
        """Measures the present level anew with what has come since; False, with nothing done, when it is normal."""
        self.measure_at = at + (at - self.level_since)
        if self.level_since > self.alert.change_at:
            shifts = self.shifts | self._levels_since(self.level_since, at, facts)
            return self._agree(shifts, facts)
        change = facts.examine(at, Question(direction=self.direction), self.alert.change_from)
        if change is None or not facts.worth_telling(change.shifts):
            return False
        if change.onset.at > self.alert.opened_at:
            # A second step on top: the first one is the one that lasted.
            change = replace(change, onset=self._onset())
        self._take(change, change.onset.at, facts)
        return True

    def shift(self, at: float, change: Change, direction: int, facts: Facts) -> bool:
        """Takes in a further change: on, elsewhere, or part of the way back. True when it is so much worse as to be
        worth telling."""
        if direction != self.direction:
            self._ease(change.shifts, change.onset.at, facts.settings)
            return False
        before, was = _mean(self.shifts), self.alert.alert_class
        # One more region matters as long as it is not most of them anyway.
        further = was is AlertClass.REGIONAL and bool(change.shifts.keys() - self.shifts.keys())
        total = replace(change, onset=self._onset(), shifts=self.shifts | dict(change.shifts))
        self._take(total, change.onset.at, facts)
        if further and self.alert.alert_class is not AlertClass.REGIONAL:
            # Whether it lasts in most regions is another question.
            self._become(replace(self.alert, alert_class=AlertClass.SLOWDOWN, confirmed_at=None))
            self.since, self.watch, self.measure_at = at, Watch(0.0, 0.0, at), None
        least = log1p(facts.settings.min_change_pct / 100)
        return further or abs(_mean(self.shifts) - before) >= max(least, abs(before) / 2)

    def follow(self, at: float, facts: Facts) -> bool:
        """Takes the level since it began to go back as the present one; True when that is as good as the old one."""
        present = self._levels_since(self.watch.gone_since, at, facts)
        over = self._ease(present, self.watch.gone_since, facts.settings)
        self.watch.gone, self.watch.gone_since = 0.0, at
        return over

    def _levels_since(self, since: float, at: float, facts: Facts) -> dict[str, float]:
        samples = facts.history.samples(since, at)
        chosen = {region: series for region, series in samples.items() if region in self.shifts}
        return level_of(chosen, facts.model, facts.settings)

    def _ease(self, present: Mapping[str, float], since: float, settings: Settings) -> bool:
        """True, with nothing done, where the level is as good as the old one."""
        levels = {region: present.get(region, shift) for region, shift in self.shifts.items()}
        if _is_back(self.direction * _mean(levels), abs(_mean(self.shifts)), settings):
            return True
        self.shifts, self.level_since = levels, since
        return False

    def _agree(self, shifts: dict[str, float], facts: Facts) -> bool:
        if not facts.worth_telling(shifts):
            return False
        self.shifts = shifts
        return True

    def _take(self, change: Change, level_since: float, facts: Facts) -> None:
        self.shifts, self.caution, self.level_since = dict(change.shifts), change.caution, level_since
        described = _describe(change, self.direction, self.alert.opened_at, facts)
        self._become(replace(described, confirmed_at=self.alert.confirmed_at))

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
        """The episode of a `state`."""
        told = state["alert"]
        alert = Alert(**told | {"alert_class": AlertClass(told["alert_class"]), "regions": tuple(told["regions"])})
        return cls(**dict(state) | {"alert": alert, "shifts": dict(state["shifts"]), "watch": Watch(**state["watch"])})


def _is_back(level: float, shift: float, settings: Settings) -> bool:
    """Whether a level counts as the old one: below the least change and half of the shift, or a quarter of it."""
    least = log1p(settings.min_change_pct / 100)
    return level <= max(min(shift / 2, least), shift / 4)


def _mean(shifts: Mapping[str, float]) -> float:
    return sum(shifts.values()) / len(shifts)


def _describe(change: Change, direction: int, opened_at: float, facts: Facts) -> Alert:
    before, after = levels(facts.model, change.shifts, facts.settings)
    began = change.onset
    deploys = facts.history.deploys(began.earliest - ROLLOUT_S, began.latest)
    return Alert(
        alert_class=_class_of(direction, most=len(change.shifts) >= majority(change.reporting)),
        opened_at=opened_at,
        change_at=began.at,
        change_from=began.earliest,
        change_until=began.latest,
        regions=tuple(sorted(change.shifts)),
        baseline=before,
        level=after,
        change_pct=100 * (after / before - 1) if before > 2 * facts.settings.least else None,
        confidence=change.confidence,
        deploy_at=max(deploys, default=None),
    )


def _class_of(direction: int, *, most: bool) -> AlertClass:
    if direction < 0:
        return AlertClass.IMPROVEMENT
    return AlertClass.SLOWDOWN if most else AlertClass.REGIONAL
