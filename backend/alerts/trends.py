"""Whether sites have become slower: `backend.analysis` fed with what was measured, its alerts made into incidents.

Slower than the judge and apart from it: a look takes in some minutes of runs at once, in order of time over all regions
of a monitor, and now and then what is normal is learned anew from nine days of runs.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from math import inf
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from backend.alerts.deeper import look_deeper, probes_of_site
from backend.alerts.explaining import ended, explained
from backend.alerts.histories import StoredHistory
from backend.alerts.incidents import Change, apply_all
from backend.alerts.judgement.samples import Memory, Sample, Standing
from backend.alerts.judgement.steps import PhaseSteps
from backend.alerts.judgement.tracks import Step, Track
from backend.alerts.looks import scene_of
from backend.alerts.metrics import measured_by
from backend.alerts.models import Resolution, Rule, RuleKind
from backend.alerts.reading import Batch, Due, Stream, due, read, remember, streams_of
from backend.alerts.rules_of import rules_for
from backend.alerts.setbacks import mark_of
from backend.alerts.states import TABLE, State
from backend.alerts.turns import Turns
from backend.analysis.detector import Detector
from backend.analysis.events import ENDS, Alert, AlertClass, Event, Kind
from backend.analysis.sensitivity import sight
from backend.analysis.settings import Settings, settings_for
from backend.instants import from_us, to_us
from backend.sites.models import Site

# A monitor whose past is learned for the first time costs a tenth of a second.
BATCH = 20
IDLE_S, BUSY_S = 2.0, 0.0
_BATCHES = 50
# Of pages too, which have a run every quarter of an hour: what one tells is told while it holds.
_EVERY = timedelta(minutes=2)
_EVERY_WITHOUT_RULES = timedelta(minutes=10)
# What could not be looked at is tried again after this.
PUT_OFF = timedelta(minutes=10)
# A judge that was away catches up so far; what lies before is known to the detector's history all the same.
MAX_LAG = timedelta(days=1)
# What has become so many times as much as was told is told again.
_MUCH_WORSE = 2
# What has moved by such a part of itself is written anew in its incident.
_NOT_AS_WRITTEN = 0.2
_RESOLUTIONS = {
    Kind.RESOLVED: Resolution.RECOVERED,
    Kind.WENT_AWAY: Resolution.WENT_AWAY,
    Kind.ACCEPTED: Resolution.ACCEPTED,
}


def step(clock: Callable[[], datetime] = timezone.now) -> float:
    """Looks at the monitors that are due; the seconds to wait. Raises django.db.Error."""
    return IDLE_S if _TURNS.work(clock, _BATCHES) else BUSY_S


@transaction.atomic
def watch_batch(now: datetime, limit: int = BATCH) -> int:
    """Looks at monitors whose look is due; how many."""
    rows = due("alerts_trend", now, limit)
    if not rows:
        return 0
    memories: dict[int, Memory] = {row.monitor_id: json.loads(row.memory) for row in rows}
    batch = read(_streams(rows, memories, now), now)
    rules = rules_for(rows, kinds=[RuleKind.REGRESSION])
    looks = [TrendLook(row, memories[row.monitor_id], rules[row.monitor_id], batch, now) for row in rows]
    changes = [change for look in looks for change in look.changes()]
    apply_all(changes, now=now)
    for look in looks:
        look_deeper(look.monitor_id, look.stepped, now=now)
        _look_why(look, now)
    remember(
        "alerts_trend",
        [row.monitor_id for row in rows],
        [look.memory() for look in looks],
        [look.due_at for look in looks],
    )
    return len(rows)


_TURNS = Turns(table="alerts_trend", look=watch_batch, batch=BATCH, put_off=PUT_OFF)


def _look_why(look: "TrendLook", now: datetime) -> None:
    """Where a site is slower its probes look deeper; where it is quick again, what they found may be mended."""
    regions = look.slower | look.recovered
    for probe in probes_of_site(look.monitor_id) if regions else ():
        look_deeper(probe, regions, now=now)


def _streams(rows: Sequence[Due], memories: dict[int, Memory], now: datetime) -> dict[int, list[Stream]]:
    """All regions of a monitor from one mark to where all of them have ended: samples come in order of time."""
    oldest = now - MAX_LAG
    found = streams_of(rows, {row.monitor_id: {} for row in rows}, now)
    for row in rows:
        mark_us = mark_of(memories[row.monitor_id], now)
        after = now if mark_us is None else max(from_us(mark_us), oldest)
        end = min((stream.before for stream in found[row.monitor_id]), default=now)
        found[row.monitor_id] = [stream.between(after, end) for stream in found[row.monitor_id]]
    return found


class _Eye(NamedTuple):
    """One rule's view of one metric."""

    rule: Rule
    metric: str

    @property
    def key(self) -> str:
        return f"{self.rule.pk}:{self.metric}"


class TrendLook:
    """One look at one monitor: made, then `changes` once, then `memory`.

    `stepped` are the regions in which a phase of its probes has changed, though nothing need be slower. After `changes`
    `slower` are those of which it was just told, and `recovered` those in which what was told is so no more.
    """

    def __init__(self, row: Due, memory: Memory, rules: Sequence[Rule], batch: Batch, now: datetime) -> None:
        self._row, self._memory, self._now = row, memory, now
        self.monitor_id = row.monitor_id
        self._streams = batch.streams[row.monitor_id]
        self._is_off = row.paused or not row.active
        # Nothing new is known while nothing is measured, whoever has seen to that.
        self._is_at_rest = self._is_off or not self._streams
        reached = [*batch.reached.get(row.monitor_id, {}).values()]
        ends = [to_us(at) + 1 for at in reached] + [to_us(stream.before) for stream in self._streams]
        self._end_us = min(ends, default=to_us(now))
        self._is_cut = bool(reached)
        self._samples = [sample for sample in batch.samples[row.monitor_id] if sample.at_us < self._end_us]
        self._eyes = [
            _Eye(rule, metric)
            for rule in rules
            if row.kind in ("probe", "page")
            for metric in dict.fromkeys(rule.params["metrics"])
            if measured_by(metric, row.kind, row.user_timings) or f"{rule.pk}:{metric}" in memory.get("eyes", {})
        ]
        self.slower: set[str] = set()
        self.recovered: set[str] = set()
        self._kept: dict[str, Any] = {}
        # By eye, how much slower it was when it was told last, and when its incident was written anew, and where.
        self._told: dict[str, float] = dict(memory.get("told", {}))
        self._written: dict[str, float] = dict(memory.get("written", {}))
        self._named: dict[str, list[str]] = dict(memory.get("named", {}))
        self._site = Site(pk=row.site_id, organisation_id=row.organisation_id)
        self._steps = PhaseSteps({} if self._is_off or self._is_another else self._memory.get("steps", {}))
        self._steps.keep({stream.region for stream in self._streams})
        self.stepped = self._watch_steps() if row.kind == "probe" and not self._is_off else ()

    def changes(self) -> list[Change]:
        """What the detectors make of the samples."""
        return [change for eye in self._eyes for change in self._watch(eye)]

    def memory(self) -> str:
        """What the next look goes on from."""
        kept = {
            "mark": max(self._end_us - 1, mark_of(self._memory, self._now) or 0),
            "eyes": self._kept,
            "told": self._of_eyes(self._told),
            "written": self._of_eyes(self._written),
            "named": self._of_eyes(self._named),
            # Of a monitor that rests nobody has begun to learn anew.
            "what": self._memory.get("what", self._row.how) if self._is_at_rest else self._row.how,
            "steps": self._steps.memory(),
        }
        return json.dumps(kept, separators=(",", ":"))

    @property
    def due_at(self) -> datetime:
        """When to look again: at once where not everything was read."""
        if self._is_cut:
            return self._now
        return self._now + (_EVERY if self._eyes else _EVERY_WITHOUT_RULES)

    @property
    def _is_another(self) -> bool:
        return bool(self._memory.get("what", self._row.how) != self._row.how)

    def _watch_steps(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sample.region for sample in self._samples if self._steps.observe(sample)))

    def _watch(self, eye: _Eye) -> Iterator[Change]:
        kept = self._memory.get("eyes", {}).get(eye.key, {})
        track = Track.remembered(kept.get("track"))
        if kept and kept["version"] != eye.rule.version:
            if track.told is not None:
                yield self._end(eye, Resolution.RULE_OFF)
            kept, track = {}, Track()
        if self._is_at_rest or not measured_by(eye.metric, self._row.kind, self._row.user_timings):
            if track.told is not None:
                yield self._end(eye, Resolution.PAUSED if self._is_off else Resolution.UNMEASURED)
            self._kept[eye.key] = kept | {"detector": self._stopped(eye, kept), "track": {}} if kept else {}
            return
        if self._is_idle(eye.metric, kept, track):
            self._kept[eye.key] = kept
            return
        history, settings = self._past(eye), self._settings(eye)
        detector = Detector.from_state(settings, history, kept.get("detector", {}))
        detector.keep({stream.region for stream in self._streams})
        for event in _news(list(self._events(detector, eye.metric))):
            track, change = self._hear(event, eye, track, history)
            if change:
                yield change
        kind = detector.alert and self._unsaid(detector.alert, eye, track)
        if detector.alert and kind:
            event = Event(kind=kind, at=self._now.timestamp(), alert=detector.alert)
            track, change = self._hear(event, eye, track, history)
            if change:
                yield change
        self._kept[eye.key] = {"version": eye.rule.version, "detector": detector.state(), "track": track.memory()}
        if detector.model is not None:
            # For pages, which know no numpy.
            found = asdict(sight(detector.model, settings))
            self._kept[eye.key]["sight"] = {name: round(value, 2) for name, value in found.items()}

    def _hear(self, event: Event, eye: _Eye, track: Track, history: StoredHistory) -> tuple[Track, Change | None]:
        if track.told is not None and _is_to_last(event, eye.rule.params["tell"]):
            # What was told goes on: whether it lasts in further regions is not known yet.
            return track, None
        standing = self._standing(event, eye, history)
        at_us = to_us_of(event.at)
        track, heard = track.advance(standing, at_us, eye.rule.delay_s * 1_000_000)
        grows = heard is None and track.told is standing.state and self._is_much_worse(event, eye)
        if grows:
            heard = Step(TABLE[standing.state, standing.state].code, standing.state, standing, at_us)
        if heard:
            self._told[eye.key] = _slower(event.alert)
            self.slower.update(standing.regions)
        if not heard and (track.told is None or standing.state is State.OK):
            return track, None
        self._written[eye.key], self._named[eye.key] = _slower(event.alert), list(event.alert.regions)
        if event.kind in (Kind.RESOLVED, Kind.WENT_AWAY):
            self.recovered.update(event.alert.regions)
        return track, Change(
            rule=eye.rule,
            scene=scene_of(self._row),
            standing=standing,
            step=heard,
            monitor_id=self._row.monitor_id,
            metric=eye.metric,
            resolution=self._resolution(event),
            confirms=event.kind is Kind.CONFIRMED,
            grows=grows,
        )

    def _standing(self, event: Event, eye: _Eye, history: StoredHistory) -> Standing:
        state = state_of(event, eye.rule.params["tell"])
        if state is State.OK:
            return ended(event, history, interval_s=self._row.interval_s)
        return explained(event, state, eye.metric, history)

    def _is_much_worse(self, event: Event, eye: _Eye) -> bool:
        """Whether what was told has become much more of the same."""
        return event.kind is Kind.WORSENED and _slower(event.alert) >= _MUCH_WORSE * self._told.get(eye.key, inf)

    def _is_idle(self, metric: str, kept: Memory, track: Track) -> bool:
        """Whether nothing has come and nothing is awaited: to wake a detector takes five milliseconds."""
        asked = self._is_another or metric in self._memory.get("accept", ())
        return bool(kept) and track == Track() and not (self._samples or asked or kept["detector"].get("episode"))

    def _unsaid(self, alert: Alert, eye: _Eye, track: Track) -> Kind | None:
        """What no event says: that it just goes on, for as long as the rule waits, or grows, shrinks or moves to other
        regions little by little, until it is no more what was told."""
        if track.state is State.OK:
            return None
        if track.told is None:
            has_waited = to_us(self._now) - track.since_us >= eye.rule.delay_s * 1_000_000
            return Kind.OPENED if has_waited else None
        slower, written = _slower(alert), self._written.get(eye.key, 0.0)
        is_there = self._named.get(eye.key, [*alert.regions]) == [*alert.regions]
        if is_there and abs(slower - written) < _NOT_AS_WRITTEN * abs(slower):
            return None
        return Kind.WORSENED if slower > written else Kind.EASED

    def _of_eyes(self, figures: Mapping[str, Any]) -> dict[str, Any]:
        return {eye.key: figures[eye.key] for eye in self._eyes if eye.key in figures}

    def _past(self, eye: _Eye) -> StoredHistory:
        regions = {stream.region_id: stream.region for stream in self._streams}
        row = self._row
        return StoredHistory(
            monitor_id=row.monitor_id, kind=row.kind, metric=eye.metric, regions=regions, site=self._site
        )

    def _settings(self, eye: _Eye) -> Settings:
        least = eye.rule.params["min_change_pct"]
        return settings_for(eye.metric, interval_s=self._row.interval_s, min_change_pct=least)

    def _stopped(self, eye: _Eye, kept: Memory) -> dict[str, Any]:
        """A detector without its alert: what is as slow after the pause is told again."""
        state: dict[str, Any] = kept.get("detector", {})
        if not state.get("episode"):
            return state
        detector = Detector.from_state(self._settings(eye), self._past(eye), state)
        detector.stop(self._now.timestamp())
        return detector.state()

    def _resolution(self, event: Event) -> Resolution:
        if (event.kind is Kind.ACCEPTED and self._is_another) or self._is_elsewhere(event.alert):
            return Resolution.REPLACED
        return _RESOLUTIONS.get(event.kind, Resolution.RECOVERED)

    def _is_elsewhere(self, alert: Alert) -> bool:
        """Whether an alert is of regions alone that are not measured any more."""
        measured = {stream.region for stream in self._streams}
        return bool(measured) and not measured & set(alert.regions)

    def _events(self, detector: Detector, metric: str) -> Iterator[Event]:
        now = self._now.timestamp()
        if self._is_another:
            yield from detector.restart(now)
        if metric in self._memory.get("accept", ()):
            yield from detector.accept(now)
        if detector.alert and self._is_elsewhere(detector.alert):
            yield from detector.stop(now)
        for sample in self._samples:
            yield from detector.observe(sample.at_us / 1e6, sample.region, _value(sample, metric))

    def _end(self, eye: _Eye, resolution: Resolution) -> Change:
        return Change(
            rule=eye.rule,
            scene=scene_of(self._row),
            standing=Standing(state=State.OK, since_us=to_us(self._now)),
            step=None,
            monitor_id=self._row.monitor_id,
            metric=eye.metric,
            resolution=resolution,
        )


def _news(events: Sequence[Event]) -> list[Event]:
    """Without what an alert became before it ended in the same look: that is not so any more."""
    over = max((place for place, event in enumerate(events) if event.kind in ENDS), default=-1)
    return [event for place, event in enumerate(events) if place > over or event.kind is not Kind.WORSENED]


def _slower(alert: Alert) -> float:
    """By how much, in the metric's unit."""
    return alert.level - alert.baseline


def to_us_of(at: float) -> int:
    """Of Unix seconds."""
    return round(at * 1e6)


def _value(sample: Sample, metric: str) -> float | None:
    return sample.value(metric)


def state_of(event: Event, tell: str) -> State:
    """What an event says of the site, for a rule that is told of a slowdown at once, or only of what has lasted."""
    found = event.alert.alert_class
    if event.kind in _RESOLUTIONS or found is AlertClass.IMPROVEMENT or _is_to_last(event, tell):
        return State.OK
    return State.DEGRADED if found is AlertClass.REGIONAL else State.REGRESSED


def _is_to_last(event: Event, tell: str) -> bool:
    """Whether a rule is told of what goes on only once it has lasted, and that is not known."""
    return tell == "regression" and event.alert.confirmed_at is None and event.kind not in _RESOLUTIONS
