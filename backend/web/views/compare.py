"""Two runs or imports side by side, and the details of one of their rows."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.alerts.queries.earlier import Earlier, earlier_runs
from backend.experiments.queries import left_out_of
from backend.runs.models import Outcome, Run, Upload
from backend.runs.queries import recent_runs, run_detail, upload_detail, uploads_beside
from backend.sites.models import Monitor, MonitorKind, Site
from backend.web import compare_page
from backend.web.access import MemberRequest, needs
from backend.web.compared import Choice, Compared, choice_of_import, choice_of_run, of_import, of_run
from backend.web.views.runs import KEEP, drawing, film_url_of, film_within
from backend.web.waterfall.side_by_side import details_of_side
from backend.web.waterfall.wanted import wanted_of

# So many of the monitor's last runs are offered beside the two, and so many imports.
OFFERED = 30
# Among them may be many that did not take place, of which there is nothing to lay beside anything.
SEARCHED = 10 * OFFERED
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
    """Both on one axis; with one alone the page asks for the other."""
    first = _named(request, "a")
    second = _named(request, "b") if request.GET.get("b") else None
    offered = _offered(request, [first] if second is None else [first, second])
    context = {
        "section": "sites",
        "first": first,
        "second": second,
        "has_two_sites": second is not None and second.site != first.site,
        "offered": offered,
        "has_another": any(choice.id != first.id for choices in offered.values() for choice in choices),
        "picks": _picks(first, second),
        "exports": reverse("web:compare_waterfall"),
        "details_url": reverse("web:compare_details", args=["a0"]).removesuffix("a0"),
        "details_query": urlencode({name: request.GET.get(name, "") for name in ("a", "b")}),
    }
    if second is not None and compare_page.is_comparable(first, second):
        context["page"] = compare_page.page_of(first, second, request.GET.dict())
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
    first, second = (_named(request, name, film_within) for name in ("a", "b"))
    if not compare_page.is_comparable(first, second):
        raise Http404
    page = compare_page.page_of(first, second, request.GET.dict())
    return drawing(page.board, page.verdict.title)


def _offered(request: MemberRequest, chosen: list[Compared]) -> dict[str, list[Choice]]:
    """The newest runs of the monitor that took place and, beside pages, imports: the nearest first. Those chosen are
    always among them.
    """
    monitor = next((one.monitor for one in chosen if one.monitor is not None), None)
    uploads = [one.source for one in chosen if isinstance(one.source, Upload)]
    runs, imports = [], []
    if monitor is not None:
        lines = recent_runs(monitor, limit=SEARCHED)
        took_place = [line for line in lines if line.run.outcome != Outcome.MISSED][:OFFERED]
        runs = [choice_of_run(line.run, line.region, monitor.site) for line in took_place]
    if uploads or (monitor is not None and monitor.kind == MonitorKind.PAGE):
        near = uploads_beside(
            request.organisation, upload=next(iter(uploads), None), site=chosen[0].site, limit=OFFERED
        )
        imports = [choice_of_import(upload) for upload in near]
    present = {choice.id for choice in (*runs, *imports)}
    for one in chosen:
        if one.id not in present:
            (runs if isinstance(one.source, Run) else imports).append(one.choice)
    return {name: choices for name, choices in (("Runs", runs), ("Imports", imports)) if choices}


def _picks(first: Compared, second: Compared | None) -> list[Pick]:
    """What the later run is usually compared with: B, or A as long as there is no B. Nothing where it is an import."""
    after = second or first
    if after.site is None or not isinstance(after.source, Run):
        return []
    found = earlier_runs(after.source, after.site.pk)
    return [
        Pick(
            name=name,
            run=found[word],
            query=urlencode({"a": found[word].run_id, "b": after.id}),
            chosen=second is not None and found[word].run_id == first.id,
        )
        for word, name in _NAMES.items()
        if word in found
    ]


def _named(request: MemberRequest, name: str, film_of: Callable[[Run], str] = film_url_of) -> Compared:
    """The import or the run that the address names; `film_of` says where its film is."""
    try:
        public_id = UUID(request.GET.get(name, ""))
    except ValueError as error:
        raise Http404 from error
    upload = upload_detail(request.organisation, public_id)
    if upload is not None:
        return of_import(upload, _page_monitor(upload.upload.site))
    run = run_detail(request.organisation, public_id)
    if run is None:
        raise Http404
    return of_run(run, film_of(run.run), left_out_of(run.run))


def _page_monitor(site: Site | None) -> Monitor | None:
    return None if site is None else site.monitors.filter(kind=MonitorKind.PAGE).first()
