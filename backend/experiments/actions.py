"""What begins and ends experiments."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import User
from backend.accounts.room import hold
from backend.as_it_is import as_it_is
from backend.experiments.models import Experiment, ExperimentStatus
from backend.faults import InvalidError
from backend.fleet.models import Region
from backend.fleet.queries import unknown_among, usable_regions
from backend.sites.models import Monitor, MonitorKind, Site, SiteStatus
from backend.sites.monitor_settings import stored_settings
from workers.diagnosis.without.turns import MAX_PAIRS, PAIRS
from workers.diagnosis.without.verdict import MIN_PAIRS
from workers.measurement.page_rules import PageOptionError, own_host_fault, page_faults, parse_host

# Each keeps a browser busy for minutes, which people test with too.
MAX_OPEN = 3
# A pair takes some 30 s, and with half as many again of those that are left out 45.
_TIME, _TIME_A_PAIR = timedelta(minutes=15), timedelta(minutes=2)


class InvalidExperimentError(InvalidError):
    """It cannot be measured as it is asked for; faults of `site`, `hosts`, `region` and `pairs`."""


class ExperimentLimitError(ValueError):
    """Too many experiments are under way; the text is a sentence for people."""


@transaction.atomic
def start_experiment(
    *,
    actor: User | None,
    site: Site,
    hosts: Sequence[str],
    region: str = "",
    pairs: int = PAIRS,
    token_name: str = "",
) -> Experiment:
    """Loads of the site's page with and without hosts, which begin at once, in a region by its code; where none is
    named, in the first that measures it. Raises InvalidExperimentError, ExperimentLimitError.
    """
    monitor = _page_of(site)
    place, named = _region(monitor, region), _hosts(monitor, hosts)
    if not MIN_PAIRS <= pairs <= MAX_PAIRS:
        raise InvalidExperimentError({"pairs": f"{MIN_PAIRS} to {MAX_PAIRS} pairs of loads bear a verdict."})
    _refuse_too_many(monitor)
    now = timezone.now()
    experiment = Experiment.objects.create(
        organisation=site.organisation,
        site=site,
        monitor=monitor,
        region=place,
        config_version=monitor.config_version,
        url=monitor.url,
        hosts=named,
        pairs=pairs,
        deadline=now + _TIME + pairs * _TIME_A_PAIR,
        due_at=now,
        created_at=now,
        created_by=actor,
        token_name=token_name[:100],
    )
    detail = {"hosts": named, "region": place.code}
    record("start_experiment", experiment, actor=actor, organisation=site.organisation, name=site.name, **detail)
    return experiment


@transaction.atomic
def cancel_experiment(*, actor: User | None, experiment: Experiment) -> Experiment:
    """Ends it without a verdict; a load that is under way ends by itself. One that has ended stays as it is.

    What the loads would have said so far is told nobody: who stops where it looks best sees what is not there.
    """
    experiment = as_it_is(experiment)
    if experiment.is_open:
        experiment.status, experiment.ended_at = ExperimentStatus.CANCELLED, timezone.now()
        experiment.save(update_fields=["status", "ended_at"])
        organisation, name = experiment.organisation, experiment.site.name
        record("cancel_experiment", experiment, actor=actor, organisation=organisation, name=name)
    return experiment


def _page_of(site: Site) -> Monitor:
    if site.status != SiteStatus.ACTIVE:
        raise InvalidExperimentError({"site": "This site is only a test so far: save it first."})
    found = Monitor.objects.select_related("site__organisation").filter(site=site, kind=MonitorKind.PAGE).first()
    if found is None:
        raise InvalidExperimentError({"site": "This site loads no page."})
    if found.paused:
        raise InvalidExperimentError({"site": "The page is paused: resume it first."})
    return found


def _region(monitor: Monitor, code: str) -> Region:
    regions = usable_regions(monitor.site.organisation)
    if code and (fault := unknown_among([code], regions)):
        raise InvalidExperimentError({"region": fault})
    joined = [region for region in regions if region.joined_at is not None]
    wanted = [code] if code else (monitor.regions or [region.code for region in joined])
    found = next((region for region in joined if region.code in wanted), None)
    if found is None:
        raise InvalidExperimentError({"region": "There is no agent there that could load the page."})
    return found


def _hosts(monitor: Monitor, hosts: Sequence[str]) -> list[str]:
    """As the browser is told of them."""
    try:
        named = tuple(dict.fromkeys(parse_host(host) for host in hosts))
    except PageOptionError as error:
        raise InvalidExperimentError({"hosts": str(error)}) from error
    if not named:
        raise InvalidExperimentError({"hosts": "Name at least one host to load the page without."})
    page = replace(stored_settings(monitor).page, without=named)
    fault = page_faults(page).get("without") or own_host_fault(page, monitor.url)
    if fault is not None:
        raise InvalidExperimentError({"hosts": fault})
    return list(named)


def _refuse_too_many(monitor: Monitor) -> None:
    organisation = monitor.site.organisation
    hold(organisation)
    under_way = Experiment.objects.filter(organisation=organisation, status=ExperimentStatus.RUNNING).count()
    if under_way >= MAX_OPEN:
        raise ExperimentLimitError(
            f"{under_way} experiments are under way; at most {MAX_OPEN} can be. Wait until one has ended."
        )
