import json
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from backend.accounts.models import Membership
from backend.accounts.permissions import Role
from backend.fleet.queries import usable_regions
from backend.runs.actions import change_monitor, register_site
from backend.sites.keeping import settings_of
from backend.sites.models import Site, SiteStatus
from backend.sites.targets import check_target
from workers.measurement.target import TargetError


class Command(BaseCommand):
    help = (
        "Registers the demo sites as the first owner would, in the regions that there are: later ones are elsewhere, "
        "where the demo cannot be reached. Those that are there already stay as they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--origin", required=True, metavar="URL", help="the page of the demo shop")
        parser.add_argument("--cdn", required=True, metavar="URL", help="the same from its CDN host")
        parser.add_argument("--json", action="store_true", help="one JSON document on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = Membership.objects.filter(role=Role.OWNER).select_related("user", "organisation").order_by("pk").first()
        if owner is None:
            raise CommandError("There is no owner yet; run bootstrap first.")
        wanted = {"Demo shop": options["origin"], "Demo shop on its CDN": options["cdn"]}
        try:
            sites = [_site(owner, name, url) for name, url in wanted.items()]
        except TargetError as error:
            raise CommandError(str(error)) from error
        document = {"sites": [{"id": str(site.public_id), "name": site.name, "url": site.url} for site in sites]}
        text = "\n".join(f"{site.name}: {site.url}" for site in sites)
        self.stdout.write(json.dumps(document) if options["json"] else text)


def _site(owner: Membership, name: str, url: str) -> Site:
    known = Site.objects.filter(
        organisation=owner.organisation, url=check_target(url).url, status=SiteStatus.ACTIVE
    ).first()
    return known or _registered(owner, name, url)


@transaction.atomic
def _registered(owner: Membership, name: str, url: str) -> Site:
    site = register_site(actor=owner.user, organisation=owner.organisation, name=name, url=url)
    here = tuple(region.code for region in usable_regions(owner.organisation))
    for monitor in site.monitors.all():
        change_monitor(actor=owner.user, monitor=monitor, settings=replace(settings_of(monitor), regions=here))
    return site
