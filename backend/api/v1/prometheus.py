"""What was measured last, for Prometheus: under the names of blackbox_exporter where it has them.

Values are those of the newest run of each monitor in each region, read when they are asked for. What was not measured
has no sample, never 0. Units are seconds, bytes and counts. Of a pair, which has two of everything, the difference is
told that its verdict goes by. A failed run is no outage yet: what the judge is sure of is told by site.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.http import HttpResponse
from django.utils import timezone
from ninja import Router
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from backend.accounts.permissions import Scope
from backend.alerts.queries.uptime import going_on
from backend.alerts.states import State
from backend.api.v1.access import ApiRequest, needs
from backend.compare.models import StoredVerdict
from backend.compare.queries import verdicts_now
from backend.runs.models import Outcome
from backend.runs.queries import LatestRun, latest_runs
from backend.sites.models import Site
from workers.diagnosis.pair.samples import Verdict
from workers.measurement.messages import Kind

router = Router(tags=["Metrics"])

LABELS = ("site", "monitor", "kind", "region")
CONTENT = {"text/plain": {"schema": {"type": "string"}}}
_US_PER_S = 1_000_000
Value = Callable[[LatestRun], float | None]


class Gauge(NamedTuple):
    """One metric: what it is called, what it is, and its value of a newest run."""

    name: str
    told: str
    value: Value


def _of(column: str) -> Value:
    return lambda one: getattr(one.run, column)


def _of_load(column: str) -> Value:
    """Of a page that other work of the machine held up it says nothing."""
    return lambda one: None if one.run.contended else getattr(one.run, column)


def _seconds(column: str) -> Value:
    def value(one: LatestRun) -> float | None:
        us = _of_load(column)(one)
        return None if us is None else us / _US_PER_S

    return value


def _followed(timing: str) -> Value:
    def value(one: LatestRun) -> float | None:
        is_told = timing in one.monitor.user_timings and not one.run.contended
        us: int | None = (one.run.timings or {}).get(timing) if is_told else None
        return None if us is None else us / _US_PER_S

    return value


def _seconds_of(column: str) -> Callable[[StoredVerdict], float | None]:
    def value(verdict: StoredVerdict) -> float | None:
        us: int | None = getattr(verdict, column)
        return None if us is None else us / _US_PER_S

    return value


def _is_cdn_slower(verdict: StoredVerdict) -> float | None:
    """None where that cannot be said."""
    return None if verdict.verdict == Verdict.INCONCLUSIVE else float(verdict.verdict == Verdict.ORIGIN_FASTER)


def _is_measured(one: LatestRun) -> float:
    return one.run.outcome == Outcome.MEASURED


def _due_s(one: LatestRun) -> float:
    return one.run.scheduled_for.timestamp()


def _certificate_ends_s(one: LatestRun) -> float | None:
    return None if one.certificate_ends is None else one.certificate_ends.timestamp()


GAUGES = (
    Gauge("probe_success", "Whether it could be measured.", _is_measured),
    Gauge("firstbyte_run_timestamp_seconds", "When the run was due.", _due_s),
    Gauge("probe_duration_seconds", "From the first request to the last byte.", _seconds("total_us")),
    Gauge("probe_dns_lookup_time_seconds", "The lookup of the name.", _seconds("dns_us")),
    Gauge("probe_ssl_earliest_cert_expiry", "When the certificate of its host ends.", _certificate_ends_s),
    Gauge("probe_http_status_code", "The status of the last answer.", _of("status_code")),
    Gauge("firstbyte_ttfb_seconds", "From the first request to the first byte.", _seconds("ttfb_us")),
    Gauge("firstbyte_rtt_seconds", "The round trip to the server.", _seconds("rtt_us")),
    Gauge("firstbyte_fcp_seconds", "First contentful paint.", _seconds("fcp_us")),
    Gauge("firstbyte_lcp_seconds", "Largest contentful paint.", _seconds("lcp_us")),
    Gauge("firstbyte_load_seconds", "The load event.", _seconds("load_us")),
    Gauge("firstbyte_fully_loaded_seconds", "The last byte before the network was quiet.", _seconds("fully_loaded_us")),
    Gauge("firstbyte_start_render_seconds", "The first change of the screen.", _seconds("start_render_us")),
    Gauge("firstbyte_speed_index_seconds", "The mean time at which the screen was filled.", _seconds("speed_index_us")),
    Gauge("firstbyte_tbt_seconds", "What tasks of the main thread took beyond 50 ms.", _seconds("tbt_us")),
    Gauge("firstbyte_cls", "Cumulative layout shift.", _of_load("cls")),
    Gauge("firstbyte_requests", "Requests of the page.", _of("requests")),
    Gauge("firstbyte_transferred_bytes", "What came over the network.", _of("bytes")),
)
# Of the last hop, or a page's own request; `processing` is from the request sent to the first byte.
PHASES = {
    "resolve": _seconds("dns_us"),
    "connect": _seconds("connect_us"),
    "tls": _seconds("tls_us"),
    "processing": _seconds("wait_us"),
    "transfer": _seconds("download_us"),
}
PAIR_LABELS = ("site", "pair", "region")
# Over fresh connections, within the last 24 hours; below 0 the CDN is the faster one. `region` is empty over all.
PAIR_GAUGES: Mapping[str, tuple[str, Callable[[StoredVerdict], float | None]]] = {
    "firstbyte_pair_difference_seconds": ("The CDN's time less the origin's.", _seconds_of("estimate_us")),
    "firstbyte_pair_difference_low_seconds": ("The least that it may be.", _seconds_of("low_us")),
    "firstbyte_pair_difference_high_seconds": ("The most that it may be.", _seconds_of("high_us")),
    "firstbyte_pair_cdn_slower": ("Whether the CDN is surely the slower one.", _is_cdn_slower),
}


SITE_LABELS = ("site", "site_id")
SITE_GAUGES: Mapping[str, tuple[str, Callable[[Collection[State]], bool]]] = {
    "firstbyte_site_down": ("Whether it is surely down.", lambda states: State.FAILING in states),
    "firstbyte_site_partly_down": (
        "Whether it is surely down from some regions only.",
        lambda states: State.DEGRADED in states and State.FAILING not in states,
    ),
}


@router.get(
    "/metrics",
    auth=needs(Scope.READ),
    openapi_extra={"responses": {200: {"description": "Prometheus' text format, or OpenMetrics.", "content": CONTENT}}},
)
def get_metrics(request: ApiRequest) -> HttpResponse:
    """The newest values of each probe and page in each region, which sites are down, and how much slower each CDN is
    than its origin, for Prometheus to scrape with a token that may read.

    Samples end when nothing was measured for two intervals. A page that other work of the agent's machine held up has
    no durations.
    """
    organisation, now = request.caller.organisation, timezone.now()
    found = [one for one in latest_runs(organisation, now=now) if one.run.kind != Kind.PAIR]
    registry = CollectorRegistry()
    registry.register(_Latest(found))
    registry.register(_Sites({one.monitor.site for one in found}, going_on(organisation)))
    registry.register(_Pairs(verdicts_now(organisation, now)))
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


class _Latest(Collector):
    def __init__(self, found: Sequence[LatestRun]) -> None:
        self._found = found

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for gauge in GAUGES:
            family = GaugeMetricFamily(gauge.name, gauge.told, labels=LABELS)
            self._fill(family, gauge.value)
            yield family
        phases = GaugeMetricFamily("probe_http_duration_seconds", "Each phase.", labels=(*LABELS, "phase"))
        for phase, value in PHASES.items():
            self._fill(phases, value, phase)
        yield phases
        timings = GaugeMetricFamily(
            "firstbyte_user_timing_seconds",
            "What the page measures itself, of what is followed.",
            labels=(*LABELS, "timing"),
        )
        for name in sorted({name for one in self._found for name in one.monitor.user_timings}):
            self._fill(timings, _followed(name), name)
        yield timings

    def _fill(self, family: GaugeMetricFamily, value: Value, *more: str) -> None:
        for one in self._found:
            seen = value(one)
            if seen is not None:
                monitor = one.monitor
                labels = (monitor.site.name, str(monitor.public_id), monitor.kind, one.region.code)
                family.add_metric((*labels, *more), seen)


class _Sites(Collector):
    def __init__(self, sites: Collection[Site], going_on: Mapping[int, Collection[State]]) -> None:
        self._sites, self._going_on = sites, going_on

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (told, is_so) in SITE_GAUGES.items():
            family = GaugeMetricFamily(name, told, labels=SITE_LABELS)
            for site in sorted(self._sites, key=lambda one: one.pk):
                family.add_metric((site.name, str(site.public_id)), is_so(self._going_on.get(site.pk, ())))
            yield family


class _Pairs(Collector):
    def __init__(self, verdicts: Sequence[StoredVerdict]) -> None:
        self._verdicts = verdicts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (told, value) in PAIR_GAUGES.items():
            family = GaugeMetricFamily(name, told, labels=PAIR_LABELS)
            for one in self._verdicts:
                seen = value(one)
                if seen is not None:
                    region = one.region.code if one.region else ""
                    family.add_metric((one.pairing.site.name, one.pairing.name, region), seen)
            yield family
