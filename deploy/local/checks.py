"""The static checks: each is a command that must say nothing. Two at a time; only what fails is shown.

`python -m deploy.local.checks FOLDER` runs them in that copy of the code, beside whoever holds it.
"""

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.process import StepError, fault_of, run_step
from deploy.local.workshop import tool_environment

_AT_ONCE = 2
_TIMEOUT_S = 600
_COMPILE = ("pip", "compile", "-q", "--universal", "--generate-hashes", "--no-header", "--no-annotate")
# In this order: the second and third take their versions from the first.
REQUIREMENTS = {
    "requirements-dev.txt": ("--all-extras", "--group", "dev"),
    "requirements.txt": ("--extra", "backend", "--extra", "s3", "-c", "requirements-dev.txt"),
    "workers/requirements.txt": ("--extra", "worker", "-c", "requirements-dev.txt"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A command of the environment that must end with 0."""

    name: str
    command: Sequence[str]
    folder: str = "."


# The longest first, so that two lanes end together.
CHECKS = (
    Check(name="types", command=("mypy",)),
    Check(name="format", command=("ruff", "format", "--check", "--quiet", ".")),
    Check(name="lint", command=("ruff", "check", "--quiet", ".")),
    Check(name="layers", command=("lint-imports", "--no-cache")),
    Check(name="service", command=("python", "manage.py", "check", "--deploy", "--fail-level", "WARNING")),
    Check(name="migrations", command=("python", "manage.py", "makemigrations", "--check", "--dry-run")),
    Check(name="contract", command=("python", "-m", "workers.measurement.schema", "--check")),
    Check(name="API description", command=("python", "manage.py", "openapi", "--check")),
    Check(name="frontend types and bundle", command=("npm", "run", "--silent", "check"), folder="frontend"),
)


def run_checks(places: Places, workshop: Path) -> bool:
    """Runs all of them, saying of each how it went; whether all are well."""
    began = monotonic()
    # As the service runs on the Internet, where Django's own deployment check applies.
    env = tool_environment(places) | {"FIRSTBYTE_BASE_URL": "https://firstbyte.example.com"}
    with ThreadPoolExecutor(_AT_ONCE) as lanes:
        waiting = [lanes.submit(_run, check, workshop, env) for check in CHECKS]
        waiting.append(lanes.submit(_run_requirements, places, workshop))
        results = [one.result() for one in waiting]
    failed = sum(not well for well in results)
    print(f"checks: {len(results) - failed} passed, {failed} failed in {monotonic() - began:.0f} s", flush=True)
    return failed == 0


def compare_requirements(places: Places, workshop: Path) -> str:
    """What differs between the requirement files and what pyproject.toml resolves to; empty when nothing does."""
    differing = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "workers").mkdir()
        for name in ("pyproject.toml", *REQUIREMENTS):
            shutil.copy(workshop / name, scratch / name)
        for name, choice in REQUIREMENTS.items():
            command = ["uv", *_COMPILE, "--python-version", "3.11", "pyproject.toml", *choice, "-o", name]
            run_step(command, env=environment.registry(places), cwd=scratch, what=f"uv pip compile for {name}")
            if (scratch / name).read_bytes() != (workshop / name).read_bytes():
                differing.append(name)
    return f"Not what pyproject.toml resolves to: {', '.join(differing)}. Recompile and commit." if differing else ""


def _run(check: Check, workshop: Path, env: Mapping[str, str]) -> bool:
    began = monotonic()
    fault = fault_of(check.command, env=env, cwd=workshop / check.folder, timeout_s=_TIMEOUT_S)
    return _say(check.name, began, fault)


def _run_requirements(places: Places, workshop: Path) -> bool:
    began = monotonic()
    try:
        fault = compare_requirements(places, workshop)
    except StepError as error:
        fault = str(error)
    return _say("requirements", began, fault)


def _say(name: str, began: float, fault: str) -> bool:
    """One print, so that two lanes do not mix their lines."""
    mark = "✗" if fault else "✓"
    shown = f"\n{fault}" if fault else ""
    print(f"  {mark} {name:<28} {monotonic() - began:5.1f} s{shown}", flush=True)
    return not fault


if __name__ == "__main__":
    sys.exit(0 if run_checks(Places(code=Path(__file__).resolve().parents[2]), Path(sys.argv[1])) else 1)
