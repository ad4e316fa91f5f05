"""What is read about gates. Every question starts from the organisation and takes a fixed number of statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from backend.accounts.models import Organisation
from backend.gates.documents import RuleFound, rule_found
from backend.gates.models import BaselineMode, Gate, GateRule, GateRun, RunState, Side
from backend.gates.outcome import conclusion, exit_code
from backend.gates.rounds import rounds_of
from backend.gates.wording import rule_sentence
from backend.lists import older
from backend.runs.models import Run, Trigger
from backend.runs.queries import Asked, RunDetail, asked_of
from backend.sites.models import Deploy, Monitor, Site

MAX_GATES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLine:
    """A gate in a list."""

    gate: Gate
    site: Site
    deploy: Deploy | None
    exit_code: int | None
    conclusion: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """A rule and what it has come to so far. `sentence` says it all."""

    rule: GateRule
    monitor: Monitor
    found: RuleFound | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsView:
    """How much was measured. `planned` is what the present look needs, the discarded runs included; `looks` is how many
    times it was judged."""

    planned: int
    completed: int
    failed: int
    discarded: int
    looks: int
    planned_looks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressView:
    """The two addresses of a monitor."""

    monitor: Monitor
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """A gate with all that belongs to it."""

    gate: Gate
    site: Site
    deploy: Deploy | None
    baseline_gate: UUID | None
    rules: tuple[RuleView, ...]
    runs: RunsView
    made: tuple[GateRun, ...]
    exit_code: int | None
    conclusion: str | None

    @property
    def addresses(self) -> tuple[AddressView, ...]:
        """What is compared, where two addresses are."""
        if self.gate.baseline_mode != BaselineMode.URL:
            return ()
        monitors = {rule.monitor.pk: rule.monitor for rule in self.rules}
        return tuple(
            AddressView(
                monitor=monitor,
                before=self.gate.url_of(monitor, Side.BEFORE),
                after=self.gate.url_of(monitor, Side.AFTER),
            )
            for monitor in monitors.values()
        )

    @property
    def compares(self) -> bool:
        """Whether any rule asks how it was before."""
        return any(one.rule.max_value is None for one in self.rules)

    @property
    def duration_s(self) -> int | None:
        """From the first step to the last."""
        if self.gate.started_at is None or self.gate.ended_at is None:
            return None
        return round((self.gate.ended_at - self.gate.started_at).total_seconds())


def gate(organisation: Organisation, public_id: UUID) -> Gate | None:
    """The gate alone, to wait for it or to cancel it. One statement."""
    return Gate.objects.filter(organisation=organisation, public_id=public_id).first()


def gate_view(organisation: Organisation, public_id: UUID) -> GateView | None:
    """A gate with rules and runs. Three statements."""
    found = Gate.objects.filter(organisation=organisation, public_id=public_id)
    gate = found.select_related("site", "deploy", "baseline_gate").first()
    if gate is None:
        return None
    rules = list(gate.rules.select_related("monitor").order_by("position"))
    runs = tuple(gate.runs.select_related("region", "monitor").order_by("place"))
    return GateView(
        gate=gate,
        site=gate.site,
        deploy=gate.deploy,
        baseline_gate=None if gate.baseline_gate is None else gate.baseline_gate.public_id,
        rules=tuple(_rule_view(rule, is_open=gate.is_open) for rule in rules),
        runs=_runs_view(gate, rules, runs),
        made=runs,
        exit_code=exit_code(gate),
        conclusion=conclusion(gate),
    )


def gates(
    organisation: Organisation,
    *,
    site: Site | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int,
) -> list[GateLine]:
    """Gates, the newest first; `before` is the time and number of the last one seen. One statement."""
    found = Gate.objects.filter(organisation=organisation)
    if site is not None:
        found = found.filter(site=site)
    if before is not None:
        found = found.filter(older("created_at", before))
    lines = found.select_related("site", "deploy").order_by("-created_at", "-pk")[: max(1, min(limit, MAX_GATES))]
    return [
        GateLine(gate=line, site=line.site, deploy=line.deploy, exit_code=exit_code(line), conclusion=conclusion(line))
        for line in lines
    ]


def asked_of_runs(runs: Sequence[Run]) -> dict[UUID, Asked]:
    """Where runs asked, also those that a gate had ask elsewhere. One statement, and one more where there are such."""
    return asked_of(runs) | _asked_by_gates([run for run in runs if run.trigger == Trigger.GATE])


def asked_of_run(run: Run) -> Asked | None:
    """The same of one run; None where nobody knows any more."""
    return asked_of_runs([run]).get(run.run_id)


def url_asked(detail: RunDetail) -> str:
    """What a run asked for; its monitor's address of today where nobody kept it."""
    asked = asked_of_run(detail.run)
    return detail.monitor.url if asked is None else asked.url


def _asked_by_gates(runs: Sequence[Run]) -> dict[UUID, Asked]:
    if not runs:
        return {}
    monitors, firsts = {run.monitor_id for run in runs}, {run.run_id: run.first_run_id or run.run_id for run in runs}
    of_gates = GateRun.objects.filter(monitor__in=monitors, run_id__in=set(firsts.values())).select_related("gate")
    urls = {one.run_id: one.gate.address_of(one.monitor_id, one.side) for one in of_gates}
    return {run_id: Asked(url=url) for run_id, first in firsts.items() if (url := urls.get(first)) is not None}


def _rule_view(rule: GateRule, *, is_open: bool) -> RuleView:
    found = rule_found(rule.found) if rule.found else None
    sentence = rule_sentence(rule, found, is_open=is_open)
    return RuleView(rule=rule, monitor=rule.monitor, found=found, sentence=sentence)


def _runs_view(gate: Gate, rules: Sequence[GateRule], runs: Sequence[GateRun]) -> RunsView:
    plan = rounds_of(gate)
    monitors, regions = len({rule.monitor_id for rule in rules}), len(gate.regions) - len(gate.given_up)
    ended = [run for run in runs if run.state != RunState.PENDING]
    return RunsView(
        planned=(plan.runs_at(gate.look) + plan.discard) * monitors * regions * len(gate.sides),
        completed=len(ended),
        failed=sum(run.state == RunState.FAILED for run in ended),
        discarded=sum(run.discarded for run in ended),
        looks=_looks_of(gate, rules),
        planned_looks=plan.looks,
    )


def _looks_of(gate: Gate, rules: Sequence[GateRule]) -> int:
    """How many times it was judged: at the present look only where that is what it ended with."""
    is_judged = gate.verdict and not gate.reason and any(rule.verdict for rule in rules)
    return gate.look if is_judged else gate.look - 1
