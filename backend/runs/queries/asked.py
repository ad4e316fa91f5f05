"""Where runs asked: kept once for each version of their monitor, since a run is one narrow row of very many."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from backend.runs.models import PendingRun, Run
from backend.sites.models import MonitorVersion
from workers.measurement.pair import PairTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The address of a run; `other` is the second leg of a pair."""

    url: str
    other: PairTarget | None = None


def asked_of(runs: Sequence[Run | PendingRun]) -> dict[UUID, Asked]:
    """By run, without those of versions that nobody kept the address of. One statement.

    Gates may have had theirs ask elsewhere: see `backend.gates.queries.asked_of_runs`.
    """
    versions = {run.config_version for run in runs if run.config_version is not None}
    kept = MonitorVersion.objects.filter(monitor__in={run.monitor_id for run in runs}, config_version__in=versions)
    known = {(one.monitor_id, one.config_version): _asked(one) for one in kept}
    keys = {run.run_id: (run.monitor_id, run.config_version or 0) for run in runs}
    return {run_id: known[key] for run_id, key in keys.items() if key in known}


def asked_of_pending(run: PendingRun) -> Asked | None:
    """Where a run under way asks, by what was sent or by what will be. One statement."""
    asked = asked_of([run]).get(run.run_id)
    return asked if run.url is None else Asked(url=run.url)


def _asked(version: MonitorVersion) -> Asked:
    return Asked(url=version.url, other=None if version.pair is None else PairTarget(**version.pair))
