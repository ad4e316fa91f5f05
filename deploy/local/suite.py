"""`./dev test`: every test on throw-away servers, then one line that says how it went.

Beside the lab's tests, which mostly wait for packets, goes what computes: the checks, and tests that time nothing.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from deploy.local import netlab
from deploy.local.aside import aside
from deploy.local.places import Places
from deploy.local.process import Job, fault_of, run_to_the_end
from deploy.local.workshop import open_workshop, tool_environment, workshop_to_ourselves

# Far above what the suite takes, also on a machine that is half as fast as usual: a run that hangs ends, and says so.
_LIMIT_S = 2700.0
# Many wait, the longest most: with three processes two processors had nothing to do for a sixth of the time. Who has
# nothing left takes of what others have before them.
_PYTEST = ("python", "-m", "pytest", "-n", "4", "--dist", "worksteal")
# What is timed in the lab needs a processor that is free when a packet comes, and mostly waits for packets: three
# processes leave half of two processors free, for checks that make way at once. Files go out whole, in their order.
_IN_LAB = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")


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
    # The tests name it once their servers run: else whoever debugs in one process reads it before there are any.
    del env["DJANGO_SETTINGS_MODULE"]
    try:
        pytest = [*_PYTEST, "-o", f"cache_dir={places.state}/caches/pytest"]
        if arguments:
            return _run_chosen(pytest, arguments, workshop, env)
        return {
            **_run_whole(pytest, places, workshop, env),
            "frontend": _quiet(("npm", "test", "--silent"), workshop / "frontend", env),
        }
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_whole(pytest: Sequence[str], places: Places, workshop: Path, env: Mapping[str, str]) -> dict[str, bool]:
    others = [f"--ignore={folder}" for folder in (netlab.FOLDER, *netlab.BESIDE)]
    beside = {
        "checks": aside((sys.executable, "-m", "deploy.local.checks", str(workshop)), env=os.environ, cwd=places.code),
        "beside": aside([*pytest, *netlab.BESIDE], env=env, cwd=workshop),
    }
    codes = _stream({"tests": Job(command=[*pytest, *others], env=env, cwd=workshop)})
    codes |= _stream_lab([*pytest, *_IN_LAB, netlab.FOLDER], workshop, env, beside)
    return {name: code == 0 for name, code in codes.items()}


def _run_chosen(
    pytest: Sequence[str], arguments: Sequence[str], workshop: Path, env: Mapping[str, str]
) -> dict[str, bool]:
    """The tests that are asked for, out of the lab and in it. What is chosen by name need not be in both."""
    others, lab = netlab.share(arguments, workshop)
    codes: dict[str, int | None] = {}
    if others is not None:
        codes |= _stream({"tests": Job(command=[*pytest, *others], env=env, cwd=workshop)})
    if lab is not None:
        codes |= _stream_lab([*pytest, *_IN_LAB, *lab], workshop, env, {})
    if any(code == 0 for code in codes.values()):
        codes = {name: code for name, code in codes.items() if code != netlab.NO_TESTS}
    return {name: code == 0 for name, code in codes.items()}


def _stream_lab(
    command: Sequence[str], folder: Path, env: Mapping[str, str], beside: Mapping[str, Job]
) -> dict[str, int | None]:
    """The lab's tests, with the rights to make networks; without them says so, and fails. `beside` runs in any case."""
    way = netlab.way()
    if way is None:
        print(netlab.CANNOT_RUN)
        return {"lab": 1, **_stream(beside)}
    prefix, prepare = way
    return _stream({"lab": Job(command=[*prefix, *command], env=env, cwd=folder, prepare=prepare), **beside})


def _stream(jobs: Mapping[str, Job]) -> dict[str, int | None]:
    """Runs them side by side with our output as theirs; the exit code of each, None when it did not end in time."""
    sys.stdout.flush()
    codes = dict(zip(jobs, run_to_the_end(*jobs.values(), timeout_s=_LIMIT_S), strict=True))
    for name, code in codes.items():
        if code is None:
            print(f"{' '.join(jobs[name].command)} did not end within {_LIMIT_S:.0f} s.")
    return codes


def _quiet(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> bool:
    """Runs it and shows what it said only when it failed."""
    fault = fault_of(command, env=env, cwd=folder, timeout_s=_LIMIT_S)
    if fault:
        print(fault)
    return not fault
