import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management import call_command
from gunicorn.app.wsgiapp import WSGIApplication

from backend.processes.management.commands import judge
from backend.runs.loop import LoopCommand
from backend.runs.management.commands import scheduler, sweeper
from workers.supervisor import LAST_DRAIN_S, Child, supervise

# Imported here, before the fork, with all pages (`handle`); what only the judge needs it imports by itself.
LOOPS: dict[str, type[LoopCommand]] = {
    "scheduler": scheduler.Command,
    "sweeper": sweeper.Command,
    "judge": judge.Command,
}
# Who is not answered by then is let go by gunicorn itself: killed, it would leave a worker behind that keeps the port.
_GRACEFUL_S = LAST_DRAIN_S - 2


class Command(LoopCommand):
    help = "Web server, scheduler, sweeper and judge in a process each, until SIGTERM: what all import is there once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("gunicorn", nargs="*", help="gunicorn's options, behind --")

    def handle(self, *args: Any, **options: Any) -> None:
        import_module(settings.ROOT_URLCONF)
        web = Child(name="web", work=partial(_serve, options["gunicorn"]), last=True)
        supervise([web, *(Child(name=name, work=partial(_carry_out, loop())) for name, loop in LOOPS.items())])


def _serve(options: Sequence[str]) -> int:
    # Gunicorn takes its options from nowhere else.
    sys.argv = ["gunicorn", "backend.wsgi", f"--graceful-timeout={_GRACEFUL_S:.0f}", *options]
    try:
        WSGIApplication().run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _carry_out(command: LoopCommand) -> int:
    call_command(command)
    return 0
