"""All rules of one monitor at work: samples in, what is heard out. The judge and the preview both run this."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.alerts.judgement.availability import Availability, Doubt
from backend.alerts.judgement.budgets import OverBudget
from backend.alerts.judgement.certificates import CertificateEnds
from backend.alerts.judgement.failures import Failures
from backend.alerts.judgement.presence import Presence
from backend.alerts.judgement.rechecks import Held
from backend.alerts.judgement.samples import Evaluator, Memory, Sample, Standing
from backend.alerts.judgement.tracks import Step, Track
from backend.alerts.metrics import measured_by
from backend.alerts.parameters import budget, days_left, failure_limit
from backend.alerts.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSpec:
    """What of a rule decides; `version` grows when that changes."""

    rule_id: int
    version: int
    kind: str
    params: Mapping[str, Any]
    delay_us: int = 0


# What nobody has to set and nobody can switch off: when a site could not be reached, whoever is told of it.
RECORD = RuleSpec(rule_id=0, version=1, kind="availability", params={"confirm": False})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What of a monitor matters to its rules. `began_us` is when watching began, `user_timings` are followed."""

    kind: str
    interval_s: int
    timeout_s: int = 60
    began_us: int = 0
    user_timings: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a rule says. Without a step only its standing changed: other regions or fewer days, say. `named` are the
    regions that it named before."""

    rule_id: int
    standing: Standing
    step: Step | None
    metric: str = ""
    named: tuple[str, ...] = ()


_MAKERS: dict[str, Callable[[RuleSpec, Subject, Memory], Evaluator]] = {
    "availability": lambda rule, subject, memory: Availability(memory, interval_s=subject.interval_s),
    "failures": lambda rule, subject, memory: Failures(memory, failure_limit(rule.params)),
    "budget": lambda rule, subject, memory: OverBudget(memory, budget(rule.params)),
    "certificate": lambda rule, subject, memory: CertificateEnds(memory, days_left(rule.params)),
    "no_data": lambda rule, subject, memory: Presence(
        memory, patience_us=_patience_us(rule, subject), began_us=subject.began_us
    ),
}
# These are asked at every look, since time alone changes their minds.
_BY_THE_CLOCK = frozenset({"certificate", "no_data"})
# The figures of these change while they hold, and are told as they are.
_WITH_FIGURES = _BY_THE_CLOCK | {"failures", "budget"}
# A median moves a little with each run: less is as was told.
_SAME_PART = 0.1


def _patience_us(rule: RuleSpec, subject: Subject) -> int:
    """The rule's intervals, and the time that a run may take with a second attempt and on its way to us."""
    return (int(rule.params["intervals"]) * subject.interval_s + 2 * subject.timeout_s + 60) * 1_000_000


def applies(rule: RuleSpec, subject: Subject) -> bool:
    """Whether a rule has anything to say of a monitor here. Pairs are compared, not watched."""
    if rule.kind not in _MAKERS or subject.kind not in ("probe", "page"):
        return False
    return rule.kind != "budget" or measured_by(rule.params["metric"], subject.kind, subject.user_timings)


def _has_told(kept: Memory) -> bool:
    """Whether what a rule remembers is something that people were told."""
    return bool(kept) and Track.remembered(kept["t"]).told is not None


@dataclass(slots=True)
class _Entry:
    """One rule: its eyes, its mind, and which regions were named last. `facts` are those that were told last of what
    changes while it holds, such as the days that are left."""

    spec: RuleSpec
    evaluator: Evaluator
    track: Track
    regions: list[str] = field(default_factory=list)
    facts: Memory = field(default_factory=dict)

    def consider(self, now_us: int) -> Heard | None:
        standing = self.evaluator.standing(self.track.state, now_us)
        facts = dict(standing.facts) if self.spec.kind in _WITH_FIGURES else {}
        self.track, step = self.track.advance(standing, now_us, self.spec.delay_us)
        is_known = list(standing.regions) == self.regions and _is_as_told(facts, self.facts)
        if step is None and (self.track.told is None or not standing.firm or is_known):
            return None
        named, self.regions, self.facts = tuple(self.regions), list(standing.regions), facts
        return Heard(rule_id=self.spec.rule_id, standing=standing, step=step, named=named)


def _is_as_told(facts: Memory, told: Memory) -> bool:
    """Whether these are the figures that were told, but for a median that has hardly moved."""
    value, before = facts.get("value"), told.get("value")
    is_near = value is not None and before is not None and abs(value - before) < _SAME_PART * before
    return {**facts, "value": before} == {**told, "value": before} if is_near else facts == told


class MonitorJudge:
    """Goes on from `memory`. What a rule remembered under another version is forgotten, with `forgotten` naming those
    that had told of something, and `unmeasured` those whose metric is followed no more.
    """

    def __init__(self, rules: Sequence[RuleSpec], subject: Subject, memory: Memory) -> None:
        self.forgotten: list[int] = []
        kept = {rule.rule_id: memory.get(str(rule.rule_id), {}) for rule in rules}
        mine = [rule for rule in rules if applies(rule, subject)]
        self._entries = [self._entry(rule, subject, kept[rule.rule_id]) for rule in mine]
        self.unmeasured = [rule.rule_id for rule in rules if rule not in mine and _has_told(kept[rule.rule_id])]

    def keep(self, regions: Collection[str]) -> None:
        """Only these are measured from."""
        for entry in self._entries:
            entry.evaluator.keep(regions)

    def forgive(self, region: str, since_us: int) -> None:
        """Nothing was seen from a region since then: it says of no site that it is down."""
        for entry in self._entries:
            if isinstance(entry.evaluator, Availability):
                entry.evaluator.forgive(region, since_us)

    def observe(self, sample: Sample, *, is_answer: bool = False) -> Iterator[Heard]:
        """One ended slot; those of a region come in order. What was asked for when something was wrong is an answer,
        and counts for whether the site can be reached: medians and counts are of what was measured by the clock."""
        for entry in self._entries:
            if is_answer and not isinstance(entry.evaluator, Availability):
                continue
            entry.evaluator.observe(sample)
            if entry.spec.kind not in _BY_THE_CLOCK and (heard := entry.consider(sample.at_us)):
                yield heard

    def look(self, now_us: int) -> Iterator[Heard]:
        """What the time that passed says."""
        for entry in self._entries:
            if heard := entry.consider(now_us):
                yield heard

    def stop(self, now_us: int) -> Iterator[Heard]:
        """Nothing is to be measured any more: whatever was told is over, and what was seen says nothing."""
        for entry in self._entries:
            entry.track, step = entry.track.advance(Standing(state=State.OK, since_us=now_us), now_us, 0)
            if step:
                yield Heard(rule_id=entry.spec.rule_id, standing=step.standing, step=step)

    def doubtful(self, now_us: int) -> Doubt | None:
        """A region's first failure that ought to be confirmed by another: who is asked answers to all rules."""
        doubts = [availability.doubtful(now_us) for track, availability in self._asking() if track.state is State.OK]
        return next((doubt for doubt in doubts if doubt), None)

    def unanswered(self) -> None:
        """The region that was asked about a failure said nothing of it."""
        for _, availability in self._asking():
            availability.unanswered()

    def held(self) -> Held | None:
        """What a rule that may ask holds to be down."""
        for track, availability in self._asking():
            if track.state is not State.OK:
                return availability.held(track.state, track.since_us)
        return None

    def _asking(self) -> Iterator[tuple[Track, Availability]]:
        """What the rules that may ask regions go by."""
        for entry in self._entries:
            if isinstance(entry.evaluator, Availability) and entry.spec.params.get("confirm", True):
                yield entry.track, entry.evaluator

    def presences(self) -> list[Presence]:
        return [entry.evaluator for entry in self._entries if isinstance(entry.evaluator, Presence)]

    def certificates(self) -> list[CertificateEnds]:
        return [entry.evaluator for entry in self._entries if isinstance(entry.evaluator, CertificateEnds)]

    @property
    def certificate_ends(self) -> bool:
        """Whether a rule holds that the certificate ends soon."""
        return any(
            isinstance(entry.evaluator, CertificateEnds) and entry.track.state is not State.OK
            for entry in self._entries
        )

    def memory(self) -> Memory:
        """All that has to be known to go on."""
        return {
            str(entry.spec.rule_id): {
                "v": entry.spec.version,
                "m": entry.evaluator.memory(),
                "t": entry.track.memory(),
                "r": entry.regions,
                "f": entry.facts,
            }
            for entry in self._entries
        }

    def _entry(self, rule: RuleSpec, subject: Subject, kept: Memory) -> _Entry:
        if kept and kept["v"] != rule.version:
            if _has_told(kept):
                self.forgotten.append(rule.rule_id)
            kept = {}
        evaluator = _MAKERS[rule.kind](rule, subject, kept.get("m", {}))
        return _Entry(
            rule, evaluator, Track.remembered(kept.get("t")), list(kept.get("r", ())), dict(kept.get("f", {}))
        )
