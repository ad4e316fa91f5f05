"""What is known of when sites could be reached."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import Q, QuerySet

from backend.accounts.models import Organisation
from backend.alerts.models import Maintenance, Outage
from backend.alerts.states import State
from backend.analysis.spans import Spans, common, union
from backend.analysis.uptime import Seen, together
from backend.instants import to_us
from backend.lists import older
from backend.runs.queries.told import Told, told_by
from backend.sites.models import Monitor, Site
from workers.measurement.messages import Kind

# What says whether a site can be reached; a pair compares.
_WATCHING = (Kind.PROBE.value, Kind.PAGE.value)


def seen_of(organisation: Organisation, sites: Iterable[Site], since: datetime, until: datetime) -> Mapping[int, Seen]:
    """By the keys of the organisation's sites, each is there. Nothing is told of before `since` or after `until`, which
    is not in the future. Five statements."""
    keys = [site.pk for site in sites]
    monitors = _monitors(organisation, keys)
    told = told_by(monitors, since, until)
    outages: dict[int, list[Outage]] = defaultdict(list)
    for outage in _between(monitors, since, until):
        outages[outage.monitor_id].append(outage)
    planned = _planned(organisation, since, until)
    by_site: dict[int, list[Seen]] = {site: [] for site in keys}
    for monitor, (site, created_at) in monitors.items():
        within = ((to_us(max(since, created_at)), to_us(until)),)
        by_site[site].append(_seen(told.get(monitor, Told()), outages[monitor], within, until))
    return {site: together(many, union(planned[None], planned[site])) for site, many in by_site.items()}


def outages_since(sites: Iterable[Site], since: datetime) -> Mapping[int, Sequence[Outage]]:
    """By the keys of sites, those of all monitors that go on or ended later, as the judge became sure of them. One
    statement."""
    found: dict[int, list[Outage]] = defaultdict(list)
    later = Q(ended_at=None) | Q(ended_at__gt=since)
    watched = Outage.objects.filter(later, monitor__site__in=list(sites), monitor__kind__in=_WATCHING)
    for outage in watched.select_related("monitor").order_by("pk"):
        found[outage.monitor.site_id].append(outage)
    return found


def going_on(organisation: Organisation) -> Mapping[int, Mapping[State, datetime]]:
    """By the keys of its sites that the judge is sure are not well now, how they are and since when. One statement."""
    open_now = Outage.objects.filter(monitor__site__organisation=organisation, ended_at=None)
    found: dict[int, dict[State, datetime]] = defaultdict(dict)
    for site, state, began_at in open_now.values_list("monitor__site", "state", "began_at").order_by("-began_at"):
        found[site][State(state)] = began_at
    return found


def outages_of(site: Site, *, before: tuple[datetime, int] | None = None, limit: int) -> Sequence[Outage]:
    """A site's outages by each of its monitors, the newest first, behind one of which the begin and the key are given.
    One statement."""
    found = Outage.objects.filter(monitor__site=site).select_related("monitor")
    if before is not None:
        found = found.filter(older("began_at", before))
    return list(found.order_by("-began_at", "-pk")[:limit])


def _monitors(organisation: Organisation, sites: Sequence[int]) -> dict[int, tuple[int, datetime]]:
    found = Monitor.objects.filter(site__organisation=organisation, site__in=sites, kind__in=_WATCHING)
    return {pk: (site, created_at) for pk, site, created_at in found.values_list("pk", "site", "site__created_at")}


def _between(monitors: Iterable[int], since: datetime, until: datetime) -> "QuerySet[Outage]":
    going_on = Q(ended_at=None) | Q(ended_at__gt=since)
    return Outage.objects.filter(going_on, monitor__in=list(monitors), began_at__lt=until)


def _planned(organisation: Organisation, since: datetime, until: datetime) -> Mapping[int | None, Spans]:
    """By site; of all sites under None."""
    found = Maintenance.objects.filter(organisation=organisation, ends_at__gt=since, starts_at__lt=until)
    spans: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for site, starts_at, ends_at in found.values_list("site", "starts_at", "ends_at"):
        spans[site].append((to_us(starts_at), to_us(ends_at)))
    return defaultdict(tuple, {site: union(many) for site, many in spans.items()})


def _seen(told: Told, outages: Sequence[Outage], within: Spans, until: datetime) -> Seen:
    """A failed run by itself tells nothing, as it may be our own fault: within an outage it tells that it went on."""
    down, partly = _spans(outages, State.FAILING, until), _spans(outages, State.DEGRADED, until)
    measured = union(told.answered, common(told.failed, union(down, partly)))
    return Seen(measured=common(measured, within), down=common(down, within), partly=common(partly, within))


def _spans(outages: Sequence[Outage], state: State, until: datetime) -> Spans:
    mine = (outage for outage in outages if outage.state == state)
    return union([(to_us(outage.began_at), to_us(outage.ended_at or until)) for outage in mine])
