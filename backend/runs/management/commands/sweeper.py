from typing import Any

from backend.runs.loop import LoopCommand, repeat, stop_on_signals
from backend.runs.sweeper import Sweeper


class Command(LoopCommand):
    help = "Leases, expiries, partitions, retention and drafts, until SIGTERM. Of several one works."

    def handle(self, *args: Any, **options: Any) -> None:
        repeat("sweeper", Sweeper().step, stop_on_signals())
