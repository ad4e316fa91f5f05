"""A real broker and a real agent process, for tests of the whole road of a run."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import redis
from celery import Celery

from workers.measurement import routes, wire
from workers.measurement.broker import acl_rules, broker_options, broker_url
from workers.measurement.messages import RunRequest
from workers.tests.builders import build_request
from workers.tests.fakes import diary_of
from workers.tests.stub_service import TOKEN, StubService
from workers.tests.waiting import wait_for

REGION = "eu"
PASSWORD = "p;w@x/y"
URL_PASSWORD = "p%3Bw%40x%2Fy"


class Broker:
    """A redis-server on a unix socket with an account for one region.

    It can be killed and started again on its data.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = directory / "r.sock"
        self.admin = redis.Redis(unix_socket_path=str(self.socket))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = f"--port 0 --unixsocket {self.socket} --save '' --appendonly yes --appendfsync always --dir"
        self._process = subprocess.Popen(
            ["redis-server", *arguments.replace("''", "").split(), str(self.directory)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self._answers, "redis to answer")
        rules = f"reset on >{PASSWORD} {acl_rules(REGION)}"
        command(self.admin, "ACL", "SETUSER", "eu", *rules.split())

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def silent(self) -> Iterator["SilentBroker"]:
        """In the place of one that was killed: takes every connection and never answers."""
        self.socket.unlink()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.socket))
            listening.listen()
            silent = SilentBroker(listening)
            thread = threading.Thread(target=silent.serve, daemon=True)
            thread.start()
            try:
                yield silent
            finally:
                listening.shutdown(socket.SHUT_RDWR)
                thread.join()
        self.socket.unlink()

    def close(self) -> None:
        self.kill()
        self.admin.close()

    @property
    def agent_url(self) -> str:
        return f"unix://eu:{URL_PASSWORD}@{self.socket}"

    def publish(self, request: RunRequest, *, envelope: Any = None, lane: routes.Lane | None = None) -> UUID:
        """As the scheduler does: by name, into the queue of its kind and lane."""
        app = Celery("publisher", set_as_current=False)
        app.conf.update(
            broker_url=broker_url(f"unix://{self.socket}"),
            broker_transport_options=broker_options(REGION),
            task_ignore_result=True,
        )
        usual = routes.Lane.NOW if request.urgent else routes.Lane.SCHEDULE
        queue = routes.queue_name(request.kind, lane or usual)
        arguments = [wire.encode(request).decode() if envelope is None else envelope]
        with app.connection_for_write() as connection:
            app.send_task(routes.EXECUTE_TASK, arguments, queue=queue, connection=connection, ignore_result=True)
        app.close()
        return request.run_id

    def waiting(self, queue: str) -> int:
        return int(self.admin.llen(f"{REGION}:{queue}"))

    def unacknowledged(self) -> int:
        return int(self.admin.hlen(f"{REGION}:unacked"))

    def _answers(self) -> bool:
        with contextlib.suppress(redis.ConnectionError):
            return bool(self.admin.ping())
        return False


class SilentBroker:
    """Connections that hear nothing, for as long as it serves."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._taken: list[socket.socket] = []

    @property
    def connections(self) -> int:
        return len(self._taken)

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._taken.append(self._listening.accept()[0])
        for connection in self._taken:
            connection.close()


@dataclass(kw_only=True)
class Agent:
    """A process group, of fakes unless another command is given, and where it keeps its things."""

    broker: Broker
    service: StubService
    directory: Path
    settings: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("workers.tests.fake_agent",)
    process: subprocess.Popen[bytes] | None = None

    @property
    def spool_dir(self) -> Path:
        return self.directory / "spool"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text("utf-8", "replace")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "FIRSTBYTE_REGION": REGION,
            "FIRSTBYTE_SERVICE_URL": self.service.url,
            "FIRSTBYTE_AGENT_TOKEN": TOKEN,
            "FIRSTBYTE_BROKER_URL": self.broker.agent_url,
            "FIRSTBYTE_SPOOL_DIR": str(self.spool_dir),
            # Its pages take turns with those of the other agents of a test, and of no other one.
            "TMPDIR": str(self.broker.directory),
            "FIRSTBYTE_AGENT_NAME": "eu-1",
            "FIRSTBYTE_PROBES_IN_FLIGHT": "20",
            # Shorter than an operator's, so that a test leaves no run behind.
            "FIRSTBYTE_TEST_FINISH_S": "5",
            "FIRSTBYTE_TEST_GRACE_S": "60",
            "FIRSTBYTE_TEST_PATIENCE_S": "45",
            "FIRSTBYTE_TEST_HEARTBEAT_INTERVAL_S": "2",
            "FIRSTBYTE_TEST_HURRIED_WAIT_S": "600",
            "FIRSTBYTE_TEST_LONGEST_WAIT_S": "600",
            "FIRSTBYTE_TEST_LOOK_S": "5",
        }
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self.command],
                env=environment | self.settings,
                stdout=log,
                stderr=log,
            )

    def executions(self) -> list[str]:
        """The run ids of every execution begun, in order."""
        diary = diary_of(self.spool_dir)
        return [line.split()[0] for line in diary.read_text().splitlines()] if diary.exists() else []

    def process_of(self, run_id: UUID) -> int:
        """The process that carries out a run."""
        lines = wait_for(
            lambda: [line for line in self._diary() if line.startswith(str(run_id))], f"run {run_id} to begin"
        )
        return int(lines[-1].split()[1])

    def held(self) -> list[str]:
        """The run ids of what all its processes carry out."""
        found: list[str] = []
        for process in (self.spool_dir / "held").glob("*"):
            # The folder of one that has died goes while we look.
            with contextlib.suppress(FileNotFoundError):
                found += os.listdir(process)
        return found

    def children(self) -> list[int]:
        text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def wait(self, timeout_s: float = 120) -> int:
        """Its exit code, once it has ended by itself."""
        assert self.process is not None
        return self.process.wait(timeout_s)

    def stop(self, timeout_s: float = 120) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def _diary(self) -> list[str]:
        diary = diary_of(self.spool_dir)
        return diary.read_text().splitlines() if diary.exists() else []


def command(client: redis.Redis, *words: str) -> Any:
    """Any command, as typed."""
    return client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py leaves this one without types


@contextlib.contextmanager
def running_broker() -> Iterator[Broker]:
    """In a directory of its own: the path of a unix socket has at most 107 bytes, which pytest's directories exceed."""
    directory = Path(tempfile.mkdtemp(prefix="fb-"))
    broker = Broker(directory)
    broker.start()
    try:
        yield broker
    finally:
        broker.close()
        shutil.rmtree(directory)


def due_request(path: str = "/ok", **changes: Any) -> RunRequest:
    """A request of its own monitor, due now and for as long as a busy machine may need to begin it."""
    now = datetime.now(UTC)
    values = {"scheduled_for": now, "expires_at": now + timedelta(minutes=10), "monitor_id": uuid4()}
    return build_request(url=f"https://fake.example{path}", **(values | changes))
