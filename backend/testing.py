"""Throw-away servers for tests: a PostgreSQL and a Redis that are gone afterwards."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

# Patience costs nothing where all is well, and a machine may have much else to do.
START_S = 120


@contextmanager
def postgres() -> Iterator[dict[str, str]]:
    """The environment of a cluster that is gone afterwards. It syncs nothing: losing it is its purpose."""
    with tempfile.TemporaryDirectory(prefix="fb-pg-", ignore_cleanup_errors=True) as folder:
        user = _unprivileged()
        if user:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        _run(
            user,
            str(_binary("initdb")),
            "-D",
            data,
            "-U",
            "firstbyte",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        )
        _start_postgres(folder)
        try:
            yield {"FIRSTBYTE_DB_HOST": folder, "FIRSTBYTE_DB_USER": "firstbyte", "FIRSTBYTE_DB_NAME": "postgres"}
        finally:
            _run(user, str(_binary("pg_ctl")), "-D", data, "-m", "immediate", "stop")


def crash_postgres(folder: str) -> None:
    """Kills the server of `postgres()` in that folder with all its processes, as kill -9 does, and starts it again."""
    postmaster = int(Path(folder, "data", "postmaster.pid").read_text().split("\n")[0])
    # Held still it has no further children, and those that die stay to be counted: none lives on with its memory.
    os.kill(postmaster, signal.SIGSTOP)
    wait_until(lambda: _is_stopped(postmaster), "PostgreSQL to stand still")
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    killed = [*map(int, children), postmaster]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in killed), "PostgreSQL to be gone")
    _start_postgres(folder)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def _start_postgres(folder: str) -> None:
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c full_page_writes=off"
    pg_ctl = [str(_binary("pg_ctl")), "-D", f"{folder}/data", "-w", "-t", str(START_S)]
    _run(_unprivileged(), *pg_ctl, "-l", f"{folder}/log", "-o", options, "start")


@contextmanager
def redis(*, acl_file: bool = False) -> Iterator[str]:
    """The URL of a Redis on a unix socket that is gone afterwards; with `acl_file` it can save accounts."""
    with tempfile.TemporaryDirectory(prefix="fb-redis-", ignore_cleanup_errors=True) as folder:
        path, accounts = Path(folder) / "redis.sock", Path(folder) / "users.acl"
        accounts.write_text("user default on nopass ~* &* +@all\n")
        arguments = ["--aclfile", str(accounts)] if acl_file else []
        command = [
            "redis-server",
            "--port",
            "0",
            "--unixsocket",
            str(path),
            "--save",
            "",
            "--dir",
            folder,
            *arguments,
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: _takes_connections(path), "redis-server to listen")
                yield f"unix://{path}?db=0"
            finally:
                process.terminate()


def _takes_connections(path: Path) -> bool:
    """Whether a server listens on the socket, which is there a moment before."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = START_S) -> None:
    """Returns once the condition holds. Raises TimeoutError that names what was waited for."""
    deadline = monotonic() + timeout_s
    while not condition():
        if monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s for {what}")
        sleep(0.02)


def _binary(name: str) -> Path:
    found = shutil.which(name)
    if found:
        return Path(found)
    return max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))


def _unprivileged() -> str | None:
    """Whom a server runs as that refuses root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    return "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"


def _run(user: str | None, *command: str) -> None:
    done = subprocess.run(
        command,
        user=user,
        extra_groups=[] if user else None,
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"{command[0]} ended with {done.returncode}:\n{done.stdout.decode(errors='replace')[-2000:]}"
        )
