"""`./dev test`: the checks, then every test on throw-away servers, then one line that says how it went."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

from deploy.local import netlab
from deploy.local.checks import run_checks
from deploy.local.places import Places
from deploy.local.process import fault_of, run_to_the_end
from deploy.local.workshop import open_workshop, tool_environment, workshop_to_ourselves

# Far above what the suite takes: a run that hangs ends, and says so.
_LIMIT_S = 1500.0
# The longest two mostly wait: a third process works meanwhile.
_PYTEST = ("python", "-m", "pytest", "-n", "3")
# What is timed in the lab needs a processor that is free when a packet comes. Files go out whole, in their order.
_IN_LAB = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")


def run_suite(places: Places, arguments: Sequence[str]) -> int:
    """With arguments only pytest, with them; else everything. 0 when all is well. Raises StepError."""
    began = monotonic()
    with workshop_to_ourselves(places):
        results = _run_all(places, arguments)
    words = ", ".join(f"{name} {'passed' if well else 'FAILED'}" for name, well in results.items())
    print(f"\n{words} in {monotonic() - began:.0f} s")
    return 0 if all(results.values()) else 1


def _run_all(places: Places, arguments: Sequence[str]) -> dict[str, bool]:
    workshop = open_workshop(places)
    # Short, for the sockets made below it; all that tests leave behind goes with it.
    scratch = Path(tempfile.mkdtemp(prefix="fbt-", dir="/tmp"))
    env = tool_environment(places) | {"TMPDIR": str(scratch)}
    try:
        pytest = [*_PYTEST, "-o", f"cache_dir={places.state}/caches/pytest"]
        if arguments:
            return _run_tests(pytest, arguments, workshop, env)
        return {
            "checks": run_checks(places, workshop),
            **_run_tests(pytest, (), workshop, env),
            "frontend": _quiet(("npm", "test", "--silent"), workshop / "frontend", env),
        }
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_tests(
    pytest: Sequence[str], arguments: Sequence[str], workshop: Path, env: Mapping[str, str]
) -> dict[str, bool]:
    """The tests that are asked for, out of the lab and in it. What is chosen by name need not be in both."""
    others, lab = netlab.share(arguments, workshop)
    codes = {}
    if others is not None:
        codes["tests"] = _stream([*pytest, *others], workshop, env)
    if lab is not None:
        codes["lab"] = _stream_lab([*pytest, *_IN_LAB, *lab], workshop, env)
    if arguments and any(code == 0 for code in codes.values()):
        codes = {name: code for name, code in codes.items() if code != netlab.NO_TESTS}
    return {name: code == 0 for name, code in codes.items()}


def _stream_lab(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> int | None:
    """The lab's tests, with the rights to make networks; without them says so, and fails."""
    way = netlab.way()
    if way is None:
        print(netlab.CANNOT_RUN)
        return 1
    prefix, prepare = way
    return _stream([*prefix, *command], folder, env, prepare)


def _stream(
    command: Sequence[str], folder: Path, env: Mapping[str, str], prepare: Callable[[], None] | None = None
) -> int | None:
    """Runs it with our output as its own; its exit code, None when it did not end in time."""
    sys.stdout.flush()
    code = run_to_the_end(command, env=env, cwd=folder, timeout_s=_LIMIT_S, prepare=prepare)
    if code is None:
        print(f"{' '.join(command)} did not end within {_LIMIT_S:.0f} s.")
    return code


def _quiet(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> bool:
    """Runs it and shows what it said only when it failed."""
    fault = fault_of(command, env=env, cwd=folder, timeout_s=_LIMIT_S)
    if fault:
        print(fault)
    return not fault
