"""Test now: measurements that somebody waits for, of a monitor or of any URL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.utils import timezone
from ninja import Query, Router, Status
from pydantic import Field

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.limits import TESTS
from backend.api.v1.monitors import owned_monitor
from backend.api.v1.problems import NOT_FOUND, ProblemError, invalid
from backend.api.v1.run_shapes import Phases, phases_shape
from backend.api.v1.shapes import In, Out, RegionCode, Url
from backend.api.v1.waiting import Wait, wait_for
from backend.fleet.queries import joined_regions
from backend.runs import actions
from backend.runs.queries import RunProgress, RunState, progress
from backend.sites.models import MonitorKind

router = Router(tags=["Tests"])

# As many as one test may start, twice; so many ids still fit into an address.
MAX_RUNS = 60
Regions = Annotated[
    list[RegionCode],
    Field(max_length=100, description="Where to measure from; empty means every region that an agent has joined."),
]
RunIds = Annotated[
    list[UUID], Query(..., alias="run", min_length=1, max_length=MAX_RUNS, description="A run; may be given often.")
]
TEST = needs(Scope.TEST, permission=Permission.EDIT_SITES, policy=TESTS)


class MonitorTest(In):
    regions: Regions = []


class UrlTest(In):
    """A probe and a page load of any URL, without registering it."""

    url: Url
    regions: Regions = []


class TestRun(Out):
    """`id` is the run to read once it has ended; `asked_id` is the one that was promised (another attempt may follow).

    `queue_place` counts from 1 while it is queued. `reason` says why it failed or was missed. `phases` are those of a
    probe that has measured them and still looks deeper, null otherwise: of a run that has ended they are the run's.
    """

    id: UUID
    asked_id: UUID
    kind: MonitorKind
    region: str
    state: RunState
    requests: int | None
    queue_place: int | None
    phases: Phases | None
    reason: str | None
    since: datetime


class Test(Out):
    """`done` when every run has ended. `site_id` is the draft that a test of a URL has made."""

    done: bool
    site_id: UUID | None
    url: str
    runs: list[TestRun]


@router.post("/monitors/{uuid:monitor_id}/tests", auth=TEST, response={202: Test})
def test_monitor(request: ApiRequest, monitor_id: UUID, test: MonitorTest) -> Status[Test]:
    """Measures a monitor once, ahead of everything scheduled. Follow `Location`, with `?wait=60`, until it is done."""
    monitor = owned_monitor(request, monitor_id)
    regions = _regions(request, test.regions)
    return _started(request, actions.test_now(actor=request.caller.actor, monitor=monitor, regions=regions))


@router.post("/tests", auth=TEST, response={202: Test})
def test_url(request: ApiRequest, test: UrlTest) -> Status[Test]:
    """Measures a URL once. The site it makes is a draft: `PATCH` it to `active`, or it is removed after a day."""
    caller = request.caller
    trial = actions.start_trial(
        actor=caller.actor,
        organisation=caller.organisation,
        url=test.url,
        regions=_regions(request, test.regions),
    )
    return _started(request, trial.run_ids, site_id=trial.site.public_id)


@router.get("/tests", auth=needs(Scope.TEST, Scope.READ), response=Test)
def get_test(request: ApiRequest, runs: RunIds, wait: Wait = 0) -> Test:
    """Where the runs of a test are. Answers when all have ended, or after `wait` seconds as it is then."""
    found = wait_for(lambda: _progress(request, runs), _is_done, wait_s=wait)
    if not found:
        raise ProblemError(NOT_FOUND, "There are no such runs.")
    return _test(runs, found)


def _started(request: ApiRequest, run_ids: Sequence[UUID], *, site_id: UUID | None = None) -> Status[Test]:
    test = _test(run_ids, _progress(request, run_ids), site_id=site_id)
    request.out["Location"] = test.url
    return Status(202, test)


def _regions(request: ApiRequest, codes: Sequence[str]) -> list[str]:
    chosen = list(codes) or [region.code for region in joined_regions(request.caller.organisation)]
    if not chosen:
        raise invalid("#/regions", "No agent has joined any region yet: there is nowhere to measure from.")
    return chosen


def _progress(request: ApiRequest, run_ids: Sequence[UUID]) -> list[RunProgress]:
    return progress(request.caller.organisation, run_ids, now=timezone.now())


def _is_done(found: Sequence[RunProgress]) -> bool:
    return all(run.state.ended for run in found)


def _test(run_ids: Sequence[UUID], found: Sequence[RunProgress], *, site_id: UUID | None = None) -> Test:
    url = "/api/v1/tests?" + "&".join(f"run={run_id}" for run_id in run_ids)
    return Test(done=_is_done(found), site_id=site_id, url=url, runs=[_run(run) for run in found])


def _run(run: RunProgress) -> TestRun:
    return TestRun(
        id=run.run_id,
        asked_id=run.asked_id,
        kind=MonitorKind(run.kind),
        region=run.region,
        state=run.state,
        requests=run.requests,
        queue_place=run.queue_place,
        phases=None if run.phases is None else phases_shape(run.phases),
        reason=run.reason,
        since=run.since,
    )
