"""Regions and their agents: from where is measured, and whether it is."""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone
from ninja import Router

from backend.accounts.permissions import Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.problems import existing, invalid
from backend.api.v1.shapes import Ms, Out
from backend.fleet.queries import AgentState, Health, RegionState, regions_for, unknown_among, usable_regions
from workers.measurement.document import milliseconds

router = Router(tags=["Regions"])


class Agent(Out):
    """`holding` counts the runs it is carrying out, `spooled` results that wait on its disk."""

    name: str
    version: str
    browser_version: str | None
    health: Health
    last_seen_at: datetime
    clock_skew_ms: Ms
    holding: int
    spooled: int


class Region(Out):
    """`shared` regions measure for every organisation of this service. The health is that of the best agent."""

    code: str
    name: str
    shared: bool
    health: Health
    last_seen_at: datetime | None
    agents: list[Agent]


class RegionList(Out):
    """All of them at once: there are few."""

    items: list[Region]


@router.get("/regions", auth=needs(Scope.READ), response=RegionList)
def list_regions(request: ApiRequest) -> RegionList:
    """Every region that measures for the organisation, by name."""
    return RegionList(items=[_shape(state) for state in _states(request)])


@router.get("/regions/{slug:code}", auth=needs(Scope.READ), response=Region)
def get_region(request: ApiRequest, code: str) -> Region:
    """One region."""
    state = next((state for state in _states(request) if state.region.code == code), None)
    return _shape(existing(state, "There is no such region."))


def refuse_unknown_regions(request: ApiRequest, codes: Sequence[str], *, kept: Sequence[str] = ()) -> None:
    """Raises ProblemError for a region that does not measure for the caller; what is `kept` was chosen earlier.

    Nothing would ever be measured from a region that does not exist, and nobody would be told.
    """
    if fault := unknown_among(codes, usable_regions(request.caller.organisation), kept=kept):
        raise invalid("#/regions", fault)


def _states(request: ApiRequest) -> list[RegionState]:
    return regions_for(request.caller.organisation, now=timezone.now())


def _shape(state: RegionState) -> Region:
    return Region(
        code=state.region.code,
        name=state.region.name,
        shared=state.region.organisation_id is None,
        health=state.health,
        last_seen_at=state.last_seen_at,
        agents=[_agent(agent) for agent in state.agents],
    )


def _agent(state: AgentState) -> Agent:
    agent = state.agent
    return Agent(
        name=agent.name,
        version=agent.version,
        browser_version=agent.browser_version,
        health=state.health,
        last_seen_at=agent.last_seen_at,
        clock_skew_ms=milliseconds(agent.clock_skew_us) or 0,
        holding=agent.holding,
        spooled=agent.spooled,
    )
