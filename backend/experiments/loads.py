"""Loads as they are kept with an experiment, and the pairs that they make. Pure.

Judged again whenever they are shown, so that old loads are told in the words of today.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from backend.experiments.models import ExperimentRun, LoadState
from workers.diagnosis.without.cost import Cost, cost_of
from workers.diagnosis.without.samples import Load, LoadPair, Side

_ADAPTER = TypeAdapter(Load)
_NOTHING = Load()


def kept(load: Load) -> Any:
    """The load as JSON. What causes cost is a list there: JSON has no keys of two parts."""
    if load.sample is None:
        return storable(_ADAPTER.dump_python(load, mode="json"))
    estimates = [[str(id), host, us] for (id, host), us in load.sample.estimates_us.items()]
    document = _ADAPTER.dump_python(replace(load, sample=replace(load.sample, estimates_us={})), mode="json")
    document["sample"]["estimates_us"] = estimates
    return storable(document)


def storable(value: Any) -> Any:
    """Texts, and JSON of them, without NUL, of which PostgreSQL stores none: agents of ours send none, others may."""
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {name: storable(one) for name, one in value.items()}
    return [storable(one) for one in value] if isinstance(value, list) else value


def load_in(document: dict[str, Any]) -> Load:
    """The load again."""
    sample = document["sample"]
    if sample is not None:
        estimates = {(id, host): us for id, host, us in sample["estimates_us"]}
        document = document | {"sample": sample | {"estimates_us": estimates}}
    return _ADAPTER.validate_python(document)


def load_of_run(run: ExperimentRun) -> Load:
    """What a run brings: nothing while it is under way, and where it says nothing."""
    return load_in(run.load) if run.state == LoadState.LOADED and run.load else _NOTHING


def leads_nowhere(first: Load, hosts: Sequence[str]) -> bool:
    """Whether the load that went before all failed, or asked nothing of the hosts."""
    sample = first.sample
    return first.failure is not None or (sample is not None and not sample.asked & frozenset(hosts))


def pairs_of(runs: Sequence[ExperimentRun], hosts: Sequence[str]) -> list[LoadPair]:
    """The pairs whose both loads have ended, in the order in which they were made; the first load alone where it leads
    nowhere. `runs` are all of an experiment's in their order."""
    first = next((load_of_run(run) for run in runs if run.pair == 0 and run.side == Side.WITH), _NOTHING)
    if leads_nowhere(first, hosts):
        return [LoadPair(first=Side.WITH, with_hosts=first, without=_NOTHING)]
    made: dict[int, list[ExperimentRun]] = defaultdict(list)
    for run in runs:
        if run.pair and run.state != LoadState.PENDING:
            made[run.pair].append(run)
    return [_pair(both) for both in made.values() if len(both) == len(Side)]


def cost_in(runs: Sequence[ExperimentRun], hosts: Sequence[str]) -> Cost:
    """What the loads say that the hosts cost."""
    return cost_of(hosts, pairs_of(runs, hosts))


def _pair(both: Sequence[ExperimentRun]) -> LoadPair:
    loads = {Side(run.side): load_of_run(run) for run in both}
    return LoadPair(first=Side(both[0].side), with_hosts=loads[Side.WITH], without=loads[Side.WITHOUT])
