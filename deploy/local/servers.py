"""The project's own PostgreSQL and Redis: without ports, on unix sockets in a folder that only their owner enters."""

import os
import pwd
import signal
import socket
import subprocess
from pathlib import Path

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.process import StepError, run_step
from deploy.local.supervisor import Service

_POSTGRESQL = Path("/usr/lib/postgresql")
# A laptop's share: the working set of a demo is small, and the services are promised to fit in 700 MB together.
_POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "64MB",
    "max_connections": "40",
    "max_worker_processes": "2",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


def postgres(places: Places) -> Service:
    """PostgreSQL; it makes its cluster before its first start and speaks to its own user only (peer)."""
    data = places.state / "postgres"
    binaries = _postgres_binaries(data)
    settings = _POSTGRES_SETTINGS | {"unix_socket_directories": str(places.sockets)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Service(
        name="postgres",
        command=[str(binaries / "postgres"), "-D", str(data), *options],
        env=environment.base(places),
        cwd=places.state,
        prepare=lambda: _make_cluster(places, data),
        ready=lambda: _takes_connections(binaries, places.sockets),
        # "Fast": ends sessions instead of waiting for them.
        stop_signal=signal.SIGINT,
        stop_within_s=30,
    )


def redis(places: Places) -> Service:
    """Redis; each region's account is kept in an ACL file, and every change in an append-only file."""
    data = places.state / "redis"
    path = places.sockets / "redis.sock"
    # maxmemory is for a runaway queue: writers then get an error instead of the machine running out. What is in no
    # queue, as a message that never ends, is bounded by ending the connections that hold the most.
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(data),
        "appendonly": "yes",
        "save": "",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
        "maxmemory-clients": "25%",
        "aclfile": str(data / "users.acl"),
    }
    return Service(
        name="redis",
        command=["/usr/bin/redis-server", *(word for name, value in options.items() for word in (f"--{name}", value))],
        env=environment.base(places),
        cwd=places.state,
        prepare=lambda: _make_redis_files(data),
        ready=lambda: _answers_ping(path),
    )


def create_database(places: Places) -> None:
    """Makes the database unless it is there. Raises StepError."""
    binaries = _postgres_binaries(places.state / "postgres")
    login = ["--host", str(places.sockets), "--username", "firstbyte", "--no-password"]
    query = "SELECT 1 FROM pg_database WHERE datname = 'firstbyte'"
    env = environment.base(places)
    there = run_step(
        [binaries / "psql", *login, "--dbname", "postgres", "-tAc", query],
        env=env,
        cwd=places.state,
        what="Asking PostgreSQL",
    )
    if not there.strip():
        run_step([binaries / "createdb", *login, "firstbyte"], env=env, cwd=places.state, what="Making the database")


def _make_cluster(places: Places, data: Path) -> None:
    if (data / "PG_VERSION").exists():
        return
    command = [_postgres_binaries(data) / "initdb", "-D", data, "-U", "firstbyte", "-E", "UTF8", "--locale=C.UTF-8"]
    options = ["--auth-local=peer", "--auth-host=reject", "--no-instructions"]
    run_step([*command, *options], env=environment.base(places), cwd=places.state, what="Making the database cluster")
    # The database user has the product's name whatever the name of the user who runs it.
    (data / "pg_hba.conf").write_text("local all all peer map=firstbyte\n")
    (data / "pg_ident.conf").write_text(f"firstbyte {pwd.getpwuid(os.geteuid()).pw_name} firstbyte\n")


def _postgres_binaries(data: Path) -> Path:
    """The programs of the version that made the cluster, else of the newest. Raises StepError when they are gone."""
    version = data / "PG_VERSION"
    if version.exists():
        wanted = _POSTGRESQL / version.read_text().strip() / "bin"
        if not wanted.is_dir():
            maker = f"{data} was made by PostgreSQL {wanted.parent.name}, which is gone."
            raise StepError(f"{maker} Install it, or start over with ./dev reset.")
        return wanted
    found = sorted((path.parent for path in _POSTGRESQL.glob("*/bin/initdb")), key=lambda path: float(path.parent.name))
    if not found:
        raise StepError(f"There is no PostgreSQL in {_POSTGRESQL}. Run ./dev up, which installs it.")
    return found[-1]


def _takes_connections(binaries: Path, folder: Path) -> bool:
    """Not merely listens: a server that recovers from a crash refuses at first."""
    return subprocess.run([binaries / "pg_isready", "--quiet", "--host", folder]).returncode == 0


def _make_redis_files(data: Path) -> None:
    data.mkdir(mode=0o700, exist_ok=True)
    accounts = data / "users.acl"
    if not accounts.exists():
        # Only we can enter the folder of the socket. Regions get accounts of their own.
        accounts.write_text("user default on nopass ~* &* +@all\n")


def _answers_ping(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False
