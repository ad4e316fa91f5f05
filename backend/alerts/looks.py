"""One look at one monitor: from its row, its streams and its samples to changes and a new memory. No statements."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit
from uuid import UUID

from backend.alerts.incidents import Change, Scene
from backend.alerts.judgement.certificates import Reading, Shown, ends_first
from backend.alerts.judgement.monitors import RECORD, Heard, MonitorJudge, RuleSpec, Subject
from backend.alerts.judgement.rechecks import NEAR_US, Turn, lately, next_turn
from backend.alerts.judgement.samples import Memory, Sample, Seen, Standing
from backend.alerts.models import Resolution, Rule, RuleKind
from backend.alerts.outages import Turned
from backend.alerts.reading import Due, Stream
from backend.alerts.states import State
from backend.instants import from_us, to_us

# A healthy monitor is looked at four times an interval; one that awaits a confirmation every few seconds.
SHORTEST_LOOK_S, LONGEST_LOOK_S = 10.0, 60.0
ANXIOUS_LOOK_S = 4.0
# What was not judged within this, and within three intervals, is history. A judge that was away for hours learns when
# an outage began and ended; `telling.STALE` keeps it from telling what is over.
MAX_LAG = timedelta(hours=6)
# Whoever did not look for so long cannot tell whether measurements stopped.
_BLIND_US = 120_000_000
CONFIRM_WITHIN = timedelta(minutes=3)
# Longer than a run that was asked for may take with its second attempt. Nobody waits for it then, but what it says
# counts, unless its region has told something newer meanwhile.
HEARD_WITHIN = timedelta(minutes=30)
_CERTIFICATE_EVERY_US = 3_600_000_000
# One that ends soon may be renewed any minute, and whoever did so waits for the end of the alert.
_ENDING_CERTIFICATE_EVERY_US = 300_000_000
# These are over where fewer regions are bad than the rule asks for.
_COUNTING = (RuleKind.FAILURES, RuleKind.BUDGET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A run that is under way, to confirm a failure or to see whether it is over."""

    run_id: UUID
    region: str
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a look goes by: streams and samples of the monitor, confirmations that have ended, regions that live and
    see something, and since when others see nothing."""

    now: datetime
    streams: Sequence[Stream]
    samples: Sequence[Sample]
    reached: Mapping[int, datetime]
    confirmed: Mapping[UUID, Sample]
    live: frozenset[str]
    blind: Mapping[str, datetime] = field(default_factory=dict)


def marks(memory: Memory, interval_s: int, now: datetime) -> dict[str, datetime]:
    """Up to which slot each region was judged; what lies too far back is passed over."""
    oldest = now - max(MAX_LAG, timedelta(seconds=3 * interval_s))
    return {code: max(from_us(at_us), oldest) for code, at_us in memory.get("marks", {}).items()}


def asks(memory: Memory) -> list[Ask]:
    """The confirmations that a memory awaits."""
    return _asks(memory, "asks")


def awaited(memory: Memory) -> list[Ask]:
    """All runs whose answers are heard: confirmations, looks at whether an outage is over, and those of both that are
    late."""
    return [ask for key in ("asks", "rechecks", "late") for ask in _asks(memory, key)]


def _asks(memory: Memory, key: str) -> list[Ask]:
    return [Ask(run_id=UUID(run), region=region, at_us=at_us) for run, region, at_us in memory.get(key, ())]


def _kept(asks: Sequence[Ask]) -> list[list[str | int]]:
    return [[ask.run_id.hex, ask.region, ask.at_us] for ask in asks]


class Look:
    """Made, then `changes` once, then `memory`. Between, others may `show` certificates and note what they `asked`.

    `turned` is what, whatever the rules are, is to be written down of when the site could be reached.
    """

    def __init__(self, row: Due, memory: Memory, rules: Sequence[Rule], sight: Sight) -> None:
        self.row = row
        self._sight, self._now_us = sight, to_us(sight.now)
        self._memory = memory
        self._rules = {rule.pk: rule for rule in rules}
        self._is_off = row.paused or not row.active
        self._is_another = memory.get("what", row.what) != row.what
        subject = Subject(
            kind=row.kind,
            interval_s=row.interval_s,
            timeout_s=row.timeout_s,
            began_us=self._now_us,
            user_timings=row.user_timings,
        )
        self._judge = MonitorJudge([*map(spec_of, rules), RECORD], subject, memory.get("rules", {}))
        self.turned: list[Turned] = []
        self._asks = asks(memory)
        self._rechecks = _asks(memory, "rechecks")
        self._late = _asks(memory, "late")
        self._doubted = [(region, at_us) for region, at_us in memory.get("doubted", ()) if self._is_of_slot(at_us)]
        self._asked = lately([(region, at_us) for region, at_us in memory.get("rechecked", ())], self._now_us)
        self._certificates_us: dict[str, int] = dict(memory.get("certificates_us", {}))
        if sight.streams:
            self._judge.keep({stream.region for stream in sight.streams})

    def changes(self) -> list[Change]:
        """What the rules make of it all."""
        found = [
            self._over(rule_id, why)
            for why, over in (
                (Resolution.RULE_OFF, self._judge.forgotten),
                (Resolution.UNMEASURED, self._judge.unmeasured),
            )
            for rule_id in over
            if rule_id in self._rules
        ]
        why = self._why_it_ends()
        if why is not None:
            return found + self._changes(self._judge.stop(self._now_us), why)
        self._expect()
        for region, since in self._sight.blind.items():
            self._judge.forgive(region, to_us(since))
        return found + self._changes(self._heard())

    @property
    def telling_runs(self) -> list[UUID]:
        """The newest run of each region in which a certificate may have been seen, now and then."""
        every_us = _ENDING_CERTIFICATE_EVERY_US if self._judge.certificate_ends else _CERTIFICATE_EVERY_US
        lately_us = self._now_us - every_us
        known = {region for region, at_us in self._certificates_us.items() if at_us > lately_us}
        return [run_id for run_id, region in self._telling.items() if region not in known]

    def show(self, seen: Sequence[Shown]) -> None:
        """Certificates of those runs."""
        regions, by_region = self._telling, defaultdict(list)
        for one in seen:
            by_region[regions[one.run_id]].append(one)
        for region, shown in by_region.items():
            found = ends_first(shown, kind=self.row.kind, host=urlsplit(self.row.url).hostname)
            if found is not None:
                self._certificates_us[region] = self._now_us
                for evaluator in self._judge.certificates():
                    evaluator.show(region, Reading.of(found, at_us=self._now_us))

    @property
    def _telling(self) -> dict[UUID, str]:
        if self._begins_anew or not self._judge.certificates():
            return {}
        newest = {sample.region: sample.run_id for sample in self._sight.samples if sample.seen is Seen.UP}
        return {run_id: region for region, run_id in newest.items()}

    def doubt(self) -> str | None:
        """The region to ask whether the site is down, as another one says; the same one if there is no other. The next
        where one said nothing, and none twice."""
        if self._begins_anew or self._asks or self._rechecks:
            return None
        doubt = self._judge.doubtful(self._now_us)
        if doubt is None:
            return None
        live = [stream.region for stream in self._sight.streams if stream.region in self._sight.live]
        others = [code for code in live if code != doubt.region]
        asked = {code for code, at_us in self._doubted if at_us >= doubt.since_us}
        return next((code for code in others or live if code not in asked), None)

    def asked(self, run_id: UUID, region: str) -> None:
        self._asks.append(Ask(run_id=run_id, region=region, at_us=self._now_us))

    def recheck(self) -> str | None:
        """A region that is to look at once whether what is held to be down is so still."""
        turn = self._turn()
        return turn.region if turn and turn.at_us <= self._now_us else None

    def rechecked(self, run_id: UUID, region: str) -> None:
        self._rechecks.append(Ask(run_id=run_id, region=region, at_us=self._now_us))
        self._asked.append((region, self._now_us))

    def memory(self) -> str:
        """What the next look goes on from."""
        if self._begins_anew:
            # What follows a pause, or is of another address, begins anew.
            kept: Memory = {"marks": dict.fromkeys(self._memory.get("marks", {}), self._now_us)}
            return json.dumps(kept, separators=(",", ":"))
        kept = {
            "marks": {stream.region: self._mark(stream) for stream in self._sight.streams},
            "rules": self._judge.memory(),
            "looked_us": self._now_us,
            "what": self.row.what,
        }
        if self._asks:
            kept["asks"] = _kept(self._asks)
        if self._doubted:
            kept["doubted"] = [list(one) for one in self._doubted]
        if self._rechecks:
            kept["rechecks"] = _kept(self._rechecks)
        if self._late:
            kept["late"] = _kept(self._late)
        if self._asked:
            kept["rechecked"] = [list(one) for one in self._asked]
        if self._certificates_us:
            kept["certificates_us"] = self._certificates_us
        return json.dumps(kept, separators=(",", ":"))

    @property
    def due_at(self) -> datetime:
        """When to look again: at once where not everything was read."""
        if self._sight.reached:
            return self._sight.now
        usual_s = min(max(self.row.interval_s / 4, SHORTEST_LOOK_S), LONGEST_LOOK_S)
        if self._asks or self._rechecks:
            usual_s = ANXIOUS_LOOK_S
        elif turn := self._turn():
            usual_s = min(usual_s, max((turn.at_us - self._now_us) / 1e6, SHORTEST_LOOK_S))
        return self._sight.now + timedelta(seconds=usual_s)

    @property
    def _begins_anew(self) -> bool:
        return self._why_it_ends() is not None

    def _why_it_ends(self) -> Resolution | None:
        """Why nothing that was told holds any longer."""
        if self._is_off:
            return Resolution.PAUSED
        if self._is_another:
            return Resolution.REPLACED
        return None if self._sight.streams else Resolution.UNMEASURED

    def _how_it_ends(self, heard: Heard) -> Resolution:
        """What was bad in regions that are not measured any more was not seen to become better. Where regions are
        counted, one that is gone may be all that was lacking; that data come again is true wherever they come from."""
        kind, measured = self._rules[heard.rule_id].kind, {stream.region for stream in self._sight.streams}
        gone = set(heard.named) - measured
        is_elsewhere = bool(gone) and (kind in _COUNTING or gone == set(heard.named))
        return Resolution.REPLACED if is_elsewhere and kind != RuleKind.NO_DATA else Resolution.RECOVERED

    def _turn(self) -> Turn | None:
        """Which region may look again, and when; none while one does."""
        if self._begins_anew or self._asks or self._rechecks:
            return None
        held = self._judge.held()
        if held is None:
            return None
        may = {stream.region for stream in self._sight.streams if self._may_look(stream)}
        regions = {code: at_us for code, at_us in held.regions.items() if code in may}
        held = replace(held, regions=regions)
        return next_turn(held, self._asked, now_us=self._now_us, interval_us=self.row.interval_s * 1_000_000)

    def _may_look(self, stream: Stream) -> bool:
        """Whether a region has an agent that lives, and no slot of its own that tells as soon."""
        is_idle = stream.pending is None and to_us(stream.next_at) - self._now_us > NEAR_US
        return is_idle and stream.region in self._sight.live

    def _expect(self) -> None:
        codes = {stream.region for stream in self._sight.streams}
        live, silent = sorted(codes & self._sight.live), sorted(codes - self._sight.live)
        looked_us = int(self._memory.get("looked_us", 0))
        for presence in self._judge.presences():
            presence.expect(live, silent, self._now_us)
            if self._now_us - looked_us > max(_BLIND_US, int(2e6 * LONGEST_LOOK_S)):
                presence.restart(self._now_us)

    def _heard(self) -> Iterator[Heard]:
        confirmed = self._sight.confirmed
        measured = {stream.region for stream in self._sight.streams}
        asked = [*self._asks, *self._rechecks, *self._late]
        # A region that was taken out meanwhile is no witness any more.
        heard = [ask for ask in asked if ask.run_id in confirmed and ask.region in measured]
        answers = [confirmed[ask.run_id] for ask in heard]
        self._note_silence({ask.run_id for ask in heard if confirmed[ask.run_id].seen is not Seen.NOTHING})
        self._asks, self._rechecks = self._open(self._asks), self._open(self._rechecks)
        self._late = [ask for ask in self._open(asked, HEARD_WITHIN) if ask not in (*self._asks, *self._rechecks)]
        told = [(sample, False) for sample in self._sight.samples] + [(sample, True) for sample in answers]
        for sample, is_answer in sorted(told, key=lambda one: one[0].at_us):
            yield from self._judge.observe(sample, is_answer=is_answer)
        yield from self._judge.look(self._now_us)

    def _note_silence(self, telling: Collection[UUID]) -> None:
        """Where who was asked about a failure told nothing in its time, somebody else is asked."""
        ended = [ask for ask in self._asks if ask not in self._open(self._asks)]
        if any(ask.run_id not in telling for ask in ended):
            self._judge.unanswered()
        self._doubted += [(ask.region, ask.at_us) for ask in ended]

    def _open(self, asks: Sequence[Ask], within: timedelta = CONFIRM_WITHIN) -> list[Ask]:
        """Those that have not ended, and are waited for."""
        late_us = self._now_us - within // timedelta(microseconds=1)
        return [ask for ask in asks if ask.run_id not in self._sight.confirmed and ask.at_us > late_us]

    def _is_of_slot(self, at_us: int) -> bool:
        """Whether that is no longer ago than a slot, after which no failure is asked about."""
        return at_us > self._now_us - self.row.interval_s * 1_000_000

    def _mark(self, stream: Stream) -> int:
        reached = self._sight.reached.get(stream.region_id)
        return to_us(reached) if reached else max(to_us(stream.after), to_us(stream.before) - 1)

    def _changes(self, heard: Iterable[Heard], why: Resolution | None = None) -> list[Change]:
        """What rules say; what is written down without them goes its own way."""
        changes: list[Change] = []
        for one in heard:
            if one.rule_id == RECORD.rule_id:
                self.turned.append(self._turned(one))
            else:
                changes.append(self._change(one, why or self._how_it_ends(one)))
        return changes

    def _turned(self, heard: Heard) -> Turned:
        standing, blind = heard.standing, self._sight.blind
        return Turned(
            monitor_id=self.row.monitor_id,
            state=standing.state,
            at=from_us(standing.turned_us or standing.since_us),
            regions=standing.regions,
            run_id=UUID(standing.after) if standing.after else None,
            why=str(standing.facts.get("detail", "")),
            blind_since=max(blind[code] for code in heard.named)
            if heard.named and blind.keys() >= set(heard.named)
            else None,
        )

    def _change(self, heard: Heard, resolution: Resolution) -> Change:
        return Change(
            rule=self._rules[heard.rule_id],
            scene=scene_of(self.row),
            standing=heard.standing,
            step=heard.step,
            monitor_id=self.row.monitor_id,
            metric=heard.metric,
            resolution=resolution,
        )

    def _over(self, rule_id: int, why: Resolution) -> Change:
        return Change(
            rule=self._rules[rule_id],
            scene=scene_of(self.row),
            standing=Standing(state=State.OK, since_us=self._now_us),
            step=None,
            monitor_id=self.row.monitor_id,
            resolution=why,
        )


def spec_of(rule: Rule) -> RuleSpec:
    """What of a rule decides."""
    return RuleSpec(
        rule_id=rule.pk, version=rule.version, kind=rule.kind, params=rule.params, delay_us=rule.delay_s * 1_000_000
    )


def scene_of(row: Due) -> Scene:
    """Where a monitor's rules say something."""
    return Scene(organisation_id=row.organisation_id, key=str(row.site_public_id), site_id=row.site_id)
