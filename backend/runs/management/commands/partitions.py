from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from backend.runs.partitions import ensure_partitions


class Command(BaseCommand):
    help = "Makes partitions ahead, as the sweeper does every hour; it alone drops old ones, once they are rolled up."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"made {len(ensure_partitions(timezone.now()))} partitions")
