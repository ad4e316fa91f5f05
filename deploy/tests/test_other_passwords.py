"""Other passwords for the database and the broker, as the document shows it, on a real PostgreSQL and a real Redis."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from backend.testing import START_S, wait_until
from workers.tests.rig import command

ROOT = Path(__file__).resolve().parents[2]
TITLE = "### Other passwords of database, broker and bucket\n"
NAMES = ("db_password", "redis_password")
# Each container is a folder here: what is run in one is run with these paths, and finds the broker by its socket.
DOCKER = """#!/bin/bash
until [ "$1" = sh ]; do [ "$1" != up ] || exit 0; shift; done
moved="s|/tmp|$PLACE/db|g; s|/run/firstbyte|$PLACE/secrets|g; s|/srv/firstbyte/deploy/compose|$PLACE|g"
exec sh -c "$(sed "$moved" <<<"$3")"
"""
REDIS_CLI = """#!/bin/sh
exec /usr/bin/redis-cli -s "$PLACE/redis/socket" "$@"
"""


class Composition:
    """Secrets, database and broker of a composition, by its own scripts, in one folder."""

    def __init__(self, place: Path) -> None:
        self.place, self.socket = place, f"{place}/redis/socket"
        self._user = "postgres" if os.geteuid() == 0 else None
        binaries = str(next(Path("/usr/lib/postgresql").glob("*/bin")))
        self.environment = {"PATH": f"{place}:{binaries}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PLACE": str(place)}
        for name in ("secrets", "db", "redis"):
            (place / name).mkdir()
        for script in ("make-secrets", "start-postgres", "start-redis"):
            self._put(script, self._moved(script, (ROOT / "deploy" / "compose" / script).read_text()))
        self._put("docker", DOCKER)
        self._put("redis-cli", REDIS_CLI)
        subprocess.run([place / "make-secrets"], env=self.environment, check=True)
        if self._user:
            for path in (place, place / "db", place / "redis"):
                shutil.chown(path, self._user)

    def _put(self, name: str, text: str) -> None:
        (self.place / name).write_text(text)
        (self.place / name).chmod(0o755)

    def _moved(self, script: str, text: str) -> str:
        data = self.place / script.removeprefix("start-").replace("postgres", "db")
        text = text.replace("/tmp", str(self.place / "db")).replace('listen_addresses="*"', "listen_addresses=")
        text = text.replace("/var/lib/firstbyte", str(data)).replace("/run/firstbyte", str(self.place / "secrets"))
        return text.replace("--bind '*'", f"--port 0 --unixsocket {data}/socket")

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Database and broker, until both are to end."""
        servers = [
            subprocess.Popen(
                [self.place / script],
                env=self.environment,
                user=self._user,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for script in ("start-postgres", "start-redis")
        ]
        try:
            wait_until(lambda: self._is_served_by(servers), "database and broker")
            yield
        finally:
            for server in servers:
                # As Docker does (STOPSIGNAL): while a process of a killed database lives, none begins in its place.
                server.send_signal(signal.SIGINT)
                server.wait(START_S)

    def _is_served_by(self, servers: "Sequence[subprocess.Popen[bytes]]") -> bool:
        assert [server.poll() for server in servers] == [None, None], "the database or the broker has ended"
        return self.takes(*self.passwords()) == (True, True)

    def passwords(self) -> tuple[str, str]:
        database, broker = ((self.place / "secrets" / name).read_text() for name in NAMES)
        return database, broker

    def takes(self, database: str, broker: str) -> tuple[bool, bool]:
        """Whether the database and the broker are entered with these passwords."""
        login = f"host={self.place}/db dbname=firstbyte user=firstbyte password={database}"
        client = redis.Redis(unix_socket_path=self.socket, password=broker)
        return enters(lambda: psycopg.connect(login).close()), enters(client.ping)


def enters(enter: Callable[[], object]) -> bool:
    try:
        enter()
    except (psycopg.OperationalError, redis.RedisError):
        return False
    return True


@pytest.fixture
def composition() -> Iterator[Composition]:
    with tempfile.TemporaryDirectory(prefix="fb-pw-", ignore_cleanup_errors=True) as name:
        yield Composition(Path(name))


def shown() -> str:
    section = (ROOT / "deploy" / "README.md").read_text().split(TITLE)[1]
    return section.split("```\n")[1]


def test_the_new_passwords_count_and_the_old_ones_no_more_after_a_restart_too(composition: Composition) -> None:
    before = composition.passwords()
    with composition.serving():
        admin = redis.Redis(unix_socket_path=composition.socket, password=before[1])
        command(admin, "ACL", "SETUSER", "region-eu", "on", ">secret", "+ping")
        subprocess.run(["bash", "-euc", shown()], env=composition.environment, check=True, timeout=START_S)
        after = composition.passwords()
        assert composition.takes(*after) == (True, True)
        assert composition.takes(*before) == (False, False)
    with composition.serving():
        assert composition.takes(*before) == (False, False)
        assert redis.Redis(unix_socket_path=composition.socket, username="region-eu", password="secret").ping()
    assert after[1].replace("=", "%3D") in (composition.place / "secrets" / "redis_url").read_text()
    assert not list((composition.place / "secrets").glob("*.old"))
