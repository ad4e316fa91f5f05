"""The whole service as its own processes: database, broker, web, scheduler, sweeper, judge and two agents.

Nothing is shared with the test process but files and sockets, so that any part can be killed like in the field.
"""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from cryptography.fernet import Fernet

from backend import testing
from backend.testing import wait_until
from workers.tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
REGIONS = {"here": "Here", "there": "There"}
EMAIL = "owner@firstbyte.example"
_LOOPBACK = "127.0.0.0/8,::1/128"
_PATIENCE_S = 300.0


@dataclass(kw_only=True)
class Whole:
    """`environment` is the service's; `processes` are those that may be killed and started again, by name."""

    environment: Mapping[str, str]
    url: str
    folder: Path
    password: str = ""
    commands: dict[str, tuple[list[str], Mapping[str, str]]] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        command, environment = self.commands[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=ROOT, env=dict(environment), stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """kill -9 of a process and all that it started."""
        process = self.processes[name]
        for pid in (process.pid, *descendants(process.pid)):
            _kill(pid)
        process.wait()

    def restart_after_kill(self, name: str) -> None:
        self.kill(name)
        self.start(name)

    def manage(self, *arguments: str) -> str:
        return self._said("manage.py", *arguments)

    def manage_several(self, *commands: Sequence[str]) -> list[str]:
        """What each of several commands says, in one process."""
        outputs: list[str] = json.loads(self._said("-m", "deploy.local.several", json.dumps(commands)))
        return outputs

    def _said(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT, env=dict(self.environment), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments[:2]}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
        return done.stdout

    def script(self, code: str) -> str:
        """What Python code prints in the service's own environment."""
        return self.manage("shell", "--no-imports", "--command", code).strip()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        host, user, name = (self.environment[f"FIRSTBYTE_DB_{part}"] for part in ("HOST", "USER", "NAME"))
        with psycopg.connect(host=host, user=user, dbname=name) as connection:
            return connection.execute(query.encode()).fetchall()

    def answers(self, path: str = "/readyz") -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def logs(self) -> str:
        """The last of what every process said, for a failure's message."""
        return "\n".join(f"--- {path.name}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What is around the service: ports of loopback that may be called, who vouches for sites, where Slack is."""

    ports: tuple[int, ...]
    authority: Path | None = None
    slack: str | None = None

    @property
    def of_both(self) -> dict[str, str]:
        return {"FIRSTBYTE_EXTRA_PORTS": ",".join(map(str, self.ports)), "FIRSTBYTE_PRIVATE_TARGETS": _LOOPBACK}

    @property
    def of_service(self) -> dict[str, str]:
        return self.of_both | ({"FIRSTBYTE_SLACK_ORIGINS": self.slack} if self.slack else {})

    @property
    def of_agents(self) -> dict[str, str]:
        return self.of_both | ({"FIRSTBYTE_CA_FILE": str(self.authority)} if self.authority else {})


@contextmanager
def whole_service(folder: Path, outside: Outside) -> Iterator[Whole]:
    """Everything running and ready."""
    with ExitStack() as stack:
        database = stack.enter_context(testing.postgres())
        broker = stack.enter_context(testing.redis(acl_file=True))
        port = free_port()
        service = _clean_environment() | database | {
            "FIRSTBYTE_REDIS_URL": broker,
            "FIRSTBYTE_SECRET_KEY": "only-for-tests-" * 5,
            "FIRSTBYTE_FERNET_KEYS": Fernet.generate_key().decode(),
            "FIRSTBYTE_BASE_URL": f"http://127.0.0.1:{port}",
            "FIRSTBYTE_MEDIA_ROOT": str(folder / "media"),
            "DJANGO_SETTINGS_MODULE": "backend.settings",
        } | outside.of_service  # fmt: skip
        whole = Whole(environment=service, url=f"http://127.0.0.1:{port}", folder=folder)
        regions = _set_up(whole)
        _plan(whole, port, regions, outside)
        stack.callback(_end, whole)
        for name in whole.commands:
            whole.start(name)
        wait_until(whole.answers, "the web server", timeout_s=_PATIENCE_S)
        wait_until(
            lambda: len(whole.rows("SELECT 1 FROM fleet_agent")) == len(REGIONS), "the agents", timeout_s=_PATIENCE_S
        )
        yield whole


def descendants(pid: int) -> list[int]:
    """All processes below this one that live now."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _set_up(whole: Whole) -> list[dict[str, Any]]:
    named = [f"--region={code}={name}" for code, name in REGIONS.items()]
    schema = [["migrate", "--verbosity", "0"], ["partitions"]]
    document = json.loads(whole.manage_several(*schema, ["bootstrap", "--email", EMAIL, *named, "--json"])[-1])
    whole.password = document["admin"]["password"]
    regions: list[dict[str, Any]] = document["regions"]
    return regions


def _plan(whole: Whole, port: int, regions: list[dict[str, Any]], outside: Outside) -> None:
    gunicorn = [sys.executable, "-m", "gunicorn", "backend.wsgi", "--bind", f"127.0.0.1:{port}"]
    manage = [sys.executable, "manage.py"]
    whole.commands["web"] = ([*gunicorn, "--worker-class", "gthread", "--threads", "8"], whole.environment)
    for name in ("scheduler", "sweeper", "judge"):
        whole.commands[name] = ([*manage, name], whole.environment)
    for region in regions:
        spool = whole.folder / f"spool-{region['code']}"
        environment = _clean_environment() | outside.of_agents | {
            "FIRSTBYTE_REGION": region["code"],
            "FIRSTBYTE_SERVICE_URL": whole.url,
            "FIRSTBYTE_AGENT_TOKEN": region["agent_token"],
            "FIRSTBYTE_BROKER_URL": region["broker_url"],
            "FIRSTBYTE_SPOOL_DIR": str(spool),
            "FIRSTBYTE_AGENT_NAME": f"agent-{region['code']}",
        }  # fmt: skip
        whole.commands[f"agent-{region['code']}"] = ([sys.executable, "-m", "workers.cli", "agent"], environment)


def _end(whole: Whole) -> None:
    for name in whole.processes:
        whole.kill(name)


def _clean_environment() -> dict[str, str]:
    """Ours without the settings of another service that may be around."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FIRSTBYTE_", "DJANGO_"))}
