"""`manage.py migrate`, beside a service at work and its backups."""

from typing import Any

from django.core.management.commands import migrate

from backend.processes.waiting import until_locked


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        until_locked(lambda: super(Command, self).handle(*args, **options), self.stderr.write)
