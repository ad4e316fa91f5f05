"""What the platform asks: does the process live, can it serve, how is the whole."""

import hmac
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from psycopg.errors import DiskFull

from backend.alerts.models import Watch
from backend.fleet.queries import Health, all_regions
from backend.metrics import ServiceCollector
from backend.runs.broker import BrokerError, memory, ping
from backend.runs.models import Schedule

# A scheduler claims what is due within a second, a judge looks within a few; a minute behind, it is not there.
BEHIND = timedelta(minutes=1)
# Of the broker's memory; beyond all of it no run is published.
NEARLY_FULL_PERCENT = 75
# Rows for which it has no memory PostgreSQL writes where its tables are: 0.8 MB, and nothing of it stays.
_MEMORY = "64kB"
_ROWS = "SELECT count(*) FROM generate_series(1, 60000)"


@login_not_required
@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """The process answers. It asks nobody else, so that it is not restarted for another's fault."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Database, migrations and broker: 503 while one of them is not as it must be."""
    checks = _checks()
    ready = all(state == "ok" for state in checks.values())
    return JsonResponse({"status": "ok" if ready else "unavailable"} | checks, status=200 if ready else 503)


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The same, and whether work goes on: the room of database and broker, the pace of scheduler and judge, and how
    many regions are heard.
    """
    checks = _checks()
    if checks["database"] == "ok":
        checks["database_disk"] = _state(_ask_disk, DatabaseError)
    if checks["broker"] == "ok":
        checks["broker_memory"] = _state(_ask_memory, BrokerError)
    if checks["database"] == "ok" and checks["migrations"] == "ok":
        checks |= {"scheduler": _scheduler(), "judge": _judge(), "regions": _regions()}
    fault = any(checks.get(name) != "ok" for name in ("database", "database_disk", "migrations", "broker"))
    degraded = fault or any(checks.get(name) != "ok" for name in ("broker_memory", "scheduler", "judge"))
    return JsonResponse({"status": "degraded" if degraded else "ok"} | checks, status=503 if fault else 200)


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus. Beyond loopback it wants the token, since region names and load are nobody's business."""
    if not _may_read_metrics(request):
        return HttpResponse("Send the value of FIRSTBYTE_METRICS_TOKEN as a Bearer token.\n", status=403)
    registry = CollectorRegistry()
    registry.register(ServiceCollector(now=timezone.now))
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _may_read_metrics(request: HttpRequest) -> bool:
    if not settings.METRICS_TOKEN:
        return bool(settings.CONFIG.loopback)
    given = request.headers.get("Authorization", "").encode()
    return hmac.compare_digest(given, f"Bearer {settings.METRICS_TOKEN}".encode())


def _checks() -> dict[str, str]:
    database = _state(_ask_database, DatabaseError)
    migrations = _state(_ask_migrations, DatabaseError) if database == "ok" else "unknown"
    return {"database": database, "migrations": migrations, "broker": _state(_ask_broker, BrokerError)}


def _state(ask: Callable[[], str], fault: type[Exception]) -> str:
    """The answer, or that there was none. What exactly went wrong is for the log, not for the world."""
    try:
        return ask()
    except fault:
        return "unreachable"


def _ask_database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _ask_disk() -> str:
    """Whether the database can write: on a full disk it goes on to read, and to change what has room where it is."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('work_mem', %s, true)", [_MEMORY])
            cursor.execute(_ROWS)
    except OperationalError as error:
        if isinstance(error.__cause__, DiskFull):
            return "full"
        raise
    return "ok"


def _ask_migrations() -> str:
    executor = MigrationExecutor(connection)
    return "pending" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def _ask_broker() -> str:
    ping()
    return "ok"


def _ask_memory() -> str:
    return "ok" if memory().percent < NEARLY_FULL_PERCENT else "nearly full"


def _scheduler() -> str:
    first = Schedule.objects.filter(enabled=True).order_by("next_at").values_list("next_at", flat=True).first()
    return "ok" if first is None or timezone.now() - first < BEHIND else "behind"


def _judge() -> str:
    first = Watch.objects.order_by("due_at").values_list("due_at", flat=True).first()
    return "ok" if first is None or timezone.now() - first < BEHIND else "behind"


def _regions() -> str:
    states = all_regions(now=timezone.now())
    online = sum(state.health in (Health.ONLINE, Health.LATE) for state in states)
    emptied = sum(state.region.emptied_at is not None for state in states)
    return f"{online} of {len(states)} online" + (f", {emptied} filled the broker" if emptied else "")
