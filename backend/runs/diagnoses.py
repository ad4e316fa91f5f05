"""Why a run was as slow as it was: what today's rules make of the evidence that was stored with it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from backend.runs.models import Outcome
from backend.runs.queries import DeepRun, FoundCause, RunDetail
from backend.sites.models import Host, Site
from workers.diagnosis.catalogue import Counts, entry
from workers.diagnosis.order import findings_in_order
from workers.diagnosis.page.case import IsOwn, below
from workers.diagnosis.page.diagnose import diagnose_page
from workers.diagnosis.page.hosts import document_host
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.finding import Confidence, Diagnosis, Finding, FindingId, Severity
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement

# Of these a first visit has the gain. What a returning visitor or a further request would save comes later.
_FIRST_VISIT = frozenset({Counts.NEW_VISIT, Counts.EACH_REQUEST})
# What the run itself did not wait for, as it acknowledged at once.
_UNPAID = frozenset({FindingId.TCP_NAGLE_DELAYED_ACK})


def diagnosis_in(detail: RunDetail) -> Diagnosis | None:
    """As `diagnosis_of`, but the owner has the last word on whose hosts are whose. One statement for a page."""
    is_page = isinstance(detail.measurement, PageMeasurement)
    said = _owners_word(detail.site) if is_page else {}
    return diagnosis_of(detail.measurement, failed=detail.run.outcome == Outcome.FAILED, said=said)


def diagnosis_of(
    measurement: Measurement | None, *, failed: bool = False, said: Mapping[str, bool] | None = None
) -> Diagnosis | None:
    """Judged anew; what the agent said at the time where it sent no evidence. None for what nobody can judge: a page
    load that failed says too little of the page, or shows another one. `said` are hosts that somebody called the
    site's own, or not; of the rest their names tell.
    """
    if isinstance(measurement, PageMeasurement):
        return None if failed else diagnose_page(measurement, is_own=_whose(measurement, said or {}))
    if not isinstance(measurement, ProbeMeasurement):
        return None
    if measurement.evidence is None:
        return measurement.diagnosis
    return diagnose(measurement.evidence, measurement.hops)


def _owners_word(site: Site) -> dict[str, bool]:
    return {host.name: host.role.is_ours for host in Host.objects.filter(site=site, chosen__isnull=False)}


def _whose(page: PageMeasurement, said: Mapping[str, bool]) -> IsOwn | None:
    main = document_host(page)
    if main is None or not said:
        return None
    named = below(main)
    return lambda host: said[host] if host in said else named(host)


def saving_us(findings: Iterable[Finding], total_us: int | None) -> int | None:
    """What a new visitor would gain if all were mended, None when there is nothing to gain. What several save together
    is in their shares, once.

    At most all that the run took, but what those pay who acknowledge late, which it did not.
    """
    savings = [
        (finding.id, finding.share_us)
        for finding in findings
        if finding.share_us and finding.severity is not Severity.INFO and entry(finding.id).counts in _FIRST_VISIT
    ]
    if not savings:
        return None
    all_us = sum(us for _, us in savings)
    unpaid_us = max((us for id, us in savings if id in _UNPAID), default=0)
    return all_us if total_us is None else max(min(all_us, total_us), unpaid_us)


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
    found = [OpenFinding(finding=finding, deep=look.deep) for look in looks for finding in look.diagnosis.findings]
    places = _places(one.finding for one in found)
    savings = [saving_us(look.diagnosis.findings, look.deep.run.total_us) for look in looks]
    return OpenFindings(
        looks=looks,
        findings=tuple(sorted(found, key=lambda one: places.get(_cause(one.finding), len(places)))),
        saving_us=max((saving for saving in savings if saving is not None), default=None),
    )


def gravest(of_one_cause: Iterable[Finding]) -> Finding:
    """Of what several runs say of one cause: where visitors fail by it, else where it costs most."""
    return max(of_one_cause, key=lambda one: (one.severity is Severity.CRITICAL, one.share_us or 0))


def known_causes(rows: Iterable[FoundCause]) -> Iterator[Finding]:
    """Those in words that are known here: a newer agent may have others."""
    for row in rows:
        with suppress(ValueError):
            yield Finding(
                id=FindingId(row.finding),
                severity=Severity(row.severity),
                confidence=Confidence(row.confidence),
                saving_us=row.saving_us,
                host=row.host,
            )


def causes_in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each cause once, as it stands where it is gravest, in the order in which to mend them."""
    of_one: defaultdict[tuple[FindingId, str | None], list[Finding]] = defaultdict(list)
    for one in found:
        of_one[_cause(one)].append(one)
    return findings_in_order(map(gravest, of_one.values()))


def _places(found: Iterable[Finding]) -> dict[tuple[FindingId, str | None], int]:
    """Where each cause stands. What only says another one again has none."""
    return {_cause(one): place for place, one in enumerate(causes_in_order(found))}


def _cause(finding: Finding) -> tuple[FindingId, str | None]:
    return finding.id, finding.host
