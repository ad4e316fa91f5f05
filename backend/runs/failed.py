"""The failure of a run, made whole again from what is stored."""

from workers.measurement.failure import Blame, Failure, FailureKind, Stage

# Of runs; null in those that did not fail.
FAILURE_COLUMNS = ("failure_kind", "failure_stage", "failure_blame", "failure_detail")


def failure_of(kind: str | None, stage: str | None, blame: str | None, detail: str | None) -> Failure | None:
    """By the values of FAILURE_COLUMNS; None where the run did not fail."""
    if kind is None:
        return None
    return Failure(
        kind=FailureKind(kind),
        stage=Stage(stage or Stage.TARGET),
        blame=Blame(blame or Blame.MONITOR),
        detail=detail or "",
    )
