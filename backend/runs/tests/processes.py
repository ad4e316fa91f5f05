"""Real processes for the tests that kill them: schedulers, sweepers, a Redis that comes back, and an agent."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from uuid import uuid4

import redis
from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from backend.fleet.models import Region
from backend.runs.ingest import ingest
from backend.runs.tests.results import answer
from backend.testing import START_S, wait_until
from workers.measurement.messages import RunRequest
from workers.measurement.wire import decode

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def managed(command: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of `manage.py <command>` on the database and broker of this test; killed at the end if it runs."""
    name = f"{command} {uuid4()}"
    process = start(command, *arguments, name=name)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        # Nobody stops a query that it has sent before: what that writes would come to the test that follows.
        wait_until(lambda: not _is_connected(name), f"the last words of the {command} to be carried out")


def start(command: str, *arguments: str, name: str = "") -> subprocess.Popen[bytes]:
    """Such a process, to be ended by the caller; under this name it is known to the database."""
    database = connection.settings_dict
    environment = os.environ | {
        "FIRSTBYTE_DB_HOST": database["HOST"],
        "FIRSTBYTE_DB_NAME": database["NAME"],
        "FIRSTBYTE_DB_USER": database["USER"],
        "FIRSTBYTE_REDIS_URL": settings.REDIS_URL,
        "PGAPPNAME": name,
    }
    return subprocess.Popen(
        [sys.executable, "manage.py", command, *arguments], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL
    )


def _is_connected(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE application_name = %s", [name])
        return cursor.fetchone() is not None


def heeds_sigterm(pid: int) -> bool:
    """Whether a process has its own answer to SIGTERM by now. One that is still starting simply dies of it."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


class RedisServer:
    """A Redis that writes down what it is told, so that it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder}/redis.sock?db=0"

    def start(self) -> None:
        socket = self._folder / "redis.sock"
        socket.unlink(missing_ok=True)
        command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(self._folder)]
        self._process = subprocess.Popen(
            [*command, "--appendonly", "yes", "--appendfsync", "always"], stdout=subprocess.DEVNULL
        )
        wait_until(self._answers, "redis-server to answer")

    def forget(self) -> None:
        """Throws away what it has written down; only while it does not run."""
        shutil.rmtree(self._folder / "appendonlydir")

    def pause(self) -> None:
        """Answers nobody, until `resume`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def _answers(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.url).ping())
        except redis.RedisError:
            return False


class SimulatedAgent(threading.Thread):
    """Takes messages of a region's probe queue and sends results until told to stop.

    It keeps what it cannot send, and ends when it has sent all that it had taken.
    """

    def __init__(self, region: Region) -> None:
        super().__init__(daemon=True)
        self._region, self._over = region, threading.Event()
        self.seen: list[RunRequest] = []

    def run(self) -> None:
        spool: list[bytes] = []
        while spool or not self._over.is_set():
            if not self._over.is_set():
                spool += self._take()
            if spool and self._send(spool):
                spool = []
        connection.close()

    def stop(self) -> None:
        self._over.set()
        self.join(START_S)

    def _take(self) -> list[bytes]:
        try:
            with redis.Redis.from_url(settings.REDIS_URL) as client:
                messages = client.rpop(f"{self._region.code}:probe", 200) or []
        except redis.RedisError:
            messages = []
        if not messages:
            sleep(0.02)
        requests = [request_of(message) for message in messages]
        self.seen += requests
        return [answer(request) for request in requests]

    def _send(self, lines: list[bytes]) -> bool:
        try:
            ingest(self._region, lines, now=timezone.now())
        except Error:
            connection.close()
            sleep(0.05)
            return False
        return True


def queued(client: redis.Redis, queue: str) -> list[RunRequest]:
    """The requests that stand in a queue, the newest first."""
    return [request_of(message) for message in client.lrange(queue, 0, -1)]


def request_of(message: bytes | str) -> RunRequest:
    """The request inside a message as it stands in a queue."""
    ((envelope,), _, _) = json.loads(b64decode(json.loads(message)["body"]))
    return decode(envelope.encode(), RunRequest)
