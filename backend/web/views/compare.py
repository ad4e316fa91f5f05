"""Two runs side by side, and the details of one of their rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.alerts.queries.earlier import Earlier, earlier_runs
from backend.runs.models import Run
from backend.runs.queries import RunDetail, RunLine, recent_runs, run_detail
from backend.web import compare_page
from backend.web.access import MemberRequest, needs
from backend.web.views.runs import KEEP, drawing, film_url_of
from backend.web.waterfall.side_by_side import details_of_side
from backend.web.waterfall.wanted import wanted_of

# So many of the monitor's last runs are offered beside the two.
OFFERED = 30
_NAMES = {
    Earlier.LAST_GOOD: "last good run",
    Earlier.PREVIOUS: "previous run",
    Earlier.WEEK_BEFORE: "one week before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """An earlier run that the later one can be laid beside at once; `chosen` when it is."""

    name: str
    run: Run
    query: str
    chosen: bool


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, template: str = "runs/compare.html") -> HttpResponse:
    """Two runs on one axis; with one alone the page asks for the other."""
    first = _named(request, "a")
    second = _named(request, "b") if request.GET.get("b") else None
    context = {
        "section": "sites",
        "first": first,
        "second": second,
        "has_two_sites": second is not None and second.site.pk != first.site.pk,
        "offered": _offered(first, second),
        "picks": _picks(first, second),
        "exports": reverse("web:compare_waterfall"),
        "details_url": reverse("web:compare_details", args=["a0"]).removesuffix("a0"),
        "details_query": urlencode({name: request.GET.get(name, "") for name in ("a", "b")}),
    }
    if second is not None and compare_page.is_comparable(first, second):
        films = (film_url_of(first.run), film_url_of(second.run))
        context["page"] = compare_page.page_of((first, second), films, request.GET.dict())
    return render(request, template, context)


@require_safe
@needs(Permission.READ)
def details(request: MemberRequest, row: str) -> HttpResponse:
    """What the page's side panel says of one row of one of the two: a piece of HTML for the script."""
    measurement = _named(request, row[:1]).measurement
    found = None if measurement is None else details_of_side(measurement, wanted_of(request.GET.dict()), int(row[1:]))
    if found is None:
        raise Http404
    query = urlencode({name: request.GET.get(name, "") for name in ("a", "b")})
    context = {"details": found, "prefix": row[:1], "address": f"?{query}&"}
    response = render(request, "runs/_details.html", context)
    response.headers["Cache-Control"] = KEEP
    return response


@require_safe
@needs(Permission.READ)
def export(request: MemberRequest) -> HttpResponse:
    """Both waterfalls that the rest of the address asks for, as one picture."""
    first, second = _named(request, "a"), _named(request, "b")
    if not compare_page.is_comparable(first, second):
        raise Http404
    page = compare_page.page_of((first, second), ("", ""), request.GET.dict())
    return drawing(page.board, page.verdict.title)


def _offered(first: RunDetail, second: RunDetail | None) -> Sequence[RunLine]:
    """The newest runs of the monitor, and the two themselves when they are older."""
    lines = recent_runs(first.monitor, limit=OFFERED)
    present = {line.run.run_id for line in lines}
    chosen = [one for one in (first, second) if one is not None and one.run.run_id not in present]
    return [*lines, *(RunLine(run=one.run, region=one.region) for one in chosen)]


def _picks(first: RunDetail, second: RunDetail | None) -> list[Pick]:
    """What the later run is usually compared with: B, or A as long as there is no B."""
    after = second or first
    found = earlier_runs(after.run, after.site.pk)
    return [
        Pick(
            name=name,
            run=found[word],
            query=urlencode({"a": found[word].run_id, "b": after.run.run_id}),
            chosen=second is not None and found[word].run_id == first.run.run_id,
        )
        for word, name in _NAMES.items()
        if word in found
    ]


def _named(request: MemberRequest, name: str) -> RunDetail:
    try:
        detail = run_detail(request.organisation, UUID(request.GET.get(name, "")))
    except ValueError as error:
        raise Http404 from error
    if detail is None:
        raise Http404
    return detail
