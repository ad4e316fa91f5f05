import json
import shutil
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from backend.accounts.models import Organisation
from backend.runs.actions import RunsError
from backend.runs.first_runs import FirstRunsError, Waiting, address_of, drawn, first_runs
from backend.runs.queries import RunDetail
from backend.sites.targets import check_target
from workers.measurement.canvas import Canvas
from workers.measurement.target import TargetError

# "Could not measure", as everywhere on the command line (docs/command-line.md).
EXIT_NOT_MEASURED = 4


class Command(BaseCommand):
    help = "Measures sites that were never measured, and draws a run of each of their monitors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("urls", nargs="+", metavar="URL", help="the address of a site")
        parser.add_argument("--wait", type=float, default=90.0, metavar="S", help="give up after so many seconds")
        parser.add_argument("--json", action="store_true", help="one JSON document on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        waiting = Waiting(seconds=options["wait"], tell=lambda sentence: self.stderr.write(sentence, self.style.NOTICE))
        try:
            urls = [check_target(url).url for url in options["urls"]]
            organisations = Organisation.objects.order_by("pk")
            runs = [run for organisation in organisations for run in first_runs(organisation, urls, waiting)]
        except (FirstRunsError, RunsError, TargetError) as error:
            raise CommandError(str(error), returncode=EXIT_NOT_MEASURED) from error
        if options["json"]:
            self.stdout.write(json.dumps({"runs": [_document(run) for run in runs]}))
        else:
            canvas = Canvas(width=shutil.get_terminal_size((100, 24)).columns, colour=self.stdout.isatty())
            self.stdout.write("\n\n".join(drawn(run, canvas) for run in runs))


def _document(detail: RunDetail) -> dict[str, Any]:
    run = detail.run
    return {
        "id": str(run.run_id),
        "site": detail.site.name,
        "kind": run.kind,
        "region": detail.region.code,
        "url": address_of(detail),
        "ttfb_ms": None if run.ttfb_us is None else run.ttfb_us / 1000,
    }
