"""CDN against origin: does the CDN help, where, by how much, and why?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.compare import actions, queries
from backend.compare.models import Pairing
from backend.compare.pairings import InvalidPairingError, PairingDraft
from backend.compare.queries import PERIODS
from backend.compare.samples import Window
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.actions import RunsError
from backend.runs.queries import recent_runs, run_detail
from backend.sites import queries as sites
from backend.sites.actions import SiteLimitError
from backend.sites.keeping import header_names
from backend.sites.models import Site
from backend.spreadsheets import csv_file
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.cdn.caches import HEIGHT, bytes_text, hit_rows, missed_of
from backend.web.cdn.export import document_of, table_of
from backend.web.cdn.page import page_of
from backend.web.cdn.words import FIRST_VERDICT
from backend.web.confirm import Question, ask
from backend.web.forms.cdn import PairingForm
from backend.web.hosts import hosts_of
from backend.web.meanwhile import CHANGED, stamp_of, was_changed
from backend.web.views.hosts import costs_of
from backend.web.views.trial import live_url
from backend.web.views.whole_page import MAX_ROWS, whole_page_of
from backend.web.waterfall.legs import leg_charts
from workers.diagnosis.pair.verdict import MAX_PAIRS, MIN_PAIRS
from workers.measurement.messages import PairMeasurement

VIEWS = ("cold", "reused")
MAX_TICKED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the reader looks at: every part of it stands in the URL."""

    pairing: Pairing
    period: str
    view: str
    region: Region | None

    @property
    def reused(self) -> bool:
        return self.view == "reused"

    def query(self, **changes: str) -> str:
        """The URL's query with parts changed."""
        parts = {
            "pair": str(self.pairing.public_id),
            "range": self.period,
            "view": self.view,
            "region": self.region.code if self.region else "",
            **changes,
        }
        return "?" + urlencode({name: value for name, value in parts.items() if value})


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """One pairing over all regions, and all pairings in one region."""
    site = owned_site(request, site_id)
    pairings = queries.pairings(site)
    if not pairings:
        return _empty(request, site)
    regions = usable_regions(request.organisation)
    choice = _choice(request.GET, pairings, regions)
    comparison = queries.comparison_of(choice.pairing, regions, _window(choice.period))
    region = choice.region or next((one.region for one in comparison.regions), None)
    assets = queries.compare_assets(pairings, region, comparison.window) if region else []
    places = [one.region for one in comparison.regions]
    caches = queries.hits_over_time(choice.pairing, places, comparison.window)
    hosts = hosts_of(sites.hosts(site), costs_of(site, [region] if region else [], choice.period), timezone.now())
    of_region = next((one.all for one in caches if one.region == region), queries.Hits())
    context = {
        "section": "sites",
        "tab": "cdn",
        "site": site,
        "choice": choice,
        "pairings": pairings,
        "places": places,
        "region": region,
        "periods": PERIODS,
        "views": VIEWS,
        "page": page_of(comparison, assets, reused=choice.reused),
        "min_pairs": MIN_PAIRS,
        "max_pairs": MAX_PAIRS,
        "hosts": hosts,
        "caches": hit_rows(caches),
        "cache_height": HEIGHT,
        "missed": missed_of(assets),
        "bytes_text": bytes_text(hosts.rows, of_region),
        "whole": whole_page_of(site, choice.pairing, region),
        "whole_rows": MAX_ROWS,
    }
    return render(request, "sites/cdn.html", context | _newest_pair(choice.pairing, region))


def _newest_pair(pairing: Pairing, region: Region | None) -> dict[str, object]:
    """The last pair of a region with both its waterfalls; nothing where it measured none."""
    lines = recent_runs(pairing.monitor, region, limit=1) if region else []
    newest = run_detail(pairing.site.organisation, lines[0].run.run_id) if lines else None
    if newest is None or not isinstance(newest.measurement, PairMeasurement):
        return {}
    return {"newest": newest, "legs": leg_charts(newest.measurement)}


@require_safe
@needs(Permission.READ)
def export(request: MemberRequest, site_id: UUID, form: str) -> HttpResponse:
    """The table of regions as CSV, or the comparison as JSON."""
    site = owned_site(request, site_id)
    pairings = queries.pairings(site)
    if not pairings or form not in ("csv", "json"):
        raise Http404
    regions = usable_regions(request.organisation)
    choice = _choice(request.GET, pairings, regions)
    comparison = queries.comparison_of(choice.pairing, regions, _window(choice.period))
    if form == "json":
        return JsonResponse(document_of(comparison))
    return csv_file(f"cdn-against-origin-{choice.pairing.public_id}", table_of(comparison))


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def add(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Names an asset and its origin by hand."""
    site = owned_site(request, site_id)
    regions = usable_regions(request.organisation)
    if request.method == "GET":
        return _form_page(request, site, PairingForm(regions=regions))
    form = PairingForm(request.POST, regions=regions)
    if form.is_valid():
        try:
            pairing = actions.create_pairing(actor=request.user, site=site, draft=form.draft())
        except InvalidPairingError as error:
            form.add_faults(error)
        except SiteLimitError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{pairing.name} is compared from now on. {FIRST_VERDICT}")
            return redirect(f"{_url(site)}?pair={pairing.public_id}")
    return _form_page(request, site, form, status=400)


@require_POST
@needs(Permission.EDIT_SITES)
def tick(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Takes proposed pairs: the ticked assets, all with the origin that was named."""
    site = owned_site(request, site_id)
    assets = request.POST.getlist("asset")[:MAX_TICKED]
    origin = request.POST.get("origin", "")
    if not assets:
        messages.error(request, "Tick at least one asset to compare.")
        return redirect("web:cdn", site_id)
    try:
        with transaction.atomic():
            for asset in assets:
                draft = PairingDraft(cdn_url=asset, origin=origin)
                actions.create_pairing(actor=request.user, site=site, draft=draft)
    except (InvalidPairingError, SiteLimitError) as error:
        messages.error(request, str(error))
    else:
        count = len(assets)
        what = "1 asset is" if count == 1 else f"{count} assets are"
        messages.success(request, f"{what} compared from now on. {FIRST_VERDICT}")
    return redirect("web:cdn", site_id)


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def change(request: MemberRequest, site_id: UUID, pairing_id: UUID) -> HttpResponse:
    """Another name, origin or pace."""
    site, pairing = _pairing(request, site_id, pairing_id)
    regions, headers = usable_regions(request.organisation), header_names(pairing.monitor)
    chosen = pairing.monitor.regions
    if request.method == "GET":
        form = PairingForm(regions=regions, initial=_initial(pairing), headers=headers, chosen=chosen)
        return _form_page(request, site, form, pairing=pairing)
    form = PairingForm(request.POST, regions=regions, headers=headers, chosen=chosen)
    if was_changed(request, stamp_of(_initial(pairing))):
        form.add_error(None, CHANGED)
    if form.is_valid():
        try:
            actions.change_pairing(actor=request.user, pairing=pairing, draft=form.draft())
        except InvalidPairingError as error:
            form.add_faults(error)
        else:
            messages.success(request, f"{pairing.name}: saved. The next pair follows it.")
            return redirect(f"{_url(site)}?pair={pairing.public_id}")
    return _form_page(request, site, form, pairing=pairing, status=400)


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def delete(request: MemberRequest, site_id: UUID, pairing_id: UUID) -> HttpResponse:
    """Asks first; then ends a comparison."""
    _, pairing = _pairing(request, site_id, pairing_id)
    if request.method == "GET":
        return ask(request, _deletion_of(pairing))
    actions.delete_pairing(actor=request.user, pairing=pairing)
    messages.success(request, f"{pairing.name} is compared no longer.")
    return redirect("web:cdn", site_id)


@require_POST
@needs(Permission.EDIT_SITES)
def load(request: MemberRequest, site_id: UUID, pairing_id: UUID) -> HttpResponse:
    """Loads the site's page once from the origin, in the region that is looked at."""
    site, pairing = _pairing(request, site_id, pairing_id)
    regions, address = request.POST.getlist("region")[:MAX_TICKED], request.POST.get("address", "").strip()
    try:
        run_ids = actions.load_from_origin(actor=request.user, pairing=pairing, regions=regions, address=address)
    except RunsError as error:
        messages.error(request, str(error))
        return redirect(f"{_url(site)}?pair={pairing.public_id}#whole-page")
    return redirect(live_url("web:trial", site, run_ids))


def _empty(request: MemberRequest, site: Site) -> HttpResponse:
    proposed = queries.proposed_pairs(site)
    context = {
        "section": "sites",
        "tab": "cdn",
        "site": site,
        "proposed": proposed,
        "origin": next((pair.origin for pair in proposed if pair.origin), ""),
        "form": PairingForm(regions=usable_regions(request.organisation)),
    }
    return render(request, "sites/cdn_empty.html", context)


def _form_page(
    request: MemberRequest, site: Site, form: PairingForm, *, pairing: Pairing | None = None, status: int = 200
) -> HttpResponse:
    stamp = "" if pairing is None else stamp_of(_initial(pairing))
    context = {"section": "sites", "tab": "cdn", "site": site, "form": form, "pairing": pairing, "stamp": stamp}
    return render(request, "sites/pairing.html", context, status=status)


def _deletion_of(pairing: Pairing) -> Question:
    return Question(
        title=f"Compare {pairing.name} no longer?",
        text="All that was measured of it and the verdicts on it go with it. This cannot be undone.",
        verb="Compare it no longer",
        back=reverse("web:pairing", args=[pairing.site.public_id, pairing.public_id]),
        section="sites",
    )


def _initial(pairing: Pairing) -> Mapping[str, Any]:
    monitor = pairing.monitor
    return {
        "cdn_url": monitor.url,
        "origin": pairing.origin,
        "name": pairing.name,
        "interval_s": monitor.interval_s,
        "regions": list(monitor.regions),
        "ignore_certificate_errors": monitor.ignore_certificate_errors,
    }


def _choice(parameters: Mapping[str, str], pairings: Sequence[Pairing], regions: Sequence[Region]) -> Choice:
    """From a URL's parameters, whatever they hold."""
    asked = {name: parameters.get(name, "") for name in ("pair", "range", "view", "region")}
    return Choice(
        pairing=next((one for one in pairings if str(one.public_id) == asked["pair"]), pairings[0]),
        period=asked["range"] if asked["range"] in PERIODS else next(iter(PERIODS)),
        view=asked["view"] if asked["view"] in VIEWS else VIEWS[0],
        region=next((one for one in regions if one.code == asked["region"]), None),
    )


def _window(period: str) -> Window:
    now = timezone.now()
    return Window(since=now - PERIODS[period], until=now)


def _url(site: Site) -> str:
    return reverse("web:cdn", args=[site.public_id])


def _pairing(request: MemberRequest, site_id: UUID, pairing_id: UUID) -> tuple[Site, Pairing]:
    pairing = queries.pairing(request.organisation, pairing_id)
    if pairing is None or pairing.site.public_id != site_id:
        raise Http404
    return pairing.site, pairing
