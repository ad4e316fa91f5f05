"""Whether it is an agent that sees nothing, or the sites that are down: what all of its newest runs say together. Pure.

An agent whose network is broken sees every site fail, and a region that gets no work has no data of any. Neither says
anything of a site. What is down for other regions too is no fault of an agent's, and of what nobody else measures only
silence counts: whoever refuses a connection was reached. Somebody else must reach something of it: where nobody else
measures, all of it may be down, and that must be told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workers.measurement.domains import registrable

_MINUTE_US = 60_000_000
# What was seen longer ago says nothing of an agent's network now.
LATELY_US = 5 * _MINUTE_US
# Two sites may well be down at once, and all hosts of one.
LEAST_SITES = 3

# A region and the name of an agent in it.
AgentKey = tuple[int, str]


class Why(StrEnum):
    """`cut_off`: an agent reaches none of what it measures. `idle`: a region with agents brings no measurement."""

    CUT_OFF = "cut_off"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest run of a monitor in a region that says anything of its host. `silent`: it failed, and nothing came
    back."""

    region: int
    agent: str
    host: str
    at_us: int
    up: bool
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A monitor in a region: when a run last said anything of its host, if any did lately, and how long none may."""

    region: int
    host: str
    at_us: int | None
    patience_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """An agent, or with no name a whole region, that says nothing of any site since then."""

    region: int
    agent: str
    why: Why
    since_us: int


def cut_off(newest: Sequence[Newest], known: Mapping[AgentKey, int], now_us: int) -> list[Blind]:
    """The agents that reached nobody since they last reached somebody: at least three sites, some of which others
    reach, and most hosts that they try.

    `known` are those that were found before, with since when: they stay so until they reach somebody.
    """
    lately = [run for run in newest if run.at_us > now_us - LATELY_US]
    agents = dict.fromkeys((run.region, run.agent) for run in lately)
    found = (_cut_off(agent, lately, known.get(agent), now_us) for agent in agents)
    return [blind for blind in found if blind is not None]


def _cut_off(agent: AgentKey, lately: Sequence[Newest], known_us: int | None, now_us: int) -> Blind | None:
    mine = [run for run in lately if (run.region, run.agent) == agent]
    others = [run for run in lately if (run.region, run.agent) != agent]
    measured = {run.host for run in others}
    reached = [run for run in mine if run.up or not (run.silent or run.host in measured)]
    reached_us = max((run.at_us for run in reached), default=0)
    since = [run for run in mine if run.at_us > reached_us]
    if known_us is not None and since and reached_us < known_us:
        return Blind(region=agent[0], agent=agent[1], why=Why.CUT_OFF, since_us=known_us)
    # Regions look one after the other: what another saw before says nothing of an outage that came in between.
    broke_us = min((run.at_us for run in since), default=now_us)
    up = {run.host for run in others if run.up and run.at_us > broke_us}
    ours = {run.host for run in since if run.host in up or (run.silent and run.host not in measured)}
    if not ours & up or _sites(ours) < LEAST_SITES or 2 * len(ours) <= len({run.host for run in mine}):
        return None
    first_us = reached_us + 1 if reached_us else min(run.at_us for run in since)
    return Blind(region=agent[0], agent=agent[1], why=Why.CUT_OFF, since_us=first_us)


def idle(expected: Iterable[Expected], live: Iterable[int], known: Mapping[int, int], now_us: int) -> list[Blind]:
    """The regions with living agents that brought data of several hosts, and none any more. `known` are those that
    were found before, with since when: they stay so until something comes."""
    by_region: dict[int, list[Expected]] = {}
    for one in expected:
        by_region.setdefault(one.region, []).append(one)
    found = (_idle(region, by_region.get(region, []), known.get(region), now_us) for region in live)
    return [blind for blind in found if blind is not None]


def _idle(region: int, mine: Sequence[Expected], known_us: int | None, now_us: int) -> Blind | None:
    newest_us = max((one.at_us or 0 for one in mine), default=0)
    if known_us is not None and mine and newest_us <= known_us:
        return Blind(region=region, agent="", why=Why.IDLE, since_us=known_us)
    told = [one for one in mine if one.at_us is not None]
    late = {one.host for one in told if (one.at_us or 0) < now_us - one.patience_us}
    if _sites(late) < LEAST_SITES or newest_us >= now_us - min(one.patience_us for one in told):
        return None
    return Blind(region=region, agent="", why=Why.IDLE, since_us=newest_us)


def _sites(hosts: Iterable[str]) -> int:
    """Hosts of one registered domain mostly stand or fall together."""
    return len({registrable(host) for host in hosts})
