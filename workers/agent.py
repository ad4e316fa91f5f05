"""The processes of one agent: three that measure, one that talks to the service, and a parent that keeps them alive.

agent ─┬─ courier     uploads the spool, heartbeats, progress (the only one that knows the service)
       ├─ probe       queues probe.now, probe.gate, probe and those of pairs: many raw probes at once
       ├─ page        queue page: as many pages at once as there are browsers
       └─ page-now    queues page.now, page.gate: one browser, so that a person never waits behind the schedule's queue

Pages of both, and of other agents on the machine, load in turns (`page_turns`).
"""

import fcntl
import functools
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from workers import ledger
from workers.bell import Bell
from workers.config import AgentConfig
from workers.courier import Courier
from workers.fitness import unfit_in
from workers.ledger import Ledger
from workers.measurement.log_lines import LogLine
from workers.measurement.messages import Kind
from workers.measurement.routes import Lane, queue_name
from workers.page_turns import PageTurns, pages_at_once, usual_folder
from workers.pulse import About, Pulse
from workers.room import Room, take_on_where
from workers.run import Clock, Instruments, Loader, Prober
from workers.service import Service
from workers.skew import ServiceTime, skew_in
from workers.spool import Spool
from workers.supervisor import Child, supervise
from workers.tasks import FINISH_S, Station, import_ahead, make_app, register, serve
from workers.version import build
from workers.witness import witness_in

log = logging.getLogger(__name__)

# Where a person waits first, then pipelines, then the schedule; a pair is raw probes of the same engine.
_RAW_QUEUES = tuple(queue_name(kind, lane) for lane in Lane for kind in (Kind.PROBE, Kind.PAIR))
_HURRIED_PAGES = tuple(queue_name(Kind.PAGE, lane) for lane in (Lane.NOW, Lane.GATE))
# An agent that ends keeps its spool until its last run is over.
PATIENCE_S = FINISH_S + 15.0
_ASK_AGAIN_S = 0.2


class SpoolInUseError(RuntimeError):
    """Another agent works in the same directory."""


class Toolbox(Protocol):
    """Makes instruments inside the process that will use them; leaving the context closes them."""

    def prober(self, config: AgentConfig) -> AbstractContextManager[Prober]: ...

    def shaped(self, config: AgentConfig) -> AbstractContextManager[Prober]: ...

    def loader(self, config: AgentConfig, *, browsers: int) -> AbstractContextManager[Loader]: ...

    def shaped_loader(self, config: AgentConfig, *, browsers: int) -> AbstractContextManager[Loader]: ...

    def about(self, config: AgentConfig) -> About: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Post:
    """A measuring process: which queues it serves, how many runs at once, and with what."""

    name: str
    queues: tuple[str, ...]
    slots: int
    instruments: Callable[[], AbstractContextManager[Any]]
    shaped: Callable[[], AbstractContextManager[Any]]
    is_probe: bool


def run_agent(config: AgentConfig, toolbox: Toolbox) -> int:
    """Works until SIGTERM or SIGINT; gives the exit code. Raises SpoolInUseError when the directory stays taken."""
    lock = _take(config.spool_dir)
    Spool(config.spool_dir).sweep()
    held = config.spool_dir / "held"
    ledger.forget(held)
    ledger.forget(unfit_in(config.spool_dir))
    skew_in(config.spool_dir).unlink(missing_ok=True)
    held.mkdir(mode=0o700)
    bell = Bell()
    courier = Child(name="courier", work=functools.partial(_deliver, config, toolbox, bell), last=True)
    turns = PageTurns(usual_folder(), pages_at_once(config.browsers))
    measuring = [_measuring_child(post, config, bell, held, turns) for post in _posts(config, toolbox)]
    import_ahead()
    log.info("agent %s of region %s starts, version %s", config.agent_name, config.region, build())
    turns.tell()
    try:
        return supervise([courier, *measuring])
    finally:
        os.close(lock)


def _posts(config: AgentConfig, toolbox: Toolbox) -> tuple[_Post, ...]:
    probes, shaped = functools.partial(toolbox.prober, config), functools.partial(toolbox.shaped, config)
    slots = config.probes_in_flight
    return (
        _Post(name="probe", queues=_RAW_QUEUES, slots=slots, instruments=probes, shaped=shaped, is_probe=True),
        _page_post("page", (queue_name(Kind.PAGE, Lane.SCHEDULE),), config, toolbox, browsers=config.browsers),
        _page_post("page-now", _HURRIED_PAGES, config, toolbox, browsers=1),
    )


def _page_post(name: str, queues: tuple[str, ...], config: AgentConfig, toolbox: Toolbox, *, browsers: int) -> _Post:
    return _Post(
        name=name,
        queues=queues,
        slots=browsers,
        instruments=functools.partial(toolbox.loader, config, browsers=browsers),
        shaped=functools.partial(toolbox.shaped_loader, config, browsers=browsers),
        is_probe=False,
    )


def _measuring_child(post: _Post, config: AgentConfig, bell: Bell, held: Path, turns: PageTurns) -> Child:
    return Child(
        name=post.name,
        work=functools.partial(_measure, post, config, bell, held, turns),
        buried=lambda pid: ledger.forget(held / str(pid)),
        is_stuck=lambda pid: ledger.is_stuck(held / str(pid), now_s=time.monotonic()),
    )


def _measure(post: _Post, config: AgentConfig, bell: Bell, held: Path, turns: PageTurns) -> int:
    """The life of a measuring process."""
    log_as(post.name)
    spool = Spool(config.spool_dir)
    with post.instruments() as instrument, post.shaped() as shaped:
        instruments = Instruments(
            agent=config.agent_name,
            prober=instrument if post.is_probe else None,
            shaped=shaped if post.is_probe else None,
            loader=None if post.is_probe else instrument,
            shaped_loader=None if post.is_probe else shaped,
            extra_ports=config.extra_ports,
            witness=None if config.private_targets else witness_in(config.spool_dir),
        )
        app = make_app(config)
        take_on_where(Room(spool.fault))
        records = Ledger(held / str(os.getpid()), done=spool.run_ids())
        clock = Clock(now=ServiceTime(skew_in(config.spool_dir)))
        station = Station(
            instruments=instruments,
            spool=spool,
            ledger=records,
            bell=bell,
            page_turns=None if post.is_probe else turns,
            clock=clock,
        )
        register(app, station)
        return serve(app, name=f"{post.name}@{config.agent_name}", queues=post.queues, slots=post.slots)


def _deliver(config: AgentConfig, toolbox: Toolbox, bell: Bell) -> int:
    """The life of the courier."""
    log_as("courier")
    service = Service(config.service_url, config.agent_token.get_secret_value(), ca_file=config.ca_file)
    spool = Spool(config.spool_dir)
    pulse = Pulse(
        service,
        spool,
        config.spool_dir / "held",
        About(agent=config.agent_name),
        unfit=unfit_in(config.spool_dir),
        skew=skew_in(config.spool_dir),
    )
    look_around = functools.partial(toolbox.about, config)
    Courier(bell=bell, service=service, spool=spool, pulse=pulse, look_around=look_around).run()
    return 0


def log_as(name: str) -> None:
    """Logs to stderr under the name of this process; Celery's line for every task only when something is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLine(f"%(asctime)s %(levelname)s {name}[%(process)d] %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # What libraries tell their users' developers, which Celery has logged: six lines for each broker that is lost.
    logging.getLogger("py.warnings").setLevel(logging.ERROR)


def _take(directory: Path) -> int:
    """The lock of a spool directory. Children inherit it, so it is free only when the last process has ended."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                raise SpoolInUseError(
                    f"{directory} is used by another agent; give each its own spool directory"
                ) from None
            # A lock that several processes hold tells nobody when it becomes free, and waiting inside flock has no end.
            time.sleep(_ASK_AGAIN_S)
