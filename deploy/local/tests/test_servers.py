"""PostgreSQL and Redis as ./dev up starts them. PostgreSQL refuses root, so a test that root runs steps down."""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.places import Places, make_state
from deploy.local.process import StepError
from deploy.local.servers import postgres
from deploy.local.state import Phase, read_status
from deploy.local.tests.rig import CODE, PATIENCE_S, wait_until

SCRIPT = """
import sys
from pathlib import Path
from deploy.local import servers
from deploy.local.places import Places, make_sockets, make_state
from deploy.local.state import Report
from deploy.local.supervisor import Supervisor

places = Places(code=Path(sys.argv[1]))
make_state(places)
make_sockets(places)
sys.exit(Supervisor([servers.postgres(places), servers.redis(places)], places.logs, Report(places.status)).run())
"""


@pytest.fixture
def places() -> Iterator[Places]:
    """An installation whose owner is not root."""
    with tempfile.TemporaryDirectory(prefix="fb-servers-") as folder:
        _give(folder)
        made = Places(code=Path(folder))
        try:
            yield made
        finally:
            for left in made.sockets.glob("*") if made.sockets.exists() else ():
                left.unlink()
            made.sockets.rmdir()


@pytest.fixture
def servers(places: Places) -> Iterator[subprocess.Popen[bytes]]:
    with _run(SCRIPT, str(places.code)) as process:
        try:
            wait_until(lambda: (said := read_status(places.status)) and said.phase is Phase.RUNNING, "both servers")
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


@pytest.mark.usefixtures("servers")
def test_they_listen_on_sockets_that_only_their_owner_reaches_and_on_no_port(places: Places) -> None:
    assert oct(places.sockets.stat().st_mode & 0o777) == "0o700"
    assert {path.name for path in places.sockets.iterdir()} >= {".s.PGSQL.5432", "redis.sock"}
    assert _sql(places, "SHOW listen_addresses") == ""
    assert _redis(places, "CONFIG", "GET", "port").split() == ["port", "0"]


@pytest.mark.usefixtures("servers")
def test_the_database_is_made_once_and_keeps_what_is_written(places: Places) -> None:
    make = (
        "import sys; from pathlib import Path; from deploy.local.places import Places; from deploy.local import servers"
    )
    make += "; [servers.create_database(Places(code=Path(sys.argv[1]))) for _ in range(2)]"
    with _run(make, str(places.code)) as process:
        assert process.wait(PATIENCE_S) == 0
    assert _sql(places, "SELECT datname FROM pg_database WHERE datname = 'firstbyte'") == "firstbyte"


@pytest.mark.usefixtures("servers")
def test_accounts_of_regions_survive_in_a_file(places: Places) -> None:
    assert _redis(places, "ACL", "SETUSER", "region", "on", ">secret").strip() == "OK"
    assert _redis(places, "ACL", "SAVE").strip() == "OK"
    assert "user region on" in (places.state / "redis" / "users.acl").read_text()


def test_after_a_kill_both_start_again_and_know_what_they_knew(
    places: Places, servers: subprocess.Popen[bytes]
) -> None:
    _redis(places, "SET", "kept", "yes")
    _sql(places, "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('yes')")
    said = read_status(places.status)
    assert said is not None
    for service in said.services:
        assert service.pid is not None
        os.kill(service.pid, signal.SIGKILL)
    wait_until(lambda: _redis(places, "GET", "kept").strip() == "yes", "Redis")
    wait_until(lambda: _sql(places, "SELECT word FROM kept") == "yes", "PostgreSQL")
    assert servers.poll() is None


def test_a_cluster_of_a_version_that_is_gone_says_so(tmp_path: Path) -> None:
    places = Places(code=tmp_path)
    make_state(places)
    (places.state / "postgres").mkdir()
    (places.state / "postgres" / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(StepError, match=r"made by PostgreSQL 9\.6, which is gone"):
        postgres(places)


def _owner() -> dict[str, str]:
    """Whom servers run as: ourselves, or when that is root the user that Debian's PostgreSQL brings."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


def _give(folder: str) -> None:
    if _owner():
        entry = pwd.getpwnam("postgres")
        os.chown(folder, entry.pw_uid, entry.pw_gid)


def _run(script: str, *arguments: str) -> "subprocess.Popen[bytes]":
    # Debian's Python, which every user may run; what is tried here needs its standard library only.
    python = "/usr/bin/python3" if _owner() else sys.executable
    command, env = [python, "-B", "-c", script, *arguments], {"PATH": os.environ["PATH"]}
    return subprocess.Popen(command, cwd=CODE, env=env, umask=0o077, **_owner())  # type: ignore[call-overload, no-any-return]


def _ask(places: Places, *command: str) -> str:
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=120, **_owner())  # type: ignore[call-overload]
    return str(done.stdout)


def _sql(places: Places, query: str) -> str:
    return _ask(places, "psql", "-h", str(places.sockets), "-U", "firstbyte", "-d", "postgres", "-tAc", query).strip()


def _redis(places: Places, *words: str) -> str:
    return _ask(places, "redis-cli", "-s", f"{places.sockets}/redis.sock", *words)
