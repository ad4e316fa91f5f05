"""What is due, what is under way, and what came of it.

Durations are microseconds, sizes bytes, absent is null. Words such as kinds and reasons are those of
`workers.measurement`; they grow there without a migration here.
"""

from backend.runs.models.beside import DeadLetter, Rollup, SharedRun, Upload
from backend.runs.models.ended import Connection, Finding, Leg, Run, RunDocument
from backend.runs.models.under_way import PendingRun, Schedule
from backend.runs.models.words import CHARTED, ELSEWHERE, Outcome, Trigger

__all__ = [
    "CHARTED",
    "ELSEWHERE",
    "Connection",
    "DeadLetter",
    "Finding",
    "Leg",
    "Outcome",
    "PendingRun",
    "Rollup",
    "Run",
    "RunDocument",
    "Schedule",
    "SharedRun",
    "Trigger",
    "Upload",
]
