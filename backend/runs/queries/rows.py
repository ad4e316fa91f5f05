"""Runs out of plain SQL: Django's own `raw()` does not know composite keys."""

import json
from collections.abc import Sequence
from typing import Any

from backend.runs.models import CHARTED, ELSEWHERE, Run
from backend.runs.sql import Row, array, fetch

_FIELDS = [field for field in Run._meta.concrete_fields if field.column]
_NAMES = [field.attname for field in _FIELDS]
# Of a table or subquery that the statement calls `run`.
RUN_SQL = ", ".join(f'run."{field.column}"' for field in _FIELDS)
ELSEWHERE_SQL = ", ".join(f"'{trigger}'" for trigger in ELSEWHERE)
# Of a run that measured the monitor's own server.
AT_HOME_SQL = f"trigger NOT IN ({ELSEWHERE_SQL})"
CHARTED_SQL = "trigger IN ({})".format(", ".join(f"'{trigger}'" for trigger in CHARTED))


def fetch_runs(statement: str, parameters: Any) -> list[Run]:
    """The runs of a statement that selects RUN_SQL."""
    return [_run(row) for row in fetch(statement, parameters)]


def _run(row: Row) -> Run:
    run = Run.from_db("default", _NAMES, row)
    # JSON comes as its text.
    run.timings = None if run.timings is None else json.loads(run.timings)
    return run


def parameters_of(runs: Sequence[Run]) -> dict[str, Any]:
    """The ids of a few runs, at least one, and their first and last slot: no other partitions are looked into."""
    return {
        "runs": array(run.run_id for run in runs),
        "first": min(run.scheduled_for for run in runs),
        "last": max(run.scheduled_for for run in runs),
    }
