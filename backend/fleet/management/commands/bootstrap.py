"""`manage.py bootstrap`: the first organisation, its owner, its regions."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from backend.accounts.actions import MemberError
from backend.fleet.actions import RegionError
from backend.fleet.bootstrap import UNNAMED, Bootstrapped, NamedRegion, agent_broker_url, bootstrap
from backend.fleet.broker import BrokerUnavailableError
from backend.fleet.credentials import Credentials
from backend.fleet.models import Region


class Command(BaseCommand):
    help = "Makes the first organisation, its owner and its regions. What exists is left alone; secrets are shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email", required=True, help="the owner's address, which is the login")
        parser.add_argument("--organisation", help=f"its name; without one the first there is, or {UNNAMED!r}")
        parser.add_argument(
            "--region",
            action="append",
            default=[],
            metavar="CODE=NAME",
            help="a region that all share; may be repeated",
        )
        parser.add_argument("--rotate", action="store_true", help="give the regions named new secrets")
        parser.add_argument("--json", action="store_true", help="one JSON document on stdout")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            validate_email(options["email"])
            done = bootstrap(
                organisation=options["organisation"],
                email=options["email"],
                regions=[_named(text) for text in options["region"]],
                rotate=options["rotate"],
            )
        except ValidationError as error:
            raise CommandError(f"--email: {error.messages[0]}") from error
        except (MemberError, RegionError, BrokerUnavailableError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(_document(done), indent=2) if options["json"] else _text(done))


def _named(text: str) -> NamedRegion:
    code, _, name = text.partition("=")
    return NamedRegion(code=code.strip(), name=name.strip() or code.strip())


def _document(done: Bootstrapped) -> dict[str, Any]:
    return {
        "organisation": {"id": str(done.organisation.public_id), "name": done.organisation.name},
        "admin": {"email": done.email, "password": done.password},
        "regions": [_region_document(region, credentials) for region, credentials in done.regions],
    }


def _region_document(region: Region, credentials: Credentials | None) -> dict[str, Any]:
    document: dict[str, Any] = {"code": region.code, "name": region.name, "broker_user": region.broker_user}
    if credentials is not None:
        document |= {
            "agent_token": credentials.token,
            "broker_password": credentials.broker_password,
            "broker_url": agent_broker_url(credentials),
        }
    return document


def _text(done: Bootstrapped) -> str:
    password = done.password or "(unchanged)"
    lines = [f"organisation  {done.organisation.name}", f"login         {done.email}", f"password      {password}"]
    for region, credentials in done.regions:
        lines.append(f"region        {region.code} ({region.name})")
        if credentials is not None:
            lines.append(f"  FIRSTBYTE_AGENT_TOKEN={credentials.token}")
            lines.append(f"  FIRSTBYTE_BROKER_URL={agent_broker_url(credentials)}")
    return "\n".join(lines)
