from typing import Any

from django.core.management.base import BaseCommand

from backend.runs.loop import repeat, stop_on_signals
from backend.runs.scheduler import Scheduler


class Command(BaseCommand):
    help = "Claims due slots and publishes them, until SIGTERM. Several may run."

    def handle(self, *args: Any, **options: Any) -> None:
        repeat("scheduler", Scheduler().step, stop_on_signals())
