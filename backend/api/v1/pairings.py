"""Pairings: an asset of the CDN and the same at the origin, compared all the time."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from ninja import Query, Router, Status
from pydantic import Field, StringConstraints

from backend.api.v1.access import ApiRequest
from backend.api.v1.paging import Cursor, Limit, number_of, page_of
from backend.api.v1.problems import existing
from backend.api.v1.regions import refuse_unknown_regions
from backend.api.v1.shapes import In, Ms, Out, Page, RegionCode, Url
from backend.api.v1.sites import READ, WRITE, site_asked, site_in_body
from backend.compare import actions, queries
from backend.compare.models import MAX_NAME_CHARS, StoredVerdict
from backend.compare.models import Pairing as PairingRow
from backend.compare.pairings import PairingDraft
from backend.sites.models import MAX_INTERVAL_S, MIN_INTERVAL_S
from backend.sites.monitor_settings import DEFAULT_INTERVAL_S
from workers.measurement.document import milliseconds
from workers.measurement.messages import Kind

router = Router(tags=["CDN against origin"])

VerdictWord = Literal["cdn_faster", "origin_faster", "no_difference", "inconclusive"]
Name = Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS)]
Regions = Annotated[list[RegionCode], Field(max_length=100)]
Interval = Annotated[int, Field(ge=MIN_INTERVAL_S, le=MAX_INTERVAL_S)]
Origin = Annotated[
    Url,
    Field(
        description="An IP address (with or without a port), which is dialled under the CDN's own name; a host, or a "
        "URL that ends in a slash, put before the asset's path; or the asset's whole URL there."
    ),
]


class VerdictNow(Out):
    """By the cold pairs of the last 24 h, the CDN's time less the origin's. `region` is null for all together.

    `slower_since` is when the CDN became slower beyond the doubt that an alert allows itself.
    """

    region: str | None
    verdict: VerdictWord
    since: datetime
    slower_since: datetime | None
    judged_at: datetime
    pairs: int
    difference_ms: Ms | None
    low_ms: Ms | None
    high_ms: Ms | None
    sentence: str
    reason: str


class Pairing(Out):
    """`origin` is what was said, `origin_url` and `origin_address` what is asked for and dialled.

    What was measured before `compared_from` was another comparison. `verdicts` is empty until the first is made.
    """

    id: UUID
    site_id: UUID
    monitor_id: UUID
    name: str
    cdn_url: str
    origin: str
    origin_url: str
    origin_address: str | None
    interval_s: int
    regions: list[str]
    ignore_certificate_errors: bool
    paused: bool
    created_at: datetime
    compared_from: datetime
    verdicts: list[VerdictNow]


class NewPairing(In):
    """The name is the asset's path when it is left out; no regions means all, also later ones."""

    site: UUID
    cdn_url: Url
    origin: Origin
    name: Name = ""
    interval_s: Interval = DEFAULT_INTERVAL_S[Kind.PAIR]
    regions: Regions = []
    ignore_certificate_errors: bool = False


class PairingChange(In):
    """What is left out stays. With another address on a leg it is another comparison, counted anew.

    Request headers of its monitor are for the two addresses they were given for: with others, `drop_headers` takes
    them away, and they can be set again at the monitor.
    """

    cdn_url: Url | None = None
    origin: Origin | None = None
    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS)] | None = None
    interval_s: Interval | None = None
    regions: Regions | None = None
    ignore_certificate_errors: bool | None = None
    drop_headers: bool = False


@router.get("/pairings", auth=READ, response=Page[Pairing])
def list_pairings(
    request: ApiRequest,
    site: Annotated[UUID | None, Query(None, description="Only those of this site.")] = None,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Page[Pairing]:
    """Pairings in the order they were made, with the verdicts that hold now."""
    site_asked(request, site)
    after = number_of(request, cursor)
    rows = queries.pairings_after(request.caller.organisation, site_id=site, after=after, limit=limit + 1)
    return page_of(request, rows, Page[Pairing], limit=limit, shape=shape_of, key=lambda row: [row.pk])


@router.post("/pairings", auth=WRITE, response={201: Pairing})
def create_pairing(request: ApiRequest, pairing: NewPairing) -> Status[Pairing]:
    """Compares an asset of a site from now on. The first verdict comes after 20 pairs in a region."""
    site = site_in_body(request, pairing.site)
    refuse_unknown_regions(request, pairing.regions)
    draft = PairingDraft(
        cdn_url=pairing.cdn_url,
        origin=pairing.origin,
        name=pairing.name,
        interval_s=pairing.interval_s,
        regions=tuple(pairing.regions),
        ignore_certificate_errors=pairing.ignore_certificate_errors,
    )
    made = actions.create_pairing(actor=request.caller.actor, site=site, draft=draft)
    request.out["Location"] = f"/api/v1/pairings/{made.public_id}"
    return Status(201, shape_of(made))


@router.get("/pairings/{uuid:pairing_id}", auth=READ, response=Pairing)
def get_pairing(request: ApiRequest, pairing_id: UUID) -> Pairing:
    """One pairing with the verdicts that hold now."""
    return shape_of(owned_pairing(request, pairing_id))


@router.patch("/pairings/{uuid:pairing_id}", auth=WRITE, response=Pairing)
@transaction.atomic
def change_pairing(request: ApiRequest, pairing_id: UUID, change: PairingChange) -> Pairing:
    """Changes what is compared, or how often and from where."""
    pairing = actions.as_they_are(owned_pairing(request, pairing_id))
    refuse_unknown_regions(request, change.regions or (), kept=pairing.monitor.regions)
    sent = {name: getattr(change, name) for name in change.model_fields_set}
    changes: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in sent.items() if value is not None
    }
    draft = replace(actions.draft_of(pairing), **changes)
    return shape_of(actions.change_pairing(actor=request.caller.actor, pairing=pairing, draft=draft))


@router.delete("/pairings/{uuid:pairing_id}", auth=WRITE, response={204: None})
def delete_pairing(request: ApiRequest, pairing_id: UUID) -> HttpResponse:
    """Ends a comparison with all that was measured of it."""
    actions.delete_pairing(actor=request.caller.actor, pairing=owned_pairing(request, pairing_id))
    return HttpResponse(status=204)


def owned_pairing(request: ApiRequest, pairing_id: UUID) -> PairingRow:
    """The caller's own pairing. Raises ProblemError for any other."""
    return existing(queries.pairing(request.caller.organisation, pairing_id), "There is no such pairing.")


def shape_of(pairing: PairingRow) -> Pairing:
    monitor, other = pairing.monitor, pairing.other
    verdicts = sorted(pairing.verdicts.all(), key=lambda row: row.region.code if row.region else "")
    return Pairing(
        id=pairing.public_id,
        site_id=pairing.site.public_id,
        monitor_id=monitor.public_id,
        name=pairing.name,
        cdn_url=monitor.url,
        origin=pairing.origin,
        origin_url=other.url,
        origin_address=other.address,
        interval_s=monitor.interval_s,
        regions=list(monitor.regions),
        ignore_certificate_errors=monitor.ignore_certificate_errors,
        paused=monitor.paused,
        created_at=pairing.created_at,
        compared_from=pairing.compared_from,
        verdicts=[_verdict(row) for row in verdicts],
    )


def _verdict(row: StoredVerdict) -> VerdictNow:
    return VerdictNow(
        region=row.region.code if row.region else None,
        verdict=row.verdict,
        since=row.since,
        slower_since=row.slower_since,
        judged_at=row.judged_at,
        pairs=row.pairs,
        difference_ms=milliseconds(row.estimate_us),
        low_ms=milliseconds(row.low_us),
        high_ms=milliseconds(row.high_us),
        sentence=row.sentence,
        reason=row.reason,
    )
