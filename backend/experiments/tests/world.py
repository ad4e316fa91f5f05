"""A site whose page asks a host of somebody else's, and an agent that answers as a test says."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from django.utils import timezone

from backend.cast import Member
from backend.experiments.actions import start_experiment
from backend.experiments.models import Experiment, ExperimentRun, LoadState, Side
from backend.experiments.queries import ExperimentView, experiment_view
from backend.experiments.steps import step
from backend.fleet.models import Listening, Region
from backend.runs.actions import register_site
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun
from backend.runs.tests.factories import make_agent, make_region
from backend.runs.tests.results import line_of
from backend.sites.models import Monitor, Site
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, Outcome
from workers.measurement.waterfall import ResourceType
from workers.tests.builders import build_connection
from workers.tests.diagnosis.page_sketch import row, sketch

HOST = "tags.example"
MINUTE = timedelta(minutes=1)
# The agent is not silent before a test is over, however long a busy machine takes for it.
HEARD = 10 * MINUTE
FAILS = Failed(failure=failure(FailureKind.PAGE_TIMEOUT))
OURS = Failed(failure=failure(FailureKind.BROWSER_FAILED))

# What the agent sends for a load, by its pair; None while it has nothing to send.
Answer = Callable[[ExperimentRun], Outcome | None]


@dataclass(slots=True, kw_only=True)
class World:
    member: Member
    site: Site
    region: Region

    @property
    def monitor(self) -> Monitor:
        return self.site.monitors.select_related("site__organisation").get(kind="page")

    def start(self, *, pairs: int = 8, hosts: tuple[str, ...] = (HOST,)) -> Experiment:
        return start_experiment(actor=self.member.user, site=self.site, hosts=hosts, pairs=pairs)

    def view(self, experiment: Experiment) -> ExperimentView:
        """The experiment as members of the organisation see it."""
        found = experiment_view(self.member.organisation, experiment.public_id)
        assert found is not None
        return found

    def answer(self, answer: Answer) -> None:
        """Ends every load that is waited for, as the agent would."""
        for run in ExperimentRun.objects.filter(state=LoadState.PENDING).select_related("experiment"):
            pending = PendingRun.objects.select_related("monitor", "region").get(run_id=run.run_id)
            said = answer(run)
            if said is not None:
                ingest(pending.region, [line_of(pending, said)], now=timezone.now())

    def play(self, experiment: Experiment, answer: Answer, *, steps: int = 250) -> Experiment:
        """Steps and answers in turns until the experiment has ended."""
        for _ in range(steps):
            Experiment.objects.update(due_at=timezone.now())
            step()
            experiment.refresh_from_db()
            if not experiment.is_open:
                return experiment
            self.answer(answer)
        raise AssertionError(f"{experiment} is still open after {steps} steps")


def loaded(lcp_ms: float = 1_000, *, reached: bool, host: str = HOST) -> Measured:
    """A page whose one script of another host came, or did not."""
    script = row(2, ResourceType.SCRIPT, 310, 400, host=host, connection=2)
    if not reached:
        script = replace(script, status=None, connection=None, failure="net::ERR_NAME_NOT_RESOLVED")
    opened = (build_connection(number=2, host=host),) if reached else ()
    vitals = {"lcp_us": round(lcp_ms * 1000), "load_us": 2_000_000, "fully_loaded_us": 2_000_000}
    return Measured(measurement=sketch(script, fcp_ms=500, vitals=vitals, connections=opened))


def sooner(run: ExperimentRun) -> Outcome:
    """Without the host the largest paint comes 300 ms sooner, give or take a few."""
    noise = run.pair % 3
    return loaded(1_000 + noise if run.side == Side.WITH else 700 - noise, reached=run.side == Side.WITH)


def make_world(member: Member) -> World:
    """A region with an agent, a service that hears it, and a registered site without any run."""
    region = make_region("eu")
    make_agent(region, seen_at=timezone.now() + HEARD)
    Listening.objects.create(pk=1, since=timezone.now() - HEARD, at=timezone.now() + HEARD)
    site = register_site(actor=member.user, organisation=member.organisation, name="Shop", url="https://shop.example/")
    return World(member=member, site=site, region=region)
