"""`manage.py encrypt_anew`: before an older key of FIRSTBYTE_FERNET_KEYS is taken away."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from backend.processes.rekeying import encrypt_anew


class Command(BaseCommand):
    help = (
        "Encrypts stored secrets anew with the first of FIRSTBYTE_FERNET_KEYS, so that the others can be taken away. "
        "Start the service with the new key in front first: what an older process stores it stores with its own."
    )

    def handle(self, *args: object, **options: Any) -> None:
        unreadable = 0
        for counts in encrypt_anew():
            unreadable += counts.unreadable
            told = f", {counts.unreadable:,} that no key opens" if counts.unreadable else ""
            self.stdout.write(f"{counts.place}: {counts.anew:,} encrypted anew{told}")
        if unreadable:
            raise CommandError(
                f"No key opens {unreadable:,} of the stored secrets, which stay as they are: put the key back that "
                "they were stored with, or enter them anew."
            )
