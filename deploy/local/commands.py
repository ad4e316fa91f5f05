"""The commands of ./dev: each parses nothing more, calls one function, and gives an exit code."""

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import NoReturn

from deploy.local import environment
from deploy.local import up as life
from deploy.local.bench import bench as run_benches
from deploy.local.checks import run_checks
from deploy.local.demo import slow_down
from deploy.local.doctor import examine
from deploy.local.places import Places, make_state
from deploy.local.process import StepError
from deploy.local.settings import Settings, read_settings
from deploy.local.suite import run_suite
from deploy.local.venv import RUN, ensure_venv
from deploy.local.workshop import open_workshop, workshop_to_ourselves

_LOG_LINES = "40"
# What a command that draws in the terminal may know of it.
_TERMINAL = ("TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM")


def up(places: Places, options: Namespace) -> int:
    return life.up(places, port=options.port, with_demo=not options.no_demo, foreground=options.foreground)


def down(places: Places, _options: Namespace) -> int:
    return life.down(places)


def status(places: Places, _options: Namespace) -> int:
    return life.status(places)


def reset(places: Places, options: Namespace) -> int:
    return life.reset(places, ask=not options.yes)


def doctor(places: Places, _options: Namespace) -> int:
    return examine(places)


def check(places: Places, _options: Namespace) -> int:
    make_state(places)
    with workshop_to_ourselves(places):
        return 0 if run_checks(places, open_workshop(places)) else 1


def logs(places: Places, options: Namespace) -> int:
    """What the services said last; `tail` of the system shows and follows it."""
    known = {path.stem: str(path) for path in sorted(places.logs.glob("*.log"))}
    if options.name and options.name not in known:
        raise StepError(f"There is no log of '{options.name}'. There are: {', '.join(known) or 'none yet'}.")
    files = [known[options.name]] if options.name else list(known.values())
    if not files:
        raise StepError("There are no logs yet. ./dev up makes them.")
    sys.stdout.flush()
    os.execvp("tail", ["tail", "-n", _LOG_LINES, *(["-F"] if options.follow else []), *files])


def test(places: Places, arguments: Sequence[str]) -> int:
    make_state(places)
    return run_suite(places, arguments)


def bench(places: Places, options: Namespace) -> int:
    make_state(places)
    return run_benches(places, options.parts)


def demo(places: Places, options: Namespace) -> int:
    """Something to be alerted about: the demo shop works longer, or as it always did."""
    settings = read_settings(places.settings)
    if settings is None or not places.authority.exists():
        raise StepError("There is no demo shop yet. ./dev up makes it.")
    by_pct = options.by if options.pace == "slower" else 0
    slow_down(places, settings, by_pct)
    print(f"The demo shop now works {by_pct} % longer." if by_pct else "The demo shop works as it always did.")
    return 0


def screens(places: Places, _options: Namespace) -> int:
    settings = _ready(places)
    if settings is None:
        raise StepError("There is nothing to look at yet. Run ./dev up.")
    return _become(places, ["-m", "deploy.local.screens", str(places.code)], environment.base(places))


def firstbyte(places: Places, arguments: Sequence[str]) -> int:
    env = environment.command(places, _ready(places))
    # Like our own entry it takes what interrupts it as soon as it begins.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    return _become(places, ["-m", "workers.cli", *arguments], env)


def manage(places: Places, arguments: Sequence[str]) -> int:
    return _become(places, ["manage.py", *arguments], _service_environment(places))


def python(places: Places, arguments: Sequence[str]) -> int:
    return _become(places, arguments, _service_environment(places))


def _service_environment(places: Places) -> dict[str, str]:
    settings = _ready(places)
    if settings is None:
        raise StepError("There is no database yet. Run ./dev up first.")
    return environment.service(places, settings)


def _ready(places: Places) -> Settings | None:
    """Sees to it that there is a Python environment, also before the first `up`."""
    make_state(places)
    ensure_venv(places, RUN)
    return read_settings(places.settings)


def _become(places: Places, arguments: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    terminal = {name: os.environ[name] for name in _TERMINAL if name in os.environ}
    # Unlike the stream's own method no fault where the caller has closed it.
    print(end="", flush=True)
    os.execve(places.python, [str(places.python), *arguments], {**env, **terminal})
