from typing import Any

from backend.runs.loop import LoopCommand, repeat, stop_on_signals
from backend.runs.scheduler import Scheduler


class Command(LoopCommand):
    help = "Claims due slots and publishes them, until SIGTERM. Several may run."

    def handle(self, *args: Any, **options: Any) -> None:
        repeat("scheduler", Scheduler().step, stop_on_signals())
