import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from backend.runs.partitions import drop_partitions, ensure_partitions


class Command(BaseCommand):
    help = "Makes partitions ahead and drops those that retention has passed, as the sweeper does every hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        made, dropped = ensure_partitions(now), drop_partitions(now)
        if options["json"]:
            self.stdout.write(json.dumps({"made": made, "dropped": dropped}))
        else:
            self.stdout.write(f"made {len(made)} partitions, dropped {len(dropped)}")
