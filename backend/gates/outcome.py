"""What a gate means to a pipeline: an exit code, and the word that code hosts use. Pure."""

from backend.gates.models import Gate, OnInconclusive, Status, Verdict

PASSED, FAILED, INCONCLUSIVE, NOT_MEASURED = 0, 1, 3, 4
_CONCLUSIONS = {PASSED: "success", FAILED: "failure"}


def exit_code(gate: Gate) -> int | None:
    """The exit code at every door; None while it is open. What could not be measured must not look like a failure."""
    if gate.is_open:
        return None
    if gate.status == Status.CANCELLED or gate.verdict in (Verdict.ERROR, ""):
        return NOT_MEASURED
    if gate.verdict == Verdict.INCONCLUSIVE:
        mapped = {OnInconclusive.PASS: PASSED, OnInconclusive.FAIL: FAILED}
        return mapped.get(OnInconclusive(gate.on_inconclusive), INCONCLUSIVE)
    return PASSED if gate.verdict == Verdict.PASS else FAILED


def conclusion(gate: Gate) -> str | None:
    """`success`, `failure` or `neutral`; None while it is open."""
    code = exit_code(gate)
    return None if code is None else _CONCLUSIONS.get(code, "neutral")
