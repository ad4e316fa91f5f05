from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from backend.api.v1.openapi import TARGET, text


class Command(BaseCommand):
    help = "Writes the description of the API (OpenAPI 3.1), or says whether the committed one is up to date."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is another")

    def handle(self, *args: object, check: bool, **options: object) -> None:
        now = text()
        if not check:
            TARGET.write_text(now)
        elif not TARGET.exists() or TARGET.read_text() != now:
            raise CommandError(f"{TARGET.name} is not what the routes say; run `manage.py openapi` and commit it.")
