from argparse import ArgumentParser
from typing import Any
from urllib.parse import urljoin

from django.core.management.base import BaseCommand, CommandError

from backend.compare.actions import create_pairing
from backend.compare.models import Pairing
from backend.compare.pairings import InvalidPairingError, PairingDraft
from backend.sites.models import MIN_INTERVAL_S, Site, SiteStatus
from backend.sites.targets import check_target
from workers.measurement.target import TargetError

# A style sheet, which is compressed, and a picture, which is large.
ASSETS = ("assets/base.css", "assets/evening.jpg")


class Command(BaseCommand):
    help = "Compares two assets of the demo shop with its CDN, as the first owner would, unless they are compared."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--origin", required=True, metavar="URL", help="the page of the demo shop")
        parser.add_argument("--cdn", required=True, metavar="URL", help="the same from its CDN host")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            shop = check_target(options["origin"]).url
            site = Site.objects.filter(url=shop, status=SiteStatus.ACTIVE).select_related("created_by").first()
            if site is None:
                raise CommandError("The demo shop is not registered; run seed_demo first.")
            if not Pairing.objects.filter(site=site).exists():
                # Where the shop itself is measured: elsewhere nobody reaches it.
                regions = tuple(site.monitors.order_by("pk")[0].regions)
                for asset in ASSETS:
                    draft = PairingDraft(
                        cdn_url=urljoin(options["cdn"], asset),
                        origin=shop,
                        # As often as can be, so that a person who looks around meets a verdict.
                        interval_s=MIN_INTERVAL_S,
                        regions=regions,
                    )
                    create_pairing(actor=site.created_by, site=site, draft=draft)
        except (TargetError, InvalidPairingError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{site.name}: {Pairing.objects.filter(site=site).count()} assets beside its CDN")
