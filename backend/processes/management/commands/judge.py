from argparse import ArgumentParser
from typing import Any

from backend.processes.loops import LOOPS, run
from backend.runs.loop import LoopCommand, stop_on_signals


class Command(LoopCommand):
    help = "Judges what was measured and tells of it, until SIGTERM. Several may run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", nargs="+", choices=sorted(LOOPS), metavar="LOOP", help="these loops, not all")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = options["only"] or LOOPS
        run({name: make for name, make in LOOPS.items() if name in chosen}, stop_on_signals())
