from typing import Any

from django.core.management.base import BaseCommand

from backend.runs.loop import repeat, stop_on_signals
from backend.runs.sweeper import Sweeper


class Command(BaseCommand):
    help = "Leases, expiries, partitions, retention and drafts, until SIGTERM. Of several one works."

    def handle(self, *args: Any, **options: Any) -> None:
        repeat("sweeper", Sweeper().step, stop_on_signals())
