"""Pages judged with the owner's word on whose hosts are whose, which agents do not know."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.db.models import F

from backend.runs.diagnoses import diagnosis_of
from backend.runs.rows import MAX_FINDINGS, Row, text
from backend.sites.models import Host
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import Measured, RunResult

Word = Mapping[str, bool]


def words_of(monitors: Iterable[int]) -> dict[int, Word]:
    """Which hosts the owners called their own, or not, by monitor; only where somebody said anything. One statement."""
    said = Host.objects.filter(chosen__isnull=False, site__monitors__in=set(monitors))
    found: dict[int, dict[str, bool]] = defaultdict(dict)
    for host in said.only("name", "chosen").annotate(monitor=F("site__monitors")):
        found[host.monitor][host.name] = host.role.is_ours
    return dict(found)


def page_findings(result: RunResult, said: Word) -> list[Row] | None:
    """What of FINDING_COLUMNS today's rules tell of a page; None where it cannot be judged: rows stay as they are."""
    outcome = result.outcome
    if not isinstance(outcome, Measured) or getattr(outcome.measurement, "profile_verified", None) is False:
        return None
    diagnosis = diagnosis_of(outcome.measurement, said=said)
    return None if diagnosis is None else _rows(diagnosis)


def _rows(diagnosis: Diagnosis) -> list[Row]:
    found: list[Row] = [
        (one.id.value, one.severity.value, one.confidence.value, one.saving_us, text(one.host), None)
        for one in diagnosis.findings
    ]
    found += [(one.id.value, None, None, None, None, one.reason.value) for one in diagnosis.not_judged]
    return [(position, *one) for position, one in enumerate(found[:MAX_FINDINGS], start=1)]
