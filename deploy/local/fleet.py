"""The first login and the regions' credentials. The service shows each once; they are kept in `.run/fleet.json`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.process import StepError, run_step
from deploy.local.settings import Settings

# Both are this machine, and their names say so.
REGIONS = {"local-a": "Local A", "local-b": "Local B"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Who may sign in first. `password` is the one made at the first start; it may have been changed since."""

    email: str
    password: str | None


def manage(places: Places, settings: Settings, *commands: Sequence[str]) -> list[str]:
    """What commands of the service said, one after the other. Raises StepError when one fails."""
    names = ", ".join(command[0] for command in commands)
    program = [places.python, "-m", "deploy.local.several", json.dumps(commands)]
    said = run_step(program, env=environment.service(places, settings), cwd=places.code, what=f"manage.py {names}")
    outputs: list[str] = json.loads(said)
    return outputs


def prepare(places: Places, settings: Settings) -> None:
    """Brings the schema up to date, makes owner and regions, and keeps what is shown only once. Raises StepError."""
    schema = (("migrate", "--no-input", "--verbosity", "0"), ("partitions",))
    said = manage(places, settings, *schema, _bootstrap(settings))
    known = merge(_read(places.fleet), json.loads(said[-1]))
    # Regions whose secrets we lost, with the database intact, are given new ones.
    if not set(REGIONS) <= set(known["regions"]):
        known = merge(known, json.loads(manage(places, settings, _bootstrap(settings, "--rotate"))[0]))
    _write(places.fleet, known)


def merge(known: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """What is known after the service spoke: new secrets replace old ones, unsaid ones stay."""
    email = said["admin"]["email"]
    before = known.get("admin", {})
    password = said["admin"]["password"] or (before.get("password") if before.get("email") == email else None)
    regions = dict(known.get("regions", {}))
    for region in said["regions"]:
        if "agent_token" in region:
            regions[region["code"]] = {"agent_token": region["agent_token"], "broker_url": region["broker_url"]}
    return {"admin": {"email": email, "password": password}, "regions": regions}


def read_login(path: Path) -> Login | None:
    """The first login; None before the first start."""
    admin = _read(path).get("admin")
    return Login(**admin) if admin else None


def credentials(path: Path, region: str) -> dict[str, str]:
    """Token and broker URL of a region. Raises StepError when it has none."""
    found = _read(path).get("regions", {}).get(region)
    if found is None:
        raise StepError(f"{path} has no credentials of the region {region}; ./dev down and ./dev up make them.")
    return dict(found)


def _bootstrap(settings: Settings, *more: str) -> Sequence[str]:
    regions = [word for code, name in REGIONS.items() for word in ("--region", f"{code}={name}")]
    return ["bootstrap", "--email", settings.admin_email, *regions, *more, "--json"]


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return document


def _write(path: Path, document: dict[str, Any]) -> None:
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(document, indent=2) + "\n")
    fresh.replace(path)
