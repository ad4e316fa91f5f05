"""What a person who waits is told: the state of each run in words. Pure; the page and its script say the same."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from backend.fleet.queries import Health, RegionState
from backend.runs.models import Run
from backend.runs.queries import RunProgress, RunState
from backend.web import units
from backend.web.phrases import number_of
from backend.web.times import short
from backend.web.verdict import missed_verdict
from backend.web.waterfall.text import printable
from workers.diagnosis.units import lasting
from workers.measurement.messages import Early, Kind, MissedReason
from workers.measurement.timing import Phases

# After this long without news we say so: a page that waits in silence looks broken.
SILENCE = timedelta(seconds=60)
KIND_NAMES = {Kind.PROBE: "Probe", Kind.PAGE: "Page load", Kind.PAIR: "Pair"}

Mark = Literal["todo", "now", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """One line: `mark` is its shape, `text` all that is to be said."""

    id: str
    region: str
    region_name: str
    kind: str
    state: str
    mark: Mark
    text: str
    requests: int | None
    queue_position: int | None
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The whole page. `eta_s` is a guess of what is left; None when there is nothing to guess from.
    `first_result` is the address of the first in the list that was measured, else of the first that failed.

    `phases_of` names the phases that the page draws: by their run, and by themselves too while that has not ended.
    """

    state: Literal["running", "done"]
    done: int
    total: int
    eta_s: int | None
    summary: str
    first_result: str | None
    phases_of: str | None
    runs: tuple[LiveRun, ...]

    @property
    def regions(self) -> list[tuple[str, list[LiveRun]]]:
        """The lines under the names of their regions, in the order asked; what is quick stands first."""
        grouped: dict[str, list[LiveRun]] = {}
        for run in sorted(self.runs, key=lambda run: run.kind != Kind.PROBE):
            grouped.setdefault(run.region_name, []).append(run)
        return list(grouped.items())

    @property
    def was_measured(self) -> bool:
        """Whether there is a result, and not only reasons why there is none."""
        return any(run.mark == "done" for run in self.runs)

    def document(self) -> dict[str, object]:
        """The answer of the progress address."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the words are made from."""

    progress: Sequence[RunProgress]
    ended: Mapping[UUID, Run]
    regions: Mapping[str, RegionState]
    urls: Mapping[UUID, str]
    now: datetime


def live(facts: Facts) -> Live:
    """The page as it is now."""
    done = sum(run.state.ended for run in facts.progress)
    total = len(facts.progress)
    eta_s = _left_s(facts)
    results = (
        facts.urls[run.run_id]
        for state in (RunState.DONE, RunState.FAILED)
        for run in facts.progress
        if run.state is state
    )
    return Live(
        state="done" if done == total else "running",
        done=done,
        total=total,
        eta_s=eta_s,
        summary=_summary(facts.progress, eta_s),
        first_result=next(results, None),
        phases_of=_named(drawn(facts.progress)),
        runs=tuple(_line(run, facts) for run in facts.progress),
    )


def _left_s(facts: Facts) -> int | None:
    """How long all of it takes still: None where that cannot be guessed of one of them, since it ends with the last."""
    waiting = [run for run in facts.progress if not run.state.ended]
    guesses = [run.about_s for run in waiting if run.about_s is not None and not _is_unheard(run, facts)]
    return max(guesses) if guesses and len(guesses) == len(waiting) else None


def _is_unheard(run: RunProgress, facts: Facts) -> bool:
    """Whether nobody is there to carry it out."""
    region = facts.regions.get(run.region)
    return region is not None and region.health in (Health.OFFLINE, Health.NEVER)


def drawn(progress: Sequence[RunProgress]) -> RunProgress | None:
    """Whose phases the page draws: of the first probe that was measured, else of the first that knows them already."""
    measured = [run for run in progress if run.kind == Kind.PROBE and run.state is RunState.DONE]
    early = [run for run in progress if run.phases is not None]
    return next(iter(measured + early), None)


def _named(run: RunProgress | None) -> str | None:
    """Another name once the run has ended, since the page says of early phases that it has not."""
    if run is None:
        return None
    told = () if run.phases is None else asdict(run.phases).values()
    return ":".join(map(str, (run.run_id, *told)))


def by_code(states: Iterable[RegionState]) -> dict[str, RegionState]:
    return {state.region.code: state for state in states}


def _summary(progress: Sequence[RunProgress], eta_s: int | None) -> str:
    total = len(progress)
    done = sum(run.state.ended for run in progress)
    without = sum(_mark(run.state) == "failed" for run in progress)
    parts = [
        f"{done} of {total} run{'' if total == 1 else 's'} finished",
        f"{without} without a result" if without else "",
        f"about {lasting(eta_s)} left" if eta_s is not None and done < total else "",
    ]
    return ", ".join(part for part in parts if part)


def _line(run: RunProgress, facts: Facts) -> LiveRun:
    return LiveRun(
        id=str(run.run_id),
        region=run.region,
        region_name=run.region_name,
        kind=run.kind,
        state=run.state.value,
        mark=_mark(run.state),
        text=f"{KIND_NAMES[Kind(run.kind)]}: {_words(run, facts)}",
        requests=run.requests,
        queue_position=run.queue_place,
        url=facts.urls[run.run_id] if run.state.ended else None,
    )


def _mark(state: RunState) -> Mark:
    if state is RunState.QUEUED:
        return "todo"
    if state is RunState.DONE:
        return "done"
    return "failed" if state.ended else "now"


def _words(run: RunProgress, facts: Facts) -> str:
    if run.early is not None:
        return _deeper(run.early)
    match run.state:
        case RunState.QUEUED:
            return _queued(run, facts)
        case RunState.STARTING:
            return "browser starting" if run.kind == Kind.PAGE else "starting"
        case RunState.LOADING if run.requests:
            return f"loading, {_requests(run.requests)} so far"
        case RunState.DONE:
            return _measured(facts.ended.get(run.run_id))
        case RunState.FAILED:
            return f"failed. {printable(run.reason or '', 300)}".strip()
        case RunState.MISSED:
            return f"missed. {missed_verdict(MissedReason(run.reason or MissedReason.AGENT_LOST)).text}"
        case _:
            return run.state.value


def _deeper(early: Early) -> str:
    """What a probe knows already, and how far it is. How many connections it comes to changes with what it sees."""
    known = "" if early.phases is None else f"{_first_byte(early.phases)}; "
    counted = "" if early.connections is None else f", {early.connections} of about {early.planned} connections"
    return f"{known}looking deeper{counted}"


def _requests(number: int) -> str:
    return number_of(number, "request")


def _queued(run: RunProgress, facts: Facts) -> str:
    if _is_unheard(run, facts):
        return f"queued, but no agent of {run.region_name} is online ({_last_seen(facts.regions[run.region])})"
    # An agent that has taken it from the queue may load other pages first, or its neighbours may.
    parts = ["queued with its agent"] if run.queue_place is None else ["queued", f"place {run.queue_place}"]
    if run.about_s is not None:
        parts.append(f"about {lasting(run.about_s)}")
    if facts.now - run.since > SILENCE:
        parts.append(f"no answer for {lasting((facts.now - run.since).total_seconds())}")
    return ", ".join(parts)


def _last_seen(region: RegionState) -> str:
    return "never seen" if region.last_seen_at is None else f"last seen {short(region.last_seen_at)}"


def _measured(run: Run | None) -> str:
    if run is None:
        return "done"
    if run.kind == Kind.PAGE:
        parts = [("largest paint", run.lcp_us), ("first paint", run.fcp_us), ("first byte", run.ttfb_us)]
        counted = "" if run.requests is None else f" · {_requests(run.requests)}"
        return " · ".join(f"{name} {units.duration(us)}" for name, us in parts if us is not None) + counted
    return _first_byte(run)


def _first_byte(seen: Run | Phases) -> str:
    phases = [("DNS", seen.dns_us), ("connect", seen.connect_us), ("TLS", seen.tls_us), ("waiting", seen.wait_us)]
    split = " · ".join(f"{name} {units.duration(us)}" for name, us in phases if us is not None)
    return f"first byte after {units.duration(seen.ttfb_us)}: {split}"
