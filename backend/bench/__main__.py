"""`python -m backend.bench`: a table of figures with their targets, on throw-away servers.

`--json` prints one document on stdout; the exit code is 1 when a target is missed. A case is a module in `CASES` with
`measure() -> Iterable[Figure]`; others add theirs to the list.
"""

import argparse
import json
import os
import secrets
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from importlib import import_module

import django
from cryptography.fernet import Fernet
from django.core.management import call_command

from backend import testing
from backend.bench.figures import Figure

CASES = ("claims", "detection", "gates", "ingest", "judging", "lateness", "api")
# Of minutes each, and only for who names them.
LONG = ("scale",)
_ABOUT = "A table of figures with their targets, on throw-away servers. The exit code is 1 when a target is missed."
_WHICH = f"which of {', '.join([*CASES, *LONG])}; without any all but the last"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m backend.bench", description=_ABOUT)
    parser.add_argument("cases", nargs="*", choices=[*CASES, *LONG, []], metavar="CASE", help=_WHICH)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    with ExitStack() as servers:
        _prepare(servers)
        figures = list(_measure(options.cases or CASES))
    if options.json:
        print(json.dumps([figure.document() for figure in figures], indent=2))
    return 0 if all(figure.met for figure in figures) else 1


def _prepare(servers: ExitStack) -> None:
    os.environ.update(servers.enter_context(testing.postgres()))
    os.environ["FIRSTBYTE_REDIS_URL"] = servers.enter_context(testing.redis())
    os.environ["FIRSTBYTE_SECRET_KEY"] = secrets.token_urlsafe(50)
    os.environ["FIRSTBYTE_FERNET_KEYS"] = Fernet.generate_key().decode()
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.settings"
    django.setup()
    call_command("migrate", verbosity=0)


def _measure(cases: Sequence[str]) -> Iterable[Figure]:
    for case in cases:
        print(f"{case} …", file=sys.stderr)
        for figure in import_module(f"backend.bench.{case}").measure():
            print(figure.line(), file=sys.stderr)
            yield figure


if __name__ == "__main__":
    sys.exit(main())
