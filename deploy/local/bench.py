"""`./dev bench`: each part of the product beside its limit in one run, and the start and memory of all services."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from deploy.local import netlab, up
from deploy.local.netlab import Way
from deploy.local.places import Places
from deploy.local.process import StepError, descendants
from deploy.local.state import holder
from deploy.local.workshop import open_workshop, tool_environment, workshop_to_ourselves

SECOND_START_LIMIT_S = 15.0
IDLE_LIMIT_MB = 700.0
# A browser is closed after a while without work; this is well after that.
_QUIET_WITHIN_S = 240.0
_BROWSER = "chromium"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A bench: `module` comes with the code that it measures, prints its ratios and ends with 0 when they are met. A
    `long` one, of many minutes, only runs for who names it."""

    about: str
    module: tuple[str, ...] = ()
    long: bool = False
    in_networks: bool = False


PARTS = {
    "start": Part(about="a second start of all services, and their memory when nobody asks anything"),
    "service": Part(about="storing, judging, alerts, gates and the API at scale", module=("backend.bench",)),
    "scale": Part(
        about="one organisation among millions of runs of others, and what the background does then (minutes)",
        module=("backend.bench", "scale"),
        long=True,
    ),
    "waterfall": Part(about="the first drawing of waterfalls, and scrolling", module=("deploy.local.drawing",)),
    "probes": Part(
        about="a light probe beside blackbox-exporter, curl and a handshake alone, in CPU seconds",
        module=("workers.bench", "probes"),
    ),
    "pages": Part(
        about="a page run beside browsertime, Lighthouse and a bare load, in CPU seconds",
        module=("workers.bench", "pages"),
    ),
    "page-overhead": Part(about="how long a page run takes beyond its page", module=("workers.bench", "page-overhead")),
    "pairs": Part(about="a pair of CDN and origin beside two probes", module=("workers.bench", "pairs")),
    "accuracy": Part(
        about="a probe's phases against the packets", module=("workers.bench", "accuracy"), in_networks=True
    ),
    "page-accuracy": Part(
        about="a page's phases against the packets", module=("workers.bench", "page-accuracy"), in_networks=True
    ),
    "odd-ways": Part(
        about="what is told of broken and healthy sites behind odd ways (most of an hour)",
        module=("workers.bench", "odd-ways"),
        long=True,
        in_networks=True,
    ),
    "soak": Part(
        about="500 page runs in a row, and whether anything grows (most of an hour)",
        module=("workers.bench", "soak"),
        long=True,
    ),
}
# Names of programs that are not Debian's.
PEERS = ("FIRSTBYTE_BROWSERTIME", "FIRSTBYTE_LIGHTHOUSE")


def bench(places: Places, names: Sequence[str]) -> int:
    """Runs the parts named, or all but the long ones; 0 when every limit is met. Raises StepError."""
    unknown = set(names) - set(PARTS)
    if unknown:
        raise StepError(f"There is no bench '{', '.join(sorted(unknown))}'. There are: {', '.join(PARTS)}.")
    chosen = names or [name for name, part in PARTS.items() if not part.long]
    results = [_run(places, PARTS[name]) for name in chosen]
    return 0 if all(results) else 1


def _run(places: Places, part: Part) -> bool:
    return _module(places, part) if part.module else start_and_memory(places)


def start_and_memory(places: Places) -> bool:
    """How long `up` takes when everything was set up before, and what all services hold when nobody asks anything."""
    ran = holder(places.lock) is not None
    if not places.fleet.exists():
        # A first start installs and sets up; it is no second one.
        up.up(places, port=None, with_demo=True, foreground=False)
    up.down(places)
    began = monotonic()
    up.up(places, port=None, with_demo=True, foreground=False)
    took_s = monotonic() - began
    _wait_for_quiet(places)
    memory_mb = memory_of(_family(places))
    if not ran:
        up.down(places)
    start = _line("second start", took_s, SECOND_START_LIMIT_S, "s")
    return _line("memory of all idle services", memory_mb, IDLE_LIMIT_MB, "MB") and start


def memory_of(pids: Sequence[int]) -> float:
    """Megabytes that processes hold together; what several share is counted once (proportional set size)."""
    return sum(_proportional_kb(pid) for pid in pids) / 1024


def _wait_for_quiet(places: Places) -> None:
    deadline = monotonic() + _QUIET_WITHIN_S
    while any(_BROWSER in _command(pid) for pid in _family(places)):
        if monotonic() > deadline:
            raise StepError(
                f"A browser is still open {_QUIET_WITHIN_S:.0f} s after the start: the services are not idle."
            )
        sleep(1)


def _family(places: Places) -> list[int]:
    supervisor = holder(places.lock)
    if supervisor is None:
        raise StepError("The services ended while they were measured. See ./dev logs.")
    return [supervisor, *descendants(supervisor)]


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").partition("\0")[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _line(name: str, value: float, limit: float, unit: str) -> bool:
    met = value <= limit
    print(f"  {name:<30} {value:8.1f} {unit:<3} limit {limit:.0f} {unit}: {'met' if met else 'MISSED'}")
    return met


def _module(places: Places, part: Part) -> bool:
    prefix, prepare = _way(part)
    passed = {name: os.environ[name] for name in PEERS if name in os.environ}
    sys.stdout.flush()
    command = [*prefix, str(places.python), "-m", *part.module]
    with workshop_to_ourselves(places):
        workshop = open_workshop(places)
        env = tool_environment(places) | passed
        return subprocess.run(command, cwd=workshop, env=env, preexec_fn=prepare).returncode == 0


def _way(part: Part) -> Way:
    if not part.in_networks:
        return (), lambda: None
    way = netlab.way()
    if way is None:
        raise StepError(netlab.CANNOT_RUN)
    return way
