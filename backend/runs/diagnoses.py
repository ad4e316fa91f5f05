"""Why a run was as slow as it was: what today's rules make of the evidence that was stored with it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backend.runs.queries import DeepRun
from workers.diagnosis.catalogue import Counts, entry
from workers.diagnosis.diagnose import diagnose
from workers.diagnosis.pages import diagnose_page
from workers.measurement.finding import Diagnosis, Finding, Severity
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement

# Of these a first visit has the gain; what a returning visitor would save is another visit's.
_FIRST_VISIT = frozenset({Counts.NEW_VISIT, Counts.EACH_REQUEST})


def diagnosis_of(measurement: Measurement | None, *, failed: bool = False) -> Diagnosis | None:
    """Judged anew; what the agent said at the time where it sent no evidence. None for what nobody can judge: a page
    load that failed says too little of the page, or shows another one.
    """
    if isinstance(measurement, PageMeasurement):
        return None if failed else diagnose_page(measurement)
    if not isinstance(measurement, ProbeMeasurement):
        return None
    if measurement.evidence is None:
        return measurement.diagnosis
    return diagnose(measurement.evidence, measurement.hops)


def saving_us(findings: Iterable[Finding], total_us: int | None) -> int | None:
    """What a new visitor would gain if all were mended, at most all there is; None when there is nothing to gain."""
    savings = [
        finding.saving_us
        for finding in findings
        if finding.saving_us and finding.severity is not Severity.INFO and entry(finding.id).counts in _FIRST_VISIT
    ]
    if not savings:
        return None
    return sum(savings) if total_us is None else min(sum(savings), total_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A deep run, judged."""

    deep: DeepRun
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFinding:
    """A cause, and the run that saw it last."""

    finding: Finding
    deep: DeepRun


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFindings:
    """What is to be mended at a site. `saving_us` is what a new visitor would gain where that is most."""

    looks: tuple[Look, ...]
    findings: tuple[OpenFinding, ...]
    saving_us: int | None

    @property
    def newest(self) -> Look | None:
        return self.looks[0] if self.looks else None


def open_findings(runs: Sequence[DeepRun]) -> OpenFindings:
    """Of the newest deep runs of a site, the newest first: the causes in the order in which to mend them."""
    looks = tuple(Look(deep=deep, diagnosis=diagnosis_of(deep.measurement) or Diagnosis()) for deep in runs)
    found = [
        (place, OpenFinding(finding=finding, deep=look.deep))
        for look in looks
        for place, finding in enumerate(look.diagnosis.findings)
    ]
    savings = [saving_us(look.diagnosis.findings, look.deep.run.total_us) for look in looks]
    return OpenFindings(
        looks=looks,
        findings=tuple(one for _, one in sorted(found, key=lambda pair: (_tier(pair[1].finding), pair[0]))),
        saving_us=max((saving for saving in savings if saving is not None), default=None),
    )


def _tier(finding: Finding) -> int:
    """Findings of several runs are told turn by turn, but what makes visitors fail first and remarks last."""
    return {Severity.CRITICAL: 0, Severity.INFO: 2}.get(finding.severity, 1)
