"""Whether causes have come or gone: what deep probes and page loads found, made into incidents by rules about findings.

Deep runs are few, so all that a rule goes by is read anew whenever one has come in; only what was told is remembered.
Where one run says something else than those before it, another is asked for instead of waiting until tomorrow.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from backend.alerts.deeper import look_deeper
from backend.alerts.incidents import Change, Scene, apply_all
from backend.alerts.judgement.findings import Looks, causes, standing, told_by, undecided
from backend.alerts.judgement.samples import Memory, Standing
from backend.alerts.judgement.tracks import Step, Track
from backend.alerts.models import Resolution, Rule, RuleKind
from backend.alerts.parameters import finding_limit
from backend.alerts.reading import Due, due, remember
from backend.alerts.rules_of import rules_for
from backend.alerts.said_by_outages import Outage, heard_by, may_be_said, outages_told, unsaid
from backend.alerts.seen_deep import Newest, deep_looks, new_in_light_runs, newest_of
from backend.alerts.setbacks import set_right
from backend.alerts.states import State
from backend.alerts.turns import Turns
from backend.instants import to_us
from backend.kept import retention_start
from workers.measurement.messages import Kind

BATCH = 200
IDLE_S, BUSY_S = 2.0, 0.0
_BATCHES = 50
LOOK_EVERY = timedelta(seconds=60)
# Somebody may be waiting for the second of two runs.
ANXIOUS_LOOK = timedelta(seconds=10)
PUT_OFF = timedelta(minutes=10)


def step(clock: Callable[[], datetime] = timezone.now) -> float:
    """Looks at the monitors that are due; the seconds to wait. Raises django.db.Error."""
    return IDLE_S if _TURNS.work(clock, _BATCHES) else BUSY_S


@transaction.atomic
def watch_batch(now: datetime, limit: int = BATCH) -> int:
    """Looks at monitors whose look is due; how many. A fixed number of statements, unless something has changed."""
    rows = due("alerts_scrutiny", now, limit)
    if not rows:
        return 0
    memories: dict[int, Memory] = {row.monitor_id: set_right(json.loads(row.memory), now) for row in rows}
    rules = rules_for(rows, kinds=[RuleKind.FINDING])
    newest = newest_of([row.monitor_id for row in rows], now)
    scrutinies = [
        Scrutiny(row, memories[row.monitor_id], rules[row.monitor_id], newest.get(row.monitor_id, {}), now)
        for row in rows
    ]
    looks = deep_looks([one.row.monitor_id for one in scrutinies if one.has_news], now)
    news = new_in_light_runs([one.row.monitor_id for one in scrutinies if not one.is_off], now)
    outages = _outages(scrutinies, looks, now)
    changes = [
        change
        for one in scrutinies
        if one.has_news
        for change in one.changes(looks.get(one.row.monitor_id, {}), outages.get(one.row.site_id, ()))
    ]
    apply_all(changes, now=now)
    for one in scrutinies:
        one.ask(news.get(one.row.monitor_id, ()))
    remember(
        "alerts_scrutiny",
        [row.monitor_id for row in rows],
        [one.memory() for one in scrutinies],
        [one.due_at for one in scrutinies],
    )
    return len(rows)


def _outages(scrutinies: Sequence["Scrutiny"], looks: Mapping[int, Looks], now: datetime) -> dict[int, list[Outage]]:
    """Those that may have told already what was found, by site."""
    sites = {one.row.site_id for one in scrutinies if may_be_said(looks.get(one.row.monitor_id, {}))}
    return outages_told(sites, retention_start(now))


_TURNS = Turns(table="alerts_scrutiny", look=watch_batch, batch=BATCH, put_off=PUT_OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mind:
    """What a rule thinks of the causes of one monitor; those it has nothing to say of are left out."""

    version: int
    tracks: Mapping[str, Track]
    regions: Mapping[str, list[str]]


class Scrutiny:
    """One look at one monitor: made, then `changes` once if it has news, then `ask`, then `memory`.

    `newest` is the newest deep run by region.
    """

    def __init__(
        self, row: Due, memory: Memory, rules: Sequence[Rule], newest: Mapping[str, Newest], now: datetime
    ) -> None:
        self.row = row
        self._rules, self._newest, self._now = rules, newest, now
        self.is_off = row.paused or not row.active
        self._is_another = memory.get("what", row.what) != row.what
        self._why_over = self._why_it_ends()
        self._since = self._counts_since(memory.get("since"))
        self._basis = {
            "runs": {code: last.run_id.hex for code, last in sorted(newest.items()) if last.run_id},
            "rules": {str(rule.pk): rule.version for rule in rules},
            "off": self.is_off,
            "what": row.what,
        }
        self._minds: dict[str, Any] = dict(memory.get("minds", {}))
        self.has_news = self._basis != memory.get("basis") or self._is_patient()
        self._unsure: list[str] = list(memory.get("unsure", ()))

    def changes(self, looks: Looks, outages: Sequence[Outage]) -> list[Change]:
        """What the rules make of the deep runs of each region, and of outages that said the same."""
        before, self._minds, unsure = self._minds, {}, set()
        found: list[Change] = []
        looks = {code: [look for look in mine if self._counts(code, look.at_us)] for code, mine in looks.items()}
        for rule in self._rules:
            mind = _remembered(before.get(str(rule.pk)), rule.version)
            if self._why_over is not None:
                over = (id for id, track in mind.tracks.items() if track.told)
                found += [self._over(rule, id, self._why_over) for id in over]
                continue
            changes, after, open_in = self._judge(rule, mind, unsaid(looks, heard_by(rule, outages)))
            found += changes
            unsure |= open_in
            self._minds[str(rule.pk)] = _kept(after)
        self._unsure = sorted(unsure)
        return found

    def ask(self, news: Collection[str]) -> None:
        """Asks for a deep run where there was none yet that counts, where one disagrees, where the certificate was
        refused and is no more, and in regions whose light runs show what is new."""
        if self.is_off or self.row.kind != Kind.PROBE:
            # A page is seen whole with every run.
            return
        again = [code for code, last in self._newest.items() if last.taken_again]
        look_deeper(self.row.monitor_id, {*self._unseen, *again, *self._unsure, *news}, now=self._now)

    def memory(self) -> str:
        """What the next look goes on from."""
        kept = {
            "basis": self._basis,
            "minds": self._minds,
            "unsure": self._unsure,
            "what": self.row.what,
            "since": self._since,
            "looked_us": to_us(self._now),
        }
        return json.dumps(kept, separators=(",", ":"))

    @property
    def due_at(self) -> datetime:
        is_anxious = self.row.kind == Kind.PROBE and (bool(self._unsure) or bool(self._unseen))
        return self._now + (ANXIOUS_LOOK if is_anxious and not self.is_off else LOOK_EVERY)

    @property
    def _unseen(self) -> list[str]:
        """Regions without a deep run that counts."""
        return [
            code for code, last in self._newest.items() if last.at is None or not self._counts(code, to_us(last.at))
        ]

    def _counts_since(self, kept: Mapping[str, int] | None) -> dict[str, int]:
        """Behind which instant deep runs count, by region: what was found at another address, or before nobody looked
        for a time, may not be there any more."""
        now_us = to_us(self._now)
        if self._why_over is not None:
            return dict.fromkeys(self._newest, now_us)
        unknown_us = 0 if kept is None else now_us
        return {code: (kept or {}).get(code, unknown_us) for code in self._newest}

    def _counts(self, code: str, at_us: int) -> bool:
        return code in self._since and at_us > self._since[code]

    def _why_it_ends(self) -> Resolution | None:
        """Why nothing that was told holds any longer. What has no regions is not known to be in order either."""
        if self.is_off:
            return Resolution.PAUSED
        if self._is_another:
            return Resolution.REPLACED
        return None if self._newest else Resolution.UNMEASURED

    def _how_it_ends(self, named: Sequence[str]) -> Resolution:
        """Causes of regions that are not looked at any more were not seen to be mended. Regions are counted: one that
        is gone may be all that was lacking."""
        return Resolution.REPLACED if set(named) - set(self._newest) else Resolution.RECOVERED

    def _is_patient(self) -> bool:
        """Whether something is bad and has not lasted long enough to be told."""
        return any(track["told"] is None for mind in self._minds.values() for track in mind["t"].values())

    def _judge(self, rule: Rule, mind: _Mind, looks: Looks) -> tuple[list[Change], _Mind, set[str]]:
        limit, now_us = finding_limit(rule.params), to_us(self._now)
        tracks: dict[str, Track] = {}
        regions: dict[str, list[str]] = {}
        unsure: set[str] = set()
        found = []
        for id in filter(self._is_mine, sorted(causes(looks, limit) | set(mind.tracks))):
            track = mind.tracks.get(id, Track())
            seen = standing(id, looks, limit, current=track.state, now_us=now_us)
            unsure.update(undecided(id, looks, limit, current=track.state))
            track, heard = track.advance(seen, now_us, rule.delay_s * 1_000_000)
            is_moved = track.told is not None and seen.firm and list(seen.regions) != mind.regions.get(id)
            if heard or is_moved:
                found.append(self._change(rule, id, seen, heard, self._how_it_ends(mind.regions.get(id, []))))
            if track.memory():
                tracks[id] = track
                regions[id] = list(seen.regions) if seen.firm else mind.regions.get(id, [])
        return found, _Mind(version=rule.version, tracks=tracks, regions=regions), unsure

    def _is_mine(self, id: str) -> bool:
        """Since an incident is of one cause of a site, one kind of monitor alone tells it."""
        return told_by(id) == self.row.kind

    def _over(self, rule: Rule, id: str, resolution: Resolution) -> Change:
        return self._change(rule, id, Standing(state=State.OK, since_us=to_us(self._now)), None, resolution)

    def _change(
        self,
        rule: Rule,
        id: str,
        standing: Standing,
        step: Step | None,
        resolution: Resolution = Resolution.RECOVERED,
    ) -> Change:
        # A site has an incident for each cause: one is mended while others stay.
        scene = Scene(
            organisation_id=self.row.organisation_id, key=f"{self.row.site_public_id}/{id}", site_id=self.row.site_id
        )
        return Change(
            rule=rule,
            scene=scene,
            standing=standing,
            step=step,
            monitor_id=self.row.monitor_id,
            resolution=resolution,
        )


def _remembered(kept: Mapping[str, Any] | None, version: int) -> _Mind:
    """Nothing for a rule that has changed: what it had told was ended then."""
    if not kept or kept["v"] != version:
        return _Mind(version=version, tracks={}, regions={})
    return _Mind(
        version=version,
        tracks={id: Track.remembered(track) for id, track in kept["t"].items()},
        regions=kept["r"],
    )


def _kept(mind: _Mind) -> Memory:
    return {"v": mind.version, "t": {id: track.memory() for id, track in mind.tracks.items()}, "r": dict(mind.regions)}
