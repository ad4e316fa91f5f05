"""A site with a day of history in three regions, and agents that answer as a test says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import uuid4

import numpy as np
from django.utils import timezone

from backend.alerts.models import Incident
from backend.cast import Member
from backend.fleet.models import Agent, Listening, Region
from backend.gates.actions import create_gate
from backend.gates.models import Gate
from backend.gates.queries import GateView, gate_view
from backend.gates.questions import AskedRule, Question, Runs
from backend.gates.steps import step
from backend.runs.actions import register_site
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import make_agent, make_region
from backend.runs.tests.results import FAILED, line_of, measured
from backend.sites.models import Monitor, Site
from workers.measurement.connection import Header
from workers.measurement.messages import Measured, Outcome, PageMeasurement, ProbeMeasurement

REGIONS = ("eu", "us", "ap")
TEN = AskedRule(metric="ttfb", max_change_pct=10)
MINUTE = timedelta(minutes=1)
# Agents are not silent before a test is over, however long a busy machine takes for it.
HEARD = 10 * MINUTE
# Of a run at its usual speed.
USUAL_US = {
    "dns_us": 8_000,
    "connect_us": 20_000,
    "tls_us": 34_000,
    "send_us": 100,
    "wait_us": 137_900,
    "download_us": 8_000,
}

# What an agent sends for a run: how many times slower waiting was, or an outcome of its own.
Answer = Callable[[PendingRun], float | Outcome | None]


@dataclass(slots=True, kw_only=True)
class World:
    """A site whose first byte takes 200 ms, give or take five per cent. `leads` says where an address leads to, and
    `sets_cookie` which do so by an answer that sets a cookie."""

    member: Member
    site: Site
    regions: Mapping[str, Region]
    noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    leads: Callable[[str], str] = field(default=str)
    sets_cookie: tuple[str, ...] = ()

    def monitor(self, kind: str = "probe") -> Monitor:
        return self.site.monitors.select_related("site__organisation").get(kind=kind)

    def history(self, *, count: int = 40, kind: str = "probe", slower: float = 1.0, **fields: object) -> None:
        """So many scheduled runs a region, one every five minutes until now."""
        now, monitor = timezone.now(), self.monitor(kind)
        Run.objects.bulk_create(
            _run(monitor, region, now - 5 * MINUTE * (count - place) - MINUTE, self._values(slower) | fields)
            for region in self.regions.values()
            for place in range(count)
        )

    def view(self, gate: Gate) -> GateView:
        """The gate as members of the organisation see it."""
        found = gate_view(self.member.organisation, gate.public_id)
        assert found is not None
        return found

    def ask(self, *rules: AskedRule, **changes: object) -> Gate:
        """A gate of this site: ttfb at most 10 % slower, unless rules say otherwise; three to twelve runs."""
        usual: dict[str, object] = {"rules": rules or (TEN,), "runs": Runs(), "confidence": 0.95}
        question = Question(**usual | changes)  # type: ignore[arg-type]  # keyword by keyword is what a test wants
        user, organisation = self.member.user, self.member.organisation
        return create_gate(actor=user, organisation=organisation, site=self.site, question=question)

    def answer_all(self, answer: Answer) -> int:
        """Ends every run that gates wait for, as the agents would; how many."""
        pending = list(PendingRun.objects.filter(trigger="gate").select_related("monitor", "region"))
        for run in pending:
            said = answer(run)
            if said is not None:
                self._end(run, said)
        return len(pending)

    def play(self, gate: Gate, answer: Answer = lambda run: 1.0, *, steps: int = 60) -> Gate:
        """Steps and answers in turns until the gate has ended."""
        for _ in range(steps):
            Gate.objects.update(due_at=timezone.now())
            step()
            gate.refresh_from_db()
            if not gate.is_open:
                return gate
            self.answer_all(answer)
        raise AssertionError(f"{gate} is still open after {steps} steps")

    def silence(self, *codes: str) -> None:
        """The agents of these regions have not been heard of for two minutes."""
        Agent.objects.filter(region__code__in=codes).update(last_seen_at=timezone.now() - 2 * MINUTE)

    def listen_since(self, since: datetime) -> None:
        """The service has been away, and can hear its agents since then."""
        Listening.objects.update(since=since)

    def _end(self, run: PendingRun, said: float | Outcome) -> None:
        asked = run.url or run.monitor.url
        by = asked if asked in self.sets_cookie else None
        outcome = arrived(run, self.leads(asked), by=by) if isinstance(said, float) else said
        ingest(run.region, [line_of(run, outcome)], now=timezone.now())
        if isinstance(said, float):
            Run.objects.filter(run_id=run.run_id).update(**self._values(said), config_version=run.config_version)

    def _values(self, slower: float) -> dict[str, object]:
        values = {name: round(value * np.exp(self.noise.normal(0, 0.03))) for name, value in USUAL_US.items()}
        values["wait_us"] = round(values["wait_us"] * slower)
        first_byte = sum(value for name, value in values.items() if name != "download_us")
        total = first_byte + values["download_us"]
        return values | {"ttfb_us": first_byte, "total_us": total, "lcp_us": total + 300_000, "fcp_us": total + 90_000}


def arrived(run: PendingRun, url: str, *, by: str | None = None) -> Measured:
    """A usual result whose answer came from an address, by way of another one that set a cookie."""
    usual, setting = measured(run.kind).measurement, (Header(name="Set-Cookie", value="(redacted)"),)
    if isinstance(usual, PageMeasurement):
        first, *others = usual.waterfall.requests
        way = () if by is None else (replace(first, number=0, url=by, redirected_to=url, response_headers=setting),)
        waterfall = replace(usual.waterfall, requests=(*way, replace(first, url=url), *others))
        return Measured(measurement=replace(usual, waterfall=waterfall))
    assert isinstance(usual, ProbeMeasurement)
    last = replace(usual.hops[-1], url=url)
    hops = (last,) if by is None else (replace(last, url=by, response_headers=setting), last)
    return Measured(measurement=replace(usual, hops=hops))


def make_world(member: Member) -> World:
    """Three regions with an agent each, a service that hears them, and a registered site without any run."""
    regions = {code: make_region(code) for code in REGIONS}
    for region in regions.values():
        make_agent(region, seen_at=timezone.now() + HEARD)
    Listening.objects.create(pk=1, since=timezone.now() - HEARD, at=timezone.now() + HEARD)
    site = register_site(actor=member.user, organisation=member.organisation, name="Shop", url="https://shop.example/")
    return World(member=member, site=site, regions=regions)


def failing(run: PendingRun) -> Outcome:
    return FAILED


def make_incident(world: World, *, since: datetime, until: datetime | None = None, cause: str = "speed") -> Incident:
    """An incident of the site, which goes on unless it has an end."""
    return Incident.objects.create(
        organisation=world.member.organisation,
        site=world.site,
        cause=cause,
        key=f"site:{world.site.pk}:{cause}",
        state="regressed",
        worst_state="regressed",
        severity="warning",
        title="Shop is slower",
        opened_at=since,
        changed_at=since,
        resolved_at=until,
    )


def _run(monitor: Monitor, region: Region, at: object, values: Mapping[str, object]) -> Run:
    usual: dict[str, object] = {
        "run_id": uuid4(),
        "scheduled_for": at,
        "monitor_id": monitor.pk,
        "region_id": region.pk,
        "attempt": 1,
        "kind": monitor.kind,
        "trigger": "schedule",
        "outcome": "measured",
        "received_at": at,
        "config_version": monitor.config_version,
    }
    return Run(**usual | dict(values))
