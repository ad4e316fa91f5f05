"""The Celery app of a region and its only task: a door between the broker and `run.execute`."""

import importlib
import logging
import os
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from celery import Celery, signals
from celery.exceptions import WorkerShutdown
from celery.worker import state
from kombu import Queue

from workers.bell import Bell
from workers.config import AgentConfig
from workers.ledger import Ledger
from workers.letting_go import let_go
from workers.measurement import routes, wire
from workers.measurement.broker import broker_options, broker_url
from workers.measurement.messages import Early, Kind, OnProgress, Progress, ProgressStage, RunRequest
from workers.page_turns import PageTurns, patience_s
from workers.run import Clock, Execution, Instruments, execute, internal_error
from workers.spool import Spool
from workers.turns import take_turns

log = logging.getLogger(__name__)

# How long runs may take to end after SIGTERM; what is unfinished then is for another agent.
FINISH_S = 30.0
# A disk that is full may have room again. So long a result waits for it, which is less than its run may be held, and
# keeps its place, so that the agent takes no more work than it can keep.
PATIENCE_S, AGAIN_S = 45.0, 1.0
# By lane: with kombu's "priority" order a worker looks into a later queue only when the earlier ones are empty.
QUEUES = tuple(routes.queue_name(kind, lane) for kind in Kind for lane in routes.Lane)


_LATE_IMPORTS = (
    "billiard.dummy",
    "billiard.pool",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.thread",
    "celery.events.receiver",
    "celery.fixups.django",
    "celery.loaders.app",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.control",
    "celery.worker.strategy",
    "kombu.transport.redis",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """What a measuring process works with; `page_turns` where it loads pages."""

    instruments: Instruments
    spool: Spool
    ledger: Ledger
    bell: Bell
    page_turns: PageTurns | None = None
    clock: Clock = field(default_factory=Clock)


def make_app(config: AgentConfig) -> Celery:
    """The app of a region, not connected yet.

    Late acknowledgement with a prefetch of one: a worker holds only what it measures. No results, events, remote
    control or queues made by a typing error: a region's account may not, and need not, do any of these.
    Raises RuntimeError when the installed kombu does not fit.
    """
    take_turns()
    let_go()
    app = Celery("firstbyte", set_as_current=False)
    ca_file = str(config.ca_file) if config.ca_file else None
    app.conf.update(
        broker_url=broker_url(config.broker_url.get_secret_value(), ca_file=ca_file),
        broker_transport_options=broker_options(config.region) | {"queue_order_strategy": "priority"},
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        accept_content=["json"],
        task_serializer="json",
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_create_missing_queues=False,
        task_queues=[Queue(name, routing_key=name) for name in QUEUES],
        task_default_queue=QUEUES[-1],
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_prefetch_count_reduction=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )
    return app


def register(app: Celery, station: Station) -> None:
    """Gives the app its task, which measures with this station."""

    @app.task(name=routes.EXECUTE_TASK)
    def execute_run(envelope: str) -> None:
        try:
            request = wire.decode(envelope.encode(), RunRequest)
        except (wire.WireError, AttributeError, UnicodeEncodeError) as error:
            log.error("dropped a message that cannot be read: %s", error)
            return
        if station.ledger.begin(request, now_s=time.monotonic()):
            _carry_out(request, station)
        else:
            log.info("run %s came again: not carried out twice", request.run_id)


def import_ahead() -> None:
    """Imports what a worker would import at its start:
    before a fork all processes share it, afterwards each has its own.
    """
    for module in _LATE_IMPORTS:
        importlib.import_module(module)


def serve(app: Celery, *, name: str, queues: tuple[str, ...], slots: int) -> int:
    """Works until SIGTERM; gives the exit code. Blocks; call it in the main thread of a process of its own."""
    signals.setup_logging.connect(_keep_our_logging)
    worker = worker_of(app, name=name, queues=queues, slots=slots)
    signals.worker_shutting_down.connect(lambda **_: _begin_to_end(worker), weak=False)
    worker.start()
    return worker.exitcode or 0


def worker_of(app: Celery, *, name: str, queues: tuple[str, ...], slots: int) -> Any:
    """Celery's worker, which has not begun."""
    return app.Worker(
        hostname=name,
        pool="threads",
        concurrency=slots,
        queues=queues,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )


def _begin_to_end(worker: Any) -> None:
    """Called in the handler of the signal, which may be told more than once.

    Celery looks at what it was told between two steps, and a step that connects may take half a minute. Without a
    connection nothing new can begin, so that step is left at once; runs that were begun before still end.
    """
    if state.should_stop is not None:
        return
    consumer = worker.consumer
    if consumer.task_consumer is not None:
        _limit_the_end(worker)
    if consumer.task_consumer is None or consumer.connection is None:
        raise WorkerShutdown(os.EX_OK)


def _limit_the_end(worker: Any) -> None:
    timer = threading.Timer(FINISH_S, _hand_back, [worker])
    timer.daemon = True
    timer.start()


def _hand_back(worker: Any) -> None:
    """Gives the messages of unfinished runs back to their queues and ends this process with what it still does."""
    said = f"some runs were not over {FINISH_S:.0f} s after the signal"
    try:
        worker.consumer.task_consumer.channel.qos.restore_unacked_once()
        log.warning("%s: handed back", said)
    except Exception as error:
        # Without a broker there is nobody to give them to.
        log.warning("%s, and cannot be handed back (%r): their leases lapse", said, error)
    finally:
        logging.shutdown()
        os._exit(0)


def _carry_out(request: RunRequest, station: Station) -> None:
    try:
        on_progress = _teller(request, station.bell) if request.urgent else None
        with _turn(request, station):
            execution = execute(request, station.instruments, station.clock, on_progress)
        _keep(execution, station.spool, urgent=request.urgent)
    finally:
        station.ledger.end(request.run_id)
    station.bell.ring()


def _turn(request: RunRequest, station: Station) -> AbstractContextManager[None]:
    """A run begins with its turn: what it waits before is in none of its times, and in how late it was."""
    if station.page_turns is None:
        return nullcontext()
    waits_s = patience_s(request, station.clock.now())
    return station.page_turns.taken(hurried=request.urgent, patience_s=waits_s)


def _keep(execution: Execution, spool: Spool, *, urgent: bool) -> None:
    try:
        _write(execution, spool, urgent=urgent)
    except wire.WireError as error:
        _write(Execution(result=internal_error(execution.result, error)), spool, urgent=urgent)


def _write(execution: Execution, spool: Spool, *, urgent: bool) -> None:
    """Raises WireError for what cannot be encoded."""
    until_s = time.monotonic() + PATIENCE_S
    waits = False
    while True:
        try:
            return spool.add(execution.result, execution.pictures, urgent=urgent)
        except OSError as error:
            if time.monotonic() >= until_s:
                log.critical("the result of run %s is lost: %s", execution.result.run_id, error)
                return None
            # Once: what a full disk has for a log ends with it.
            if not waits:
                log.error("the result of run %s waits for the disk: %s", execution.result.run_id, error)
            waits = True
            _wait()


def _wait() -> None:
    time.sleep(AGAIN_S)


def _teller(request: RunRequest, bell: Bell) -> OnProgress:
    def tell(stage: ProgressStage, known: int | Early | None) -> None:
        early = known if isinstance(known, Early) else Early()
        requests = known if isinstance(known, int) else None
        bell.tell(
            Progress(
                run_id=request.run_id,
                stage=stage,
                requests=requests,
                phases=early.phases,
                tls_round_trips=early.tls_round_trips,
                rtt_us=early.rtt_us,
                connections=early.connections,
                planned=early.planned,
            )
        )

    return tell


def _keep_our_logging(**_: object) -> None:
    """Celery leaves logging alone as soon as somebody listens to this signal."""
