"""What the database's container runs: its script, on a real PostgreSQL."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from backend.testing import START_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "postgres.Dockerfile").read_text()
SCRIPT = (ROOT / "deploy" / "compose" / "start-postgres").read_text()


def test_the_database_ends_as_it_should_although_the_service_holds_connections() -> None:
    """Docker's usual signal lets it wait for them until it is killed, and refuse whoever comes meanwhile."""
    (word,) = re.findall(r"^STOPSIGNAL (\w+)$", DOCKERFILE, re.MULTILINE) or ["SIGTERM"]
    with started() as (server, folder), psycopg.connect(connection(folder)):
        server.send_signal(signal.Signals[word])
        assert server.wait(START_S) == 0


def connection(folder: Path) -> str:
    return f"host={folder} dbname=firstbyte user=firstbyte password=secret connect_timeout=5"


@contextmanager
def started() -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A new database in a folder that is gone afterwards, and with a socket in it alone."""
    with tempfile.TemporaryDirectory(prefix="fb-db-", ignore_cleanup_errors=True) as name:
        folder, user = Path(name), "postgres" if os.geteuid() == 0 else None
        (folder / "db_password").write_text("secret")
        script = SCRIPT.replace('listen_addresses="*"', "listen_addresses=").replace("/tmp", name)
        (folder / "start").write_text(script.replace("/var/lib/firstbyte", name).replace("/run/firstbyte", name))
        if user:
            shutil.chown(folder, user)
        binaries = [str(path.parent) for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
        environment = {"PATH": ":".join([*binaries, os.environ["PATH"]]), "LC_ALL": "C.UTF-8"}
        with subprocess.Popen(
            ["/bin/sh", folder / "start"], cwd=folder, env=environment, user=user, stderr=subprocess.DEVNULL
        ) as server:
            try:
                wait_until(lambda: takes_connections(folder), "the database to take connections")
                yield server, folder
            finally:
                server.kill()


def takes_connections(folder: Path) -> bool:
    try:
        psycopg.connect(connection(folder)).close()
    except psycopg.OperationalError:
        return False
    return True
