"""The first runs of sites that were never measured: started through the real queue, awaited, drawn as text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from uuid import UUID

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.fleet.queries import usable_regions
from backend.runs import actions
from backend.runs.models import Outcome, Run
from backend.runs.queries import RunDetail, RunProgress, RunState, asked_of, progress, run_detail
from backend.sites.models import Monitor, MonitorKind, Site, SiteStatus
from workers.measurement.canvas import Canvas
from workers.measurement.drawing import draw

_POLL_S = 0.25
# Words for a terminal; pages have their own.
_STATES = {RunState.STARTING: "starting", RunState.CONNECTING: "connecting", RunState.COMPUTING: "computing"}


class FirstRunsError(RuntimeError):
    """The first runs did not come out; the text says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long to wait, and whom to tell what."""

    seconds: float
    tell: Callable[[str], None]


def first_runs(organisation: Organisation, urls: Sequence[str], waiting: Waiting) -> list[RunDetail]:
    """A measured run of each monitor of each active site with such an address, by site and kind: an old one, or one
    that is made now. Raises FirstRunsError when one was not measured or did not end in time.
    """
    monitors = _monitors(organisation, urls)
    started = _start(organisation, [monitor for monitor in monitors if _newest(monitor) is None])
    lines = _await(organisation, started, waiting)
    _refuse_failures(lines)
    return list(_details(organisation, monitors))


def drawn(detail: RunDetail, canvas: Canvas) -> str:
    """A heading and the run itself."""
    heading = f"{detail.site.name}: {detail.run.kind} of {address_of(detail)} from {detail.region.name}"
    body = draw(detail.result.outcome, canvas) if detail.result else "The measurement is not there any more."
    return f"{heading}\n\n{body}"


def address_of(detail: RunDetail) -> str:
    """What it asked for; its monitor's address of today where nobody kept that."""
    asked = asked_of([detail.run]).get(detail.run.run_id)
    return detail.monitor.url if asked is None else asked.url


def _monitors(organisation: Organisation, urls: Sequence[str]) -> list[Monitor]:
    sites = Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE, url__in=urls)
    # One pair says nothing: pairs are left to the schedule.
    plain = Monitor.objects.filter(site__in=sites, paused=False).exclude(kind=MonitorKind.PAIR)
    monitors = plain.select_related("site__organisation")
    # "probe" sorts after "page", and comes first: it is done in milliseconds.
    return list(monitors.order_by("site__name", "site_id", "-kind"))


def _start(organisation: Organisation, monitors: Sequence[Monitor]) -> list[UUID]:
    regions = [region.code for region in usable_regions(organisation)]
    return [run for monitor in monitors for run in actions.test_now(actor=None, monitor=monitor, regions=regions)]


def _await(organisation: Organisation, runs: Sequence[UUID], waiting: Waiting) -> list[RunProgress]:
    deadline = monotonic() + waiting.seconds
    told = ""
    while True:
        lines = progress(organisation, runs, now=timezone.now()) if runs else []
        if (sentence := _sentence(lines)) != told:
            waiting.tell(told := sentence)
        if all(line.state.ended for line in lines):
            return lines
        if monotonic() > deadline:
            late = next(line for line in lines if not line.state.ended)
            raise FirstRunsError(
                f"{_name(late)} is still {late.state} after {waiting.seconds:.0f} s; does that region's agent run?"
            )
        sleep(_POLL_S)


def _sentence(lines: Sequence[RunProgress]) -> str:
    done = sum(line.state.ended for line in lines)
    under_way = [f"{_name(line)} {_state(line)}" for line in lines if not line.state.ended]
    return f"{done} of {len(lines)} first runs ended{'; ' if under_way else ''}{', '.join(under_way[:4])}"


def _state(line: RunProgress) -> str:
    if line.state is RunState.QUEUED:
        return "queued with its agent" if line.queue_place is None else f"queued (place {line.queue_place})"
    if line.state is RunState.LOADING:
        return f"loading ({line.requests or 0} requests so far)"
    return _STATES.get(line.state, line.state.value)


def _name(line: RunProgress) -> str:
    return f"{line.kind} from {line.region_name}"


def _refuse_failures(lines: Sequence[RunProgress]) -> None:
    wrong = [line for line in lines if line.state is not RunState.DONE]
    if wrong:
        reasons = "\n".join(f"  {_name(line)}: {line.state}, {line.reason}" for line in wrong)
        raise FirstRunsError(f"{len(wrong)} of {len(lines)} first runs were not measured:\n{reasons}")


def _details(organisation: Organisation, monitors: Sequence[Monitor]) -> Iterator[RunDetail]:
    for monitor in monitors:
        newest = _newest(monitor)
        detail = run_detail(organisation, newest.run_id) if newest else None
        if detail is not None:
            yield detail


def _newest(monitor: Monitor) -> Run | None:
    measured = Run.objects.filter(monitor_id=monitor.pk, outcome=Outcome.MEASURED)
    return measured.order_by("-scheduled_for", "region_id").first()
