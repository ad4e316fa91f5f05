"""Watches one metric of one monitor in all of its regions, sample by sample.

A sample costs a few additions. The past is asked for once a day, for the baseline, and when something has happened.
"""

from collections.abc import Collection, Mapping
from math import inf, isfinite, log
from typing import Any

from backend.analysis.baseline import CLIP
from backend.analysis.change import Change, Question
from backend.analysis.cusum import Bank
from backend.analysis.episode import Episode, Facts
from backend.analysis.events import Alert, Event, Kind
from backend.analysis.history import History
from backend.analysis.model import WINDOW_S, Member, Model, fit_model
from backend.analysis.settings import DAY_S, HOUR_S, Settings

_NOTHING: list[Event] = []
# Of less time than this a model is made anew four times a day.
_YOUNG_S = 3 * DAY_S
_FEWEST_SAMPLES = 200
# A regional alert is the least certain: no other region bears it out.
_REGION_EXTRA = 1.0
# Stretches shorter than this do not bend a baseline.
_LEAST_EXCLUDED_S = 2 * HOUR_S


class _Stream:
    """What a sample of a region is met with. `offset` is the shift of an open alert, in standard deviations."""

    __slots__ = ("bank", "baseline", "offset", "own", "scale", "shared", "worth")

    def __init__(self, member: Member, model: Model, settings: Settings) -> None:
        self.baseline = member.baseline
        self.scale = member.baseline.scale
        self.own = member.gains(member.noise, settings)
        self.shared = member.gains(model.noise, settings)
        self.worth = member.worth
        self.bank = Bank()
        self.offset = 0.0


class Detector:
    """One metric of one monitor. What was measured is not kept here: `history` answers for the past."""

    def __init__(self, settings: Settings, history: History) -> None:
        self._settings = settings
        self._history = history
        # As it was learned, from runs of that interval, and as it is for those of now.
        self._learned: Model | None = None
        self._learned_s = settings.interval_s
        self._model: Model | None = None
        self._streams: dict[str, _Stream] = {}
        self._region_threshold = settings.threshold
        self._all = Bank()
        self._episode: Episode | None = None
        # When the last alert ended, and with it all that was gathered.
        self._ended_at = -inf
        # Levels above the baselines, in logarithms, that are known of and not told.
        self._known: dict[str, float] = {}
        self._known_since = 0.0
        # When to ask whether such a level is a habit still; never, where it is too small to tell.
        self._ask_at = inf
        self._fit_at = 0.0
        # What was measured before does not count for what is normal.
        self._since = 0.0
        self._excluded: list[tuple[float, float]] = []

    @property
    def alert(self) -> Alert | None:
        """The open alert."""
        return self._episode.alert if self._episode else None

    @property
    def model(self) -> Model | None:
        """What is normal; None as long as there has been too little to know."""
        return self._model

    def observe(self, at: float, region: str, value: float | None) -> list[Event]:
        """Takes in a sample, in order of time; None is a failed check. Raises ValueError for what is not finite."""
        # A model is made for a day at most: what is further ahead was so for a clock that has been set back since.
        if not at < self._fit_at <= at + DAY_S:
            self._refit(at)
        stream = self._streams.get(region)
        if value is None or stream is None:
            return _NOTHING
        if not isfinite(value):
            raise ValueError(f"{value} of {region} at {at} is not a finite number")
        deviation = self._deviation(at, stream, value)
        found, own = self._weigh(at, stream, deviation)
        if self._episode:
            self._episode.add(at, region, deviation, self._facts)
            return self._follow(at, region, found, own)
        if found or own:
            return self._open(at, found or own, () if found else (region,))
        return self._ask_again(at) if at >= self._ask_at else _NOTHING

    def accept(self, at: float) -> list[Event]:
        """Makes the level of the open alert the normal one and closes the alert; nothing, when none is open."""
        if self._episode is None:
            return []
        assert self._learned is not None  # Without it there are no alarms.
        self._since = self._episode.alert.change_at
        model = self._learned.moved(self._episode.shifts)
        events = self._close(at, Kind.ACCEPTED)
        self._use(model, self._learned_s)
        return events

    def restart(self, at: float) -> list[Event]:
        """From `at` on something else is measured, such as with another profile: forgets what is normal."""
        events = self._close(at, Kind.ACCEPTED) if self._episode else []
        self._since, self._fit_at, self._excluded = at, at, []
        self._learned = self._model = None
        self._streams, self._all, self._known, self._ask_at = {}, Bank(), {}, inf
        return events

    def stop(self, at: float) -> list[Event]:
        """Nothing is measured from `at` on, for a while: an open alert ends, and what is normal stays."""
        return self._close(at, Kind.WENT_AWAY) if self._episode else []

    def keep(self, regions: Collection[str]) -> None:
        """Only these are measured from: an open alert waits for no word of others."""
        if self._episode:
            self._episode.keep(regions)

    def _deviation(self, at: float, stream: _Stream, value: float) -> float:
        """From the baseline, in standard deviations."""
        logarithm = log(max(value + self._settings.offset, self._settings.least))
        return (logarithm - stream.baseline.expected(at)) / stream.scale

    def _weigh(self, at: float, stream: _Stream, deviation: float) -> tuple[int, int]:
        """Takes a deviation in as evidence; which way that of all regions, and that of its own, is enough by now."""
        rest = min(max(deviation - stream.offset, -CLIP), CLIP)
        worth = stream.worth[int(at % DAY_S // HOUR_S)]
        found = self._all.add(rest, stream.shared, self._settings.threshold, worth)
        own = stream.bank.add(rest, stream.own, self._region_threshold, worth) if len(self._streams) > 1 else 0
        return found, own

    @property
    def _facts(self) -> Facts:
        assert self._model is not None  # There are no streams, and so no alarms, without one.
        return Facts(self._model, self._settings, self._history, self._ended_at)

    def _open(self, at: float, direction: int, among: tuple[str, ...]) -> list[Event]:
        change = self._facts.examine(at, Question(direction=direction, offsets=self._known, among=among))
        self._clear(among)
        if change is None:
            return []
        if self._goes_back(change, direction):
            left = {region: level for region, level in self._known.items() if region not in change.shifts}
            self._know(left, change.onset.at)
            self._rebase()
            if not self._is_beyond(at, change, direction):
                return []
        if not self._is_news(at, change, direction):
            # Too little to tell, or the same every day or week: further change is looked for from there.
            self._know(self._known | dict(change.shifts), change.onset.at)
            self._ask_at = self._next_asking(at)
            self._rebase()
            return []
        return self._begin(at, change, direction)

    def _goes_back(self, change: Change, direction: int) -> bool:
        """Whether a known level ends with a change."""
        return direction * sum(self._known.get(region, 0.0) for region in change.shifts) < 0

    def _is_beyond(self, at: float, change: Change, direction: int) -> bool:
        """Whether what ended a known level lies as surely beyond the baselines as all else that is told: that it came
        back says nothing of that. Else the evidence since goes on to be gathered."""
        samples = self._history.samples(change.onset.at, at)
        runs = [(when, name, value) for name in change.shifts for when, value in zip(*samples[name], strict=True)]
        return any(
            direction in self._weigh(when, stream, self._deviation(when, stream, value))
            for when, stream, value in ((when, self._streams[name], value) for when, name, value in sorted(runs))
        )

    def _ask_again(self, at: float) -> list[Event]:
        """A level that was taken for a habit is told when it lasts longer than on the days before."""
        self._ask_at = self._next_asking(at)
        if self._ask_at == inf:
            return []
        direction = 1 if sum(self._known.values()) > 0 else -1
        change = self._facts.examine(at, Question(direction=direction), back_to=self._known_since)
        if change is None or not self._is_news(at, change, direction):
            return []
        return self._begin(at, change, direction)

    def _next_asking(self, at: float) -> float:
        return at + HOUR_S if self._is_known_far else inf

    def _begin(self, at: float, change: Change, direction: int) -> list[Event]:
        self._episode = Episode.begin(at, change, direction, self._facts)
        self._know({}, at)
        self._ask_at = inf
        self._rebase()
        return [Event(kind=Kind.OPENED, at=at, alert=self._episode.alert)]

    def _know(self, levels: dict[str, float], since: float) -> None:
        self._excluded += self._known_stretch(since)
        self._known, self._known_since = levels, since

    @property
    def _is_known_far(self) -> bool:
        """Whether what is known of is large enough to be told."""
        return bool(self._known) and self._facts.worth_telling(self._known)

    def _known_stretch(self, until: float) -> list[tuple[float, float]]:
        """When a level was known that is too far from the baseline to have a part in it: what is a habit."""
        return [(self._known_since, until)] if self._is_known_far else []

    def _is_news(self, at: float, change: Change, direction: int) -> bool:
        facts = self._facts
        onwards = direction * sum(change.shifts.values()) > 0
        return onwards and facts.worth_telling(change.shifts) and not facts.is_habit(at, change)

    def _follow(self, at: float, region: str, found: int, own: int) -> list[Event]:
        """What a sample means for the open alert."""
        episode = self._episode
        assert episode is not None
        if episode.forget_silent(at, self._facts):
            if not self._facts.worth_telling(episode.shifts):
                return self._end(at)
            self._set_offsets()
        if episode.watch.is_gone:
            over = episode.follow(at, self._facts)
            if over:
                return self._end(at, episode.watch.back_at)
            if over is not None:
                self._rebase()
                return [Event(kind=Kind.EASED, at=at, alert=episode.alert)]
        if found or own:
            return self._shift(at, found or own, () if found else (region,))
        if episode.lasts(at, self._settings):
            return self._confirm(at)
        if episode.is_to_measure(at) and episode.measure(at, self._facts):
            self._set_offsets()
        if at - episode.alert.opened_at >= self._patience_s:
            return self.accept(at)
        return _NOTHING

    def _shift(self, at: float, direction: int, among: tuple[str, ...]) -> list[Event]:
        """The level has changed further, or part of the way back, or elsewhere."""
        episode, facts = self._episode, self._facts
        assert episode is not None
        question = Question(direction=direction, offsets=episode.shifts, among=among)
        change = facts.examine(at, question, after=episode.alert.level_since)
        self._clear(among)
        if change is None:
            return []
        if direction != episode.direction:
            eased = episode.ease(at, change, facts)
            self._rebase()
            return [Event(kind=Kind.EASED, at=at, alert=episode.alert)] if eased else []
        if not facts.worth_telling(change.shifts) or facts.is_habit(at, change):
            return []
        worse = episode.shift(at, change, facts)
        self._rebase()
        return [Event(kind=Kind.WORSENED, at=at, alert=episode.alert)] if worse else []

    def _confirm(self, at: float) -> list[Event]:
        episode = self._episode
        assert episode is not None
        if not episode.confirm(at, self._facts):
            return self._end(at)
        self._rebase()
        return [Event(kind=Kind.CONFIRMED, at=at, alert=episode.alert)]

    def _end(self, at: float, over_at: float | None = None) -> list[Event]:
        assert self._episode is not None
        kind = Kind.RESOLVED if self._episode.alert.confirmed_at else Kind.WENT_AWAY
        return self._close(at, kind, over_at)

    def _close(self, at: float, kind: Kind, over_at: float | None = None) -> list[Event]:
        assert self._episode is not None
        alert, self._episode, self._ended_at = self._episode.alert, None, at
        if kind is not Kind.ACCEPTED and at - alert.change_at >= _LEAST_EXCLUDED_S:
            self._excluded.append((alert.change_from, at))
        self._fit_at = min(self._fit_at, at + HOUR_S)
        self._rebase()
        return [Event(kind=kind, at=at, alert=alert, over_at=over_at)]

    def _rebase(self) -> None:
        """Looks for further change from the present level."""
        self._set_offsets()
        self._clear(())

    def _set_offsets(self) -> None:
        shifts = self._episode.shifts if self._episode else self._known
        for region, stream in self._streams.items():
            stream.offset = shifts.get(region, 0.0) / stream.scale

    def _clear(self, among: tuple[str, ...]) -> None:
        """Forgets the evidence of these regions; of all, and what they have together, when none is named."""
        if not among:
            self._all.clear()
        for region in among or self._streams:
            self._streams[region].bank.clear()

    @property
    def _patience_s(self) -> float:
        assert self._episode is not None
        improved = self._episode.direction < 0
        return self._settings.accept_improvement_after_s if improved else self._settings.accept_after_s

    def _refit(self, at: float) -> None:
        """Makes the model anew, unless an alert is open: what is normal is frozen then."""
        if self._episode:
            self._fit_at = at + HOUR_S
            return
        window_s = max(WINDOW_S, _FEWEST_SAMPLES * self._settings.interval_s)
        self._excluded = [stretch for stretch in self._excluded if stretch[1] > at - window_s]
        samples = self._history.samples(max(at - window_s, self._since), at)
        model = fit_model(samples, self._excluded + self._known_stretch(at), self._settings)
        self._fit_at = at + (DAY_S if model and model.span_s >= _YOUNG_S else DAY_S / 4)
        if model:
            self._use(model, self._settings.interval_s)

    def _use(self, learned: Model, interval_s: float) -> None:
        """Goes by a model from now on, which was learned from runs of that interval; evidence gathered so far still
        counts."""
        banks = {region: stream.bank for region, stream in self._streams.items()}
        model = learned.measured(interval_s / self._settings.interval_s)
        self._learned, self._learned_s, self._model = learned, interval_s, model
        self._known = {region: level for region, level in self._known.items() if region in model.members}
        self._streams = {region: _Stream(member, model, self._settings) for region, member in model.members.items()}
        for region, bank in banks.items():
            if region in self._streams:
                self._streams[region].bank = bank
        self._region_threshold = self._settings.threshold + log(len(self._streams)) + _REGION_EXTRA
        self._set_offsets()

    def state(self) -> dict[str, Any]:
        """What JSON can hold, a few kilobytes: `from_state` makes a detector of it that goes on as this one would."""
        return {
            "version": _VERSION,
            "interval_s": self._learned_s,
            "fit_at": self._fit_at,
            "since": self._since,
            "excluded": [list(stretch) for stretch in self._excluded],
            "model": self._learned.state() if self._learned else None,
            "all": self._all.state(),
            "banks": {region: stream.bank.state() for region, stream in self._streams.items()},
            "known": self._known,
            "known_since": self._known_since,
            "ask_at": None if self._ask_at == inf else self._ask_at,
            "ended_at": None if self._ended_at == -inf else self._ended_at,
            "episode": self._episode.state() if self._episode else None,
        }

    @classmethod
    def from_state(cls, settings: Settings, history: History, state: Mapping[str, Any]) -> "Detector":
        """The detector that `state` was taken from; a new one where a state is of another version."""
        detector = cls(settings, history)
        if state.get("version") != _VERSION:
            return detector
        detector._fit_at, detector._since = state["fit_at"], state["since"]
        detector._excluded = [(since, until) for since, until in state["excluded"]]
        if state["model"]:
            detector._use(Model.from_state(state["model"]), state.get("interval_s", settings.interval_s))
        for region, bank in state["banks"].items():
            detector._streams[region].bank = Bank(*bank)
        detector._known, detector._known_since = dict(state["known"]), state["known_since"]
        detector._ask_at = inf if state.get("ask_at") is None else state["ask_at"]
        detector._episode = Episode.from_state(state["episode"]) if state["episode"] else None
        detector._ended_at = -inf if state.get("ended_at") is None else state["ended_at"]
        detector._set_offsets()
        detector._all = Bank(*state["all"])
        return detector


_VERSION = 2
