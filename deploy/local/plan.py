"""What runs on this machine, in the order it starts; and the process that keeps it running."""

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from deploy.local import environment, fleet, servers
from deploy.local.demo import demo
from deploy.local.places import Places, make_sockets
from deploy.local.process import StepError
from deploy.local.settings import Settings, read_settings
from deploy.local.state import Phase, Report, held
from deploy.local.supervisor import Service, Supervisor

# What the person who waits reads while a service gets ready.
TITLES = {
    "postgres": "PostgreSQL",
    "redis": "Redis",
    "demo": "demo sites",
    "service": "database schema, regions and the service",
    **{f"agent-{code}": f"agent of {name}" for code, name in fleet.REGIONS.items()},
}


def plan(places: Places, settings: Settings) -> Iterator[Service]:
    """Every service after what it needs. Each is drawn up when those before are ready: agents need what web makes."""
    yield servers.postgres(places)
    yield servers.redis(places)
    yield demo(places, settings)
    yield _service(places, settings)
    for region in fleet.REGIONS:
        yield _agent(places, settings, region)


def supervise(places: Places) -> int:
    """Runs everything until told to stop; the exit code. Raises StepError, AlreadyRunningError."""
    settings = read_settings(places.settings)
    if settings is None:
        raise StepError(f"There is no {places.settings}. Run ./dev up.")
    with held(places.lock, "The services of this checkout run already."):
        report = Report(places.status)
        report.write(Phase.STARTING, None, ())
        make_sockets(places)
        try:
            return Supervisor(plan(places, settings), places.logs, report).run()
        finally:
            for left in places.sockets.iterdir():
                left.unlink()
            places.sockets.rmdir()


def _service(places: Places, settings: Settings) -> Service:
    web = [f"--bind=127.0.0.1:{settings.web_port}", "--worker-class=gthread", "--threads=16", "--keep-alive=30"]
    return Service(
        name="service",
        command=[str(places.python), "manage.py", "service", "--", *web, "--no-control-socket"],
        env=environment.service(places, settings),
        cwd=places.code,
        prepare=partial(_prepare_service, places, settings),
        ready=lambda: _answers(f"{settings.base_url}/readyz"),
    )


def _prepare_service(places: Places, settings: Settings) -> None:
    servers.create_database(places)
    fleet.prepare(places, settings)


def _agent(places: Places, settings: Settings, region: str) -> Service:
    env = environment.agent(places, settings, region, fleet.credentials(places.fleet, region))
    Path(env["FIRSTBYTE_SPOOL_DIR"]).mkdir(mode=0o700, parents=True, exist_ok=True)
    return Service(
        name=f"agent-{region}",
        command=[str(places.python), "-m", "workers.cli", "agent"],
        env=env,
        cwd=places.code,
        # It finishes what it measures.
        stop_within_s=45,
    )


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main(arguments: list[str]) -> int:
    """`python -m deploy.local.plan FOLDER`: what ./dev up leaves running."""
    try:
        return supervise(Places(code=Path(arguments[0])))
    except StepError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
