"""Makes what there is as it shall be: all of it, or nothing."""

from collections.abc import Iterable

from django.db import transaction

from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.compare.models import Pairing
from backend.declared.carrying import Carrying, DeclarationError
from backend.declared.changes import Act, Change, What
from backend.declared.channels import carry_out_channels
from backend.declared.dependencies import carry_out_dependencies
from backend.declared.hosts import carry_out_hosts
from backend.declared.monitors import carry_out_monitor
from backend.declared.pairs import carry_out_pairs
from backend.declared.rules import Monitors, carry_out_rules
from backend.declared.status_pages import carry_out_pages
from backend.declared.there import There
from backend.declared.wanted import Wanted, WantedSite
from backend.declared.windows import carry_out_windows
from backend.faults import InvalidError
from backend.runs import actions as runs
from backend.sites.models import Monitor, MonitorKind, Site
from backend.sites.targets import check_target

_OTHER_ADDRESS = (
    "{} is registered for {}, and a site keeps its address. Give another one a site of its own, or say `url` under"
    " `probe` and `page`, if it is the same site elsewhere."
)


def carry_out(
    *, actor: User | None, organisation: Organisation, wanted: Wanted, may_delete: bool = False
) -> tuple[Change, ...]:
    """Makes it so, and what was changed for that. Without `may_delete` what a list does not name any more is kept, and
    noted as kept. Raises DeclarationError with every fault there is.
    """
    with transaction.atomic():
        return _carried_out(Carrying(actor=actor, organisation=organisation, may_delete=may_delete), wanted)


def plan(
    *, actor: User | None, organisation: Organisation, wanted: Wanted, may_delete: bool = False
) -> tuple[Change, ...]:
    """What `carry_out` would change: it is done, and undone. Raises DeclarationError."""
    with transaction.atomic():
        changes = _carried_out(Carrying(actor=actor, organisation=organisation, may_delete=may_delete), wanted)
        transaction.set_rollback(True)
    return changes


def _carried_out(carrying: Carrying, wanted: Wanted) -> tuple[Change, ...]:
    hold(carrying.organisation)
    if wanted.channels is not None:
        carry_out_channels(carrying, wanted.channels)
    there = There(carrying.organisation, carrying.now, [site.name for site in wanted.sites])
    carrying.refuse_twice("sites", [site.name for site in wanted.sites])
    for index, site in enumerate(wanted.sites):
        with carrying.at(f"sites/{index}"):
            _carry_out_site(carrying, f"sites/{index}", site, there)
    if not carrying.faults:
        carry_out_dependencies(carrying, wanted.sites)
    if wanted.rules is not None:
        carry_out_rules(carrying, "rules", there.rules_of(None), wanted.rules)
    if wanted.maintenance is not None:
        carry_out_windows(carrying, "maintenance", there.windows_of(None), wanted.maintenance)
    if wanted.status_pages is not None and not carrying.faults:
        carry_out_pages(carrying, there.pages, wanted.status_pages)
    if carrying.faults:
        raise DeclarationError(carrying.faults)
    return tuple(carrying.changes)


def _carry_out_site(carrying: Carrying, path: str, wanted: WantedSite, there: There) -> None:
    """Raises InvalidError, TargetError, SiteLimitError for the site itself."""
    site, monitors = _site(carrying, wanted, there)
    for monitor in monitors:
        settings = wanted.monitors.get(MonitorKind(monitor.kind))
        if settings is not None:
            with carrying.at(f"{path}/{monitor.kind}"):
                carry_out_monitor(carrying, monitor, settings, site=site.name)
    pairings = there.pairings_of(site)
    if wanted.pairs is not None:
        pairings = carry_out_pairs(carrying, f"{path}/pairs", site, pairings, wanted.pairs)
    if wanted.hosts is not None:
        carry_out_hosts(carrying, f"{path}/hosts", site, wanted.hosts)
    if wanted.rules is not None:
        named = _named(monitors, pairings)
        carry_out_rules(carrying, f"{path}/rules", there.rules_of(site), wanted.rules, site=site, monitors=named)
    if wanted.maintenance is not None:
        windows = there.windows_of(site)
        carry_out_windows(carrying, f"{path}/maintenance", windows, wanted.maintenance, site=site)


def _site(carrying: Carrying, wanted: WantedSite, there: There) -> tuple[Site, list[Monitor]]:
    """The site that is called so, made where there is none, and its probe and page."""
    found = there.sites_called(wanted.name)
    if len(found) > 1:
        raise InvalidError({"name": f"{len(found)} sites are called so: give all but one another name first."})
    if not found:
        organisation = carrying.organisation
        made = runs.register_site(actor=carrying.actor, organisation=organisation, name=wanted.name, url=wanted.url)
        carrying.note(Act.CREATE, What.SITE, site=made.name)
        return made, list(Monitor.objects.filter(site=made).select_related("site__organisation").order_by("pk"))
    site = found[0]
    if check_target(wanted.url).page_url != site.url:
        raise InvalidError({"url": _OTHER_ADDRESS.format(site.name, site.url)})
    return site, there.monitors_of(site)


def _named(monitors: Iterable[Monitor], pairings: Iterable[Pairing]) -> Monitors:
    plain = {(monitor.kind, None): monitor for monitor in monitors}
    return plain | {(None, pairing.name): pairing.monitor for pairing in pairings}
