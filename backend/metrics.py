"""What Prometheus is told, read at the moment it asks: so every web process tells the same, and none keeps counts.

Units are seconds and counts. No URL is a label.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from backend.alerts.models import Delivery, DeliveryState, Incident, Watch
from backend.fleet.queries import OFFLINE_AFTER, Health, RegionState, all_regions
from backend.runs.broker import BrokerError, memory
from backend.runs.models import PendingRun, Run
from backend.sites.models import MonitorKind
from backend.web.queues import RegionQueues, queues_of

# Short enough to be counted at once where a hundred thousand schedules run every minute.
RECENT = timedelta(minutes=5)
_RECENT_MINUTES = RECENT // timedelta(minutes=1)


class ServiceCollector(Collector):
    """All gauges of the service. Raises DatabaseError when the database is away: no figures, rather than wrong ones."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        now = self._now()
        states = all_regions(now=now)
        queues = queues_of([state.region for state in states], now=now)
        yield _gauge("firstbyte_broker_up", "Whether the broker answers.", 0 if queues is None else 1)
        yield from _memory()
        yield from _agents(states, now)
        yield from _queues(queues or {})
        yield from _runs(now)
        yield from _alerts(now)


def _memory() -> Iterator[GaugeMetricFamily]:
    try:
        ratio = round(memory().percent / 100, 2)
    except BrokerError:
        return
    yield _gauge(
        "firstbyte_broker_memory_ratio", "How much of its memory the broker uses; at 1 it takes no run.", ratio
    )


def _agents(states: list[RegionState], now: datetime) -> Iterator[GaugeMetricFamily]:
    alive_s = OFFLINE_AFTER.total_seconds()
    alive = GaugeMetricFamily("firstbyte_agents_alive", f"Agents heard in the last {alive_s:.0f} s.", labels=["region"])
    silent = GaugeMetricFamily(
        "firstbyte_agent_last_seen_seconds", "Since the last heartbeat of the region's newest agent.", labels=["region"]
    )
    for state in states:
        lively = sum(agent.health in (Health.ONLINE, Health.LATE) for agent in state.agents)
        alive.add_metric([state.region.code], lively)
        if state.last_seen_at is not None:
            silent.add_metric([state.region.code], (now - state.last_seen_at).total_seconds())
    yield alive
    yield silent


def _queues(queues: dict[str, RegionQueues]) -> Iterator[GaugeMetricFamily]:
    labels = ["region", "kind", "lane"]
    length = GaugeMetricFamily("firstbyte_queue_length", "Runs published and not yet taken.", labels=labels)
    age = GaugeMetricFamily("firstbyte_queue_age_seconds", "How long the oldest of them waits.", labels=labels)
    for code, region in queues.items():
        for queue in region.queues:
            values = [code, queue.kind, queue.lane]
            length.add_metric(values, queue.length)
            age.add_metric(values, queue.age_s or 0)
    yield length
    yield age


def _runs(now: datetime) -> Iterator[GaugeMetricFamily]:
    pending = PendingRun.objects.all()
    yield _gauge("firstbyte_runs_unpublished", "Runs in the outbox.", pending.filter(published_at=None).count())
    yield _gauge("firstbyte_runs_running", "Runs that an agent holds.", pending.exclude(agent="").count())
    ended = GaugeMetricFamily(
        "firstbyte_runs_ended_recently",
        f"Runs due in the last {_RECENT_MINUTES} minutes, by how they ended.",
        labels=["outcome", "reason"],
    )
    recent = Run.objects.filter(scheduled_for__gte=now - RECENT)
    disturbed = 0
    for outcome, reason, count, contended in (
        recent.values_list("outcome", "missed_reason")
        .annotate(count=Count("run_id"), contended=Count("run_id", filter=Q(contended=True, kind=MonitorKind.PAGE)))
        .order_by("outcome", "missed_reason")
    ):
        ended.add_metric([outcome, reason or ""], count)
        disturbed += contended
    yield ended
    yield _gauge(
        "firstbyte_pages_contended_recently",
        f"Page loads due in the last {_RECENT_MINUTES} minutes that other work of their agents' machines disturbed.",
        disturbed,
    )


def _alerts(now: datetime) -> Iterator[GaugeMetricFamily]:
    due = Watch.objects.filter(due_at__lte=now).aggregate(oldest=Min("due_at"))["oldest"]
    behind_s = 0 if due is None else (now - due).total_seconds()
    yield _gauge("firstbyte_judge_behind_seconds", "How long the monitor that waits longest is due.", behind_s)
    yield _gauge(
        "firstbyte_incidents_open", "Incidents that are open.", Incident.objects.filter(resolved_at=None).count()
    )
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING)
    yield _gauge("firstbyte_notices_waiting", "Messages that a channel has not taken yet.", waiting.count())


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)
