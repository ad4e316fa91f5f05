"""`manage.py second_factor_off`: for who has lost their phone, passkeys and recovery codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.models import User
from backend.accounts.sign_ins import remove_second_factor


class Command(BaseCommand):
    help = "Removes a person's second factor, passkeys too: their password is enough. Make sure first who is asking."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the person's address, which is the login")

    def handle(self, *args: object, **options: Any) -> None:
        user = User.objects.filter(email=options["email"].lower()).first()
        if user is None:
            raise CommandError(f"Nobody has the address {options['email']}.")
        if not remove_second_factor(user=user):
            raise CommandError(f"{user.email} has no second factor.")
        self.stdout.write(f"{user.email} signs in with the password alone from now on.")
