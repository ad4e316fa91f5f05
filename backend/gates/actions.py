"""What begins and ends gates."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.as_it_is import as_it_is
from backend.fleet.queries import unknown_among, usable_regions
from backend.gates.addresses import AddressError, Sides, sides_of
from backend.gates.models import OPEN, BaselineMode, Gate, GateRule, Phase, Status
from backend.gates.questions import MAX_REGIONS, MAX_RUNS, Comparison, InvalidGateError, Question, check, comparisons
from backend.sites.actions import record_deploy
from backend.sites.deploys import InvalidDeployError
from backend.sites.deploys import validate as validate_deploy
from backend.sites.models import Deploy, Monitor, Site, SiteStatus
from backend.sites.targets import check_called

# They share the browsers that people test with.
MAX_OPEN = 10


class GateLimitError(ValueError):
    """Too many gates are open; the text is a sentence for people."""


class _Plan(NamedTuple):
    """What is compared, in which regions, at which addresses of each monitor, and with which gate."""

    asked: list[Comparison]
    regions: list[str]
    addresses: dict[int, Sides]
    earlier: Gate | None


@transaction.atomic
def create_gate(
    *, actor: User | None, organisation: Organisation, site: Site, question: Question, token_name: str = ""
) -> Gate:
    """A gate that begins at once; the release is remembered as a deploy. Raises InvalidGateError, GateLimitError."""
    now = timezone.now()
    asked, regions, addresses, earlier = _planned(organisation, site, question, now)
    _refuse_too_many(organisation)
    is_in_force = _is_in_force(addresses, asked)
    deploy = _deploy(actor, site, question, token_name) if is_in_force else None
    until = min(deploy.at if deploy else now, now)
    gate = Gate.objects.create(
        organisation=organisation,
        site=site,
        deploy=deploy,
        phase=question.phase,
        regions=regions,
        **_run_counts(question),
        baseline_mode=question.baseline.mode,
        baseline_gate=earlier,
        addresses={str(monitor): [sides.before, sides.after] for monitor, sides in addresses.items()},
        release="" if is_in_force else (question.deploy.version or question.deploy.external_id),
        baseline_since=None if addresses else until - question.baseline.window,
        baseline_until=None if addresses else until,
        rule_count=len(asked),
        min_samples=question.baseline.min_samples,
        confidence=question.confidence,
        on_inconclusive=question.on_inconclusive,
        deadline=now + timedelta(seconds=question.timeout_s),
        due_at=now,
        created_at=now,
        created_by=actor,
        token_name=token_name[:100],
        calls_back=bool(question.callback_url),
        callback=_callback(question),
    )
    GateRule.objects.bulk_create(_rule(gate, place, comparison) for place, comparison in enumerate(asked))
    record("create_gate", gate, actor=actor, organisation=organisation, name=site.name)
    return gate


@transaction.atomic
def cancel_gate(*, actor: User | None, gate: Gate) -> Gate:
    """Ends a gate without a verdict; runs that are under way end by themselves. One that has ended stays as it is.

    Who asked to be called is told: it need not be them who cancels.
    """
    gate = as_it_is(gate)
    if gate.is_open:
        gate.status, gate.ended_at, gate.summary = Status.CANCELLED, timezone.now(), "Cancelled before it was decided."
        gate.callback_due_at = gate.ended_at if gate.calls_back else None
        gate.save(update_fields=["status", "ended_at", "summary", "callback_due_at"])
        record("cancel_gate", gate, actor=actor, organisation=gate.organisation, name=gate.site.name)
    return gate


def _planned(organisation: Organisation, site: Site, question: Question, now: datetime) -> _Plan:
    """Raises InvalidGateError for what cannot be measured as it is asked for."""
    _check_deploy(question, now)
    check(question)
    if site.status != SiteStatus.ACTIVE or site.organisation_id != organisation.pk:
        raise InvalidGateError({"site": "This site is only a test so far: save it first."})
    asked = comparisons(question, list(site.monitors.all()))
    regions = _regions(organisation, question.runs.regions, [comparison.monitor for comparison in asked])
    addresses = _addresses(question, asked)
    _check_amount(question, len(regions), asked)
    return _Plan(asked, regions, addresses, _earlier_gate(site, question))


def _check_deploy(question: Question, now: datetime) -> None:
    try:
        validate_deploy(question.deploy, now=now)
    except InvalidDeployError as error:
        raise InvalidGateError({f"deploy/{name}": fault for name, fault in error.faults.items()}) from error


def _regions(organisation: Organisation, wanted: Sequence[str], monitors: Sequence[Monitor]) -> list[str]:
    """Where to measure: as asked, or wherever all the monitors measure and an agent is. Raises InvalidGateError."""
    regions = usable_regions(organisation)
    usable = [region.code for region in regions]
    if fault := unknown_among(wanted, regions):
        raise InvalidGateError({"runs/regions": fault})
    everywhere = set(usable).intersection(*(set(monitor.regions) for monitor in monitors if monitor.regions))
    if foreign := [code for code in wanted if code not in everywhere]:
        raise InvalidGateError(
            {"runs/regions": f"These monitors do not measure in {foreign[0]}: there is nothing to compare with."}
        )
    joined = everywhere.intersection(region.code for region in regions if region.joined_at is not None)
    codes = [code for code in usable if code in (wanted or joined)][:MAX_REGIONS]
    if not codes:
        raise InvalidGateError(
            {"runs/regions": "There is no region with an agent in which all these monitors measure."}
        )
    return codes


def _check_amount(question: Question, regions: int, asked: Sequence[Comparison]) -> None:
    monitors = len({comparison.monitor.pk for comparison in asked})
    sides = 2 if question.baseline.mode == BaselineMode.URL else 1
    most = (question.runs.max_per_region + question.runs.discard_first) * regions * monitors * sides
    if most > MAX_RUNS:
        raise InvalidGateError({"runs/max_per_region": f"That may take {most} runs; at most {MAX_RUNS} are made."})


def _addresses(question: Question, asked: Sequence[Comparison]) -> dict[int, Sides]:
    """Of each monitor, where addresses are compared; else none. Raises InvalidGateError."""
    if question.baseline.mode != BaselineMode.URL:
        return {}
    monitors = {comparison.monitor.pk: comparison.monitor for comparison in asked}
    try:
        return sides_of(list(monitors.values()), question.baseline.address, question.release)
    except AddressError as error:
        raise InvalidGateError(error.faults) from error


def _is_in_force(addresses: Mapping[int, Sides], asked: Sequence[Comparison]) -> bool:
    """Whether anything that is scheduled measures the release: else what changes there is not its doing."""
    return not addresses or any(addresses[one.monitor.pk].after == one.monitor.url for one in asked)


def _earlier_gate(site: Site, question: Question) -> Gate | None:
    if question.baseline.mode != BaselineMode.GATE or question.baseline.gate is None:
        return None
    earlier = Gate.objects.filter(site=site, public_id=question.baseline.gate).first()
    if earlier is None or earlier.is_open:
        missing = "is still going on" if earlier else "is not one of this site"
        raise InvalidGateError({"baseline/gate": f"The gate to compare with {missing}."})
    return earlier


def _refuse_too_many(organisation: Organisation) -> None:
    hold(organisation)
    under_way = Gate.objects.filter(organisation=organisation, status__in=OPEN).count()
    if under_way >= MAX_OPEN:
        raise GateLimitError(f"{under_way} gates are open; at most {MAX_OPEN} can be. Wait until one has ended.")


def _run_counts(question: Question) -> dict[str, int]:
    runs = question.runs
    # What comes after the release has nothing else to compare with.
    first = runs.max_per_region if question.phase == Phase.BEFORE else runs.per_region
    return {"runs_per_region": first, "max_per_region": runs.max_per_region, "discard_first": runs.discard_first}


def _deploy(actor: User | None, site: Site, question: Question, token_name: str) -> Deploy | None:
    if question.phase == Phase.BEFORE:
        return None
    return record_deploy(
        actor=actor, organisation=site.organisation, site=site, marker=question.deploy, token_name=token_name
    )


def _callback(question: Question) -> Any:
    """For the encrypted field, which is a text only to the type checker."""
    return {"url": check_called(question.callback_url).url} if question.callback_url else {}


def _rule(gate: Gate, place: int, comparison: Comparison) -> GateRule:
    rule = comparison.rule
    return GateRule(
        gate=gate,
        position=place,
        monitor=comparison.monitor,
        metric=comparison.metric,
        max_change_pct=rule.max_change_pct,
        min_change=rule.min_change,
        max_value=rule.max_value,
        level=rule.level,
    )
