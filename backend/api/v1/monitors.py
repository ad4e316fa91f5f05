"""Monitors: what is measured of a site, how often and from where."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from ninja import Query, Router
from pydantic import Field, StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.page_settings import PageChange, PageSettings, changed_page, kept, told_page
from backend.api.v1.paging import Cursor, Limit, number_of, page_of
from backend.api.v1.problems import existing, invalid
from backend.api.v1.regions import refuse_unknown_regions
from backend.api.v1.shapes import In, Out, Page, RegionCode, Url
from backend.api.v1.sites import site_asked
from backend.as_it_is import as_it_is
from backend.runs import actions
from backend.sites import queries
from backend.sites.followed import MAX_FOLLOWED, MAX_TIMING_CHARS
from backend.sites.keeping import settings_of
from backend.sites.lists import monitors_after
from backend.sites.models import MAX_INTERVAL_S, MIN_INTERVAL_S, MonitorKind
from backend.sites.models import Monitor as MonitorRow
from backend.sites.monitor_settings import MAX_BODY_TEXT_CHARS, MAX_STATUSES, MonitorSettings
from workers.measurement.connection import Header as HeaderLine
from workers.measurement.header_rules import MAX_HEADER_VALUE_CHARS, MAX_HEADERS

router = Router(tags=["Monitors"])

READ, WRITE = needs(Scope.READ), needs(Scope.WRITE, permission=Permission.EDIT_SITES)
Status = Annotated[int, Field(ge=100, le=599)]
UserTiming = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TIMING_CHARS)]


class OtherLeg(Out):
    """The second address of a pair. `address` is dialled instead of what the host's name says."""

    url: str
    address: str | None


class Monitor(Out):
    """`regions` empty means all, also later ones; `accepted_status` empty means 200 to 399. `user_timings` are those of
    a page that are followed, each a metric: `mark:hero-painted`, `measure:cart-ready` or `element:hero`.

    `other` is null for all kinds but `pair`.
    """

    id: UUID
    site_id: UUID
    kind: MonitorKind
    url: str
    other: OtherLeg | None
    interval_s: int
    timeout_s: int
    regions: list[str]
    profile: str
    accepted_status: list[int]
    body_text: str
    ignore_certificate_errors: bool
    user_timings: list[str]
    paused: bool
    config_version: int


class MonitorDetail(Monitor):
    """The values of request headers are secrets: only their names are told. `page` is null for all kinds but `page`.

    `unreadable` are those of `headers` and `page` that were stored with a key the service has no longer: nothing is
    measured until the key is back, or they are written again.
    """

    header_names: list[str]
    page: PageSettings | None
    unreadable: list[Literal["headers", "page"]]


class Header(In):
    """Values are told to nobody. One that is left out keeps the value that is stored for this header."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    value: Annotated[str, StringConstraints(max_length=MAX_HEADER_VALUE_CHARS)] | None = None


class MonitorSettingsIn(In):
    """What can be set of every kind. The timeout of a page is 5 to 120 s, else 1 to 60 s."""

    url: Url | None = None
    interval_s: int | None = Field(None, ge=MIN_INTERVAL_S, le=MAX_INTERVAL_S)
    timeout_s: int | None = Field(None, ge=1, le=120)
    regions: Annotated[list[RegionCode], Field(max_length=100)] | None = None
    profile: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = None
    headers: Annotated[list[Header], Field(max_length=MAX_HEADERS)] | None = None
    accepted_status: Annotated[list[Status], Field(max_length=MAX_STATUSES)] | None = None
    body_text: Annotated[str, StringConstraints(max_length=MAX_BODY_TEXT_CHARS)] | None = None
    ignore_certificate_errors: bool | None = None
    user_timings: Annotated[list[UserTiming], Field(max_length=MAX_FOLLOWED)] | None = None


class MonitorChange(MonitorSettingsIn):
    """What is left out stays; a list replaces the whole list. The timeout of a page is 5 to 120 s, else 1 to 60 s.

    Secrets are for the server they were given for: with another `url` (another scheme, host or port) or other hosts
    in `page.host_map`, send `headers`, `page.cookies` and `page.login` again, or take them away. Of what is
    `unreadable`, `headers` replaces all, and `page` begins with nothing set.
    """

    page: PageChange | None = None


@router.get("/monitors", auth=READ, response=Page[Monitor])
def list_monitors(
    request: ApiRequest,
    site: Annotated[UUID | None, Query(None, description="Only those of this site.")] = None,
    kind: MonitorKind | None = None,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Page[Monitor]:
    """Monitors in the order they were made."""
    after = number_of(request, cursor)
    site_asked(request, site)
    rows = monitors_after(request.caller.organisation, site_id=site, kind=kind, after=after, limit=limit + 1)
    return page_of(request, rows, Page[Monitor], limit=limit, shape=shape_of, key=lambda row: [row.pk])


@router.get("/monitors/{uuid:monitor_id}", auth=READ, response=MonitorDetail)
def get_monitor(request: ApiRequest, monitor_id: UUID) -> MonitorDetail:
    """One monitor."""
    return detail_of(owned_monitor(request, monitor_id))


@router.patch("/monitors/{uuid:monitor_id}", auth=WRITE, response=MonitorDetail)
@transaction.atomic
def change_monitor(request: ApiRequest, monitor_id: UUID, change: MonitorChange) -> MonitorDetail:
    """Changes settings; the next run follows them."""
    monitor = as_it_is(owned_monitor(request, monitor_id), "site__organisation")
    if change.url is not None and monitor.kind == MonitorKind.PAIR:
        raise invalid("#/url", "What a pair compares is changed at its pairing.")
    refuse_unknown_regions(request, change.regions or (), kept=monitor.regions)
    before = settings_of(monitor)
    written = {name for name in before.unreadable if getattr(change, name) is not None}
    left = tuple(name for name in before.unreadable if name not in written)
    settings = replace(changed(before, change), unreadable=left)
    if change.page is not None:
        settings = replace(settings, page=changed_page(before.page, change.page))
    return detail_of(actions.change_monitor(actor=request.caller.actor, monitor=monitor, settings=settings))


@router.post("/monitors/{uuid:monitor_id}/pause", auth=WRITE, response=MonitorDetail)
def pause_monitor(request: ApiRequest, monitor_id: UUID) -> MonitorDetail:
    """Measures nothing by schedule until it is resumed. What is under way ends as usual."""
    return _set(request, monitor_id, actions.pause_monitor)


@router.post("/monitors/{uuid:monitor_id}/resume", auth=WRITE, response=MonitorDetail)
def resume_monitor(request: ApiRequest, monitor_id: UUID) -> MonitorDetail:
    """Measures again from the next slot on."""
    return _set(request, monitor_id, actions.resume_monitor)


def owned_monitor(request: ApiRequest, monitor_id: UUID) -> MonitorRow:
    """The caller's own monitor. Raises ProblemError for any other."""
    return existing(queries.monitor(request.caller.organisation, monitor_id), "There is no such monitor.")


def refuse_unknown_monitor(request: ApiRequest, monitor_id: UUID | None) -> None:
    """For a list that is asked of a monitor by `?monitor=`. Raises ProblemError for any that is not the caller's own:
    an empty list would say that there is nothing of it.
    """
    if monitor_id is not None and queries.monitor(request.caller.organisation, monitor_id) is None:
        raise invalid("?monitor", "There is no such monitor.")


def shape_of(monitor: MonitorRow) -> Monitor:
    return Monitor(**_fields(monitor))


def detail_of(monitor: MonitorRow) -> MonitorDetail:
    settings = settings_of(monitor)
    is_told = monitor.kind == MonitorKind.PAGE and "page" not in settings.unreadable
    return MonitorDetail(
        **_fields(monitor),
        header_names=[header.name for header in settings.headers],
        page=told_page(settings.page) if is_told else None,
        unreadable=list(settings.unreadable),
    )


def changed(settings: MonitorSettings, change: MonitorSettingsIn) -> MonitorSettings:
    """The settings with what was sent, unjudged: a null is what was left out, a secret that was not sent is KEPT."""
    changes: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in change.model_fields_set & MonitorSettingsIn.model_fields.keys()
        if (value := getattr(change, name)) is not None
    }
    if change.headers is not None:
        changes["headers"] = tuple(HeaderLine(name=one.name, value=kept(one.value)) for one in change.headers)
    return replace(settings, **changes)


def _fields(monitor: MonitorRow) -> dict[str, Any]:
    """Not the headers: no list must fail over a secret that cannot be read."""
    same = ("kind", "url", "interval_s", "timeout_s", "regions", "profile", "accepted_status", "body_text")
    more = ("ignore_certificate_errors", "user_timings", "paused", "config_version")
    fields = {name: getattr(monitor, name) for name in (*same, *more)}
    other = None if monitor.pair is None else OtherLeg(**monitor.pair)
    return fields | {"id": monitor.public_id, "site_id": monitor.site.public_id, "other": other}


def _set(request: ApiRequest, monitor_id: UUID, act: Callable[..., MonitorRow]) -> MonitorDetail:
    return detail_of(act(actor=request.caller.actor, monitor=owned_monitor(request, monitor_id)))
