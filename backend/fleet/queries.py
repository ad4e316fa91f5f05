"""What is read about regions. Each function takes a fixed number of statements."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.fleet.credentials import TOKEN_KIND, digest
from backend.fleet.listening import listening_since
from backend.fleet.models import Agent, Region
from workers.measurement.routes import HEARTBEAT_INTERVAL_S

# Three heartbeats missed are a hiccup of the network, six are an agent that is gone.
LATE_AFTER = timedelta(seconds=3 * HEARTBEAT_INTERVAL_S)
OFFLINE_AFTER = timedelta(seconds=6 * HEARTBEAT_INTERVAL_S)
# An honest clock is within this of ours, half a second of network included.
SKEW_LIMIT_US = 2_000_000


class Health(StrEnum):
    ONLINE = "online"
    LATE = "late"
    OFFLINE = "offline"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """An agent and how long it has been silent."""

    agent: Agent
    health: Health

    @property
    def clock_is_wrong(self) -> bool:
        return abs(self.agent.clock_skew_us) > SKEW_LIMIT_US

    @property
    def skew(self) -> str:
        """How the agent's clock stands to ours, in words. One that its agent does not tell of looks a little behind, by
        its heartbeat's own way."""
        if not self.clock_is_wrong:
            return "right"
        return f"{abs(self.agent.clock_skew_us) / 1e6:,.1f} s {'ahead' if self.agent.clock_skew_us > 0 else 'behind'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionState:
    """A region with its agents, the newest heartbeat first. Its health is that of its best agent."""

    region: Region
    agents: tuple[AgentState, ...]

    @property
    def health(self) -> Health:
        """Agents that were silent for very long are forgotten, and that there were some is not."""
        if self.agents:
            return self.agents[0].health
        return Health.NEVER if self.region.joined_at is None else Health.OFFLINE

    @property
    def last_seen_at(self) -> datetime | None:
        return self.agents[0].agent.last_seen_at if self.agents else None


def health_at(last_seen_at: datetime, now: datetime) -> Health:
    """What a heartbeat of that age means."""
    age = now - last_seen_at
    if age < LATE_AFTER:
        return Health.ONLINE
    return Health.LATE if age < OFFLINE_AFTER else Health.OFFLINE


def could_hear(now: datetime) -> bool:
    """Whether the service has listened for as long as an agent may be silent: after a pause of it all look so."""
    since = listening_since(now)
    return since is not None and now - since >= OFFLINE_AFTER


def region_by_token(token: str) -> Region | None:
    """The enabled region whose token this is. Found by its digest."""
    if not token.startswith(TOKEN_KIND) or len(token) > 100:
        return None
    return Region.objects.select_related("organisation").filter(token_hash=digest(token), enabled=True).first()


def seen_by(organisation_id: int) -> Q:
    """The regions whose measurements an organisation sees: its own and those that all share, removed ones too."""
    return Q(organisation=organisation_id) | Q(organisation=None)


def usable_regions(organisation: Organisation) -> list[Region]:
    """Those of them that are not removed, and so measure for the organisation. One statement."""
    return list(Region.objects.filter(seen_by(organisation.pk), enabled=True).order_by("name", "code"))


def unknown_among(codes: Iterable[str], usable: Sequence[Region], *, kept: Collection[str] = ()) -> str:
    """A sentence for people about the first code that is none of the usable regions; empty when there is none such.

    What is `kept` was chosen earlier, and may be gone since.
    """
    known = [region.code for region in usable]
    unknown = next((code for code in codes if code not in known and code not in kept), None)
    return (
        "" if unknown is None else f"There is no region {unknown[:20]!r}; choose from {', '.join(known) or 'none yet'}."
    )


def joined_regions(organisation: Organisation) -> list[Region]:
    """Those of them that an agent has joined, and so all in which anything can be measured. One statement."""
    return [region for region in usable_regions(organisation) if region.joined_at is not None]


def regions_for(organisation: Organisation, *, now: datetime) -> list[RegionState]:
    """The same regions with their agents. Two statements."""
    return _states(usable_regions(organisation), now)


def all_regions(*, now: datetime) -> list[RegionState]:
    """Every enabled region, for the operator's health page and metrics. Two statements."""
    return _states(list(Region.objects.filter(enabled=True).order_by("code")), now)


def owned_region(organisation: Organisation, code: str) -> Region | None:
    """A region that belongs to the organisation itself; shared ones belong to the operator."""
    return Region.objects.filter(organisation=organisation, code=code, enabled=True).first()


def _states(regions: list[Region], now: datetime) -> list[RegionState]:
    agents: dict[int, list[AgentState]] = {region.pk: [] for region in regions}
    for agent in Agent.objects.filter(region__in=regions).order_by("-last_seen_at"):
        agents[agent.region_id].append(AgentState(agent=agent, health=health_at(agent.last_seen_at, now)))
    return [RegionState(region=region, agents=tuple(agents[region.pk])) for region in regions]
