"""Two runs beside each other: what differs in their numbers and from request to request."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router

from backend.accounts.permissions import Scope
from backend.alerts.queries.earlier import Earlier, earlier_runs
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.problems import CONFLICT, NOT_FOUND, ProblemError, invalid
from backend.api.v1.run_shapes import numbers_of
from backend.api.v1.shapes import Ms, Out, written
from backend.runs.differences import (
    Changes,
    Seen,
    changes_of,
    differs,
    items_of,
    partners_of,
    size_differs,
    status_differs,
    time_differs,
)
from backend.runs.queries import RunDetail, run_detail
from backend.sites.models import MonitorKind
from workers.measurement.document import milliseconds

router = Router(tags=["Runs"])

# A page of ten thousand requests may differ in all of them.
MAX_REQUESTS = 1_000
_WORDS = ", ".join(f"`{word}`" for word in Earlier)
Way = Literal["presence", "status", "time", "size", "version"]


class ComparedRun(Out):
    id: UUID
    monitor_id: UUID
    region: str
    scheduled_for: datetime


class NumberDifference(Out):
    """`difference` is after less before, and `share` is that by the value before: 0.5 is half as much again."""

    name: str
    before: float | None
    after: float | None
    difference: float | None
    share: float | None


class RequestCounts(Out):
    """Of all requests, or hops. `longer`, `shorter` and `other_status` are of those that both runs have."""

    before: int
    after: int
    only_before: int
    only_after: int
    longer: int
    shorter: int
    other_status: int


class RequestSide(Out):
    """`number` is that of the run's waterfall."""

    number: int
    url: str
    status: int | None
    failure: str | None
    total_ms: Ms | None
    transferred_bytes: int | None


class RequestDifference(Out):
    """One that only one run has, the other being null, or one that differs in what `differs` names."""

    type: str
    before: RequestSide | None
    after: RequestSide | None
    differs: list[Way]


class Differences(Out):
    """`numbers` are phases and metrics by their names in a run. `requests` are those that differ, in their order.

    Less than 20 ms or a fifth, and less than 1,000 bytes or a twentieth, is what two loads of one page differ by
    anyway. A request is the same when its address is, or its address without versions. One run each: what is small here
    may be chance.
    """

    before: ComparedRun
    after: ComparedRun
    unit: Literal["request", "hop"]
    numbers: list[NumberDifference]
    counts: RequestCounts
    requests: list[RequestDifference]
    truncated: bool


@router.get("/runs/{uuid:run_id}/differences", auth=needs(Scope.READ), response=Differences)
def get_differences(
    request: ApiRequest,
    run_id: UUID,
    before: Annotated[
        str,
        Query(
            Earlier.PREVIOUS.value,
            max_length=36,
            description=(
                f"The run to compare with: its id, or, of the same monitor and region, {_WORDS}. `last_good` is the"
                " newest that was measured while no incident of the site went on, `week_before` the nearest to one"
                " week earlier."
            ),
        ),
    ],
) -> HttpResponse:
    """What differs from an earlier run, or any other of the same kind: numbers, and request by request."""
    after = _measured(run_detail(request.caller.organisation, run_id), "run")
    other = _measured(run_detail(request.caller.organisation, _id_of(after, before)), "run to compare with")
    first, second = items_of(other.measurement), items_of(after.measurement)
    if first is None or second is None or after.monitor.kind != other.monitor.kind:
        raise ProblemError(CONFLICT, "Only two page loads or two probes can be compared; pairs are at their pairing.")
    partners = partners_of(first, second)
    rows = list(_rows(first, second, partners))
    found = Differences(
        before=_run(other),
        after=_run(after),
        unit="request" if after.monitor.kind == MonitorKind.PAGE else "hop",
        numbers=_numbers(numbers_of(other.run), numbers_of(after.run)),
        counts=_counts(first, second, changes_of(first, second, partners)),
        requests=rows[:MAX_REQUESTS],
        truncated=len(rows) > MAX_REQUESTS,
    )
    return HttpResponse(written(found), content_type="application/json")


def _id_of(after: RunDetail, before: str) -> UUID:
    """Raises ProblemError."""
    if before in list(Earlier):
        found = earlier_runs(after.run, after.site.pk).get(Earlier(before))
        if found is None:
            raise ProblemError(NOT_FOUND, f"There is no {before.replace('_', ' ')} run of this monitor and region.")
        return found.run_id
    try:
        return UUID(before)
    except ValueError as error:
        raise invalid("?before", f"Give a run's id, or one of {', '.join(Earlier)}.") from error


def _measured(detail: RunDetail | None, what: str) -> RunDetail:
    if detail is None:
        raise ProblemError(NOT_FOUND, f"There is no such {what}, or its time of retention has passed.")
    if detail.measurement is None:
        raise ProblemError(CONFLICT, f"The {what} measured nothing that is kept.")
    return detail


def _run(detail: RunDetail) -> ComparedRun:
    return ComparedRun(
        id=detail.run.run_id,
        monitor_id=detail.monitor.public_id,
        region=detail.region.code,
        scheduled_for=detail.run.scheduled_for,
    )


def _numbers(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> list[NumberDifference]:
    """Without those that neither run has."""
    pairs = ((name, one, after[name]) for name, one in before.items())
    return [_number(name, one, other) for name, one, other in pairs if one is not None or other is not None]


def _number(name: str, one: float | None, other: float | None) -> NumberDifference:
    by = None if one is None or other is None else round(other - one, 3)
    share = None if by is None or not one else round(by / one, 4)
    return NumberDifference(name=name, before=one, after=other, difference=by, share=share)


def _counts(first: Sequence[Seen], second: Sequence[Seen], changes: Changes) -> RequestCounts:
    return RequestCounts(
        before=len(first),
        after=len(second),
        only_before=changes.only_first,
        only_after=changes.only_second,
        longer=changes.slower,
        shorter=changes.faster,
        other_status=changes.status,
    )


def _rows(first: Sequence[Seen], second: Sequence[Seen], partners: Mapping[int, int]) -> Iterator[RequestDifference]:
    """What the later run has in its order, then what it has no longer."""
    earlier = {item.number: item for item in first}
    back = {there: here for here, there in partners.items()}
    for item in second:
        one = earlier.get(back.get(item.number, -1))
        if one is None or one.url != item.url or differs(one, item):
            yield _row(one, item)
    yield from (_row(item, None) for item in first if item.number not in partners)


def _row(one: Seen | None, other: Seen | None) -> RequestDifference:
    known = one or other
    return RequestDifference(
        type=known.kind if known else "", before=_side(one), after=_side(other), differs=_ways(one, other)
    )


def _side(item: Seen | None) -> RequestSide | None:
    if item is None:
        return None
    return RequestSide(
        number=item.number,
        url=item.url,
        status=item.code,
        failure=item.failure,
        total_ms=milliseconds(item.total_us),
        transferred_bytes=item.size_bytes,
    )


def _ways(one: Seen | None, other: Seen | None) -> list[Way]:
    if one is None or other is None:
        return ["presence"]
    ways: list[tuple[Way, bool]] = [
        ("status", status_differs(one, other)),
        ("time", time_differs(one, other)),
        ("size", size_differs(one, other)),
        ("version", one.url != other.url),
    ]
    return [way for way, holds in ways if holds]
