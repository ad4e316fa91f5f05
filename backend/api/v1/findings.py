"""Findings of a site: what its newest deep probes say is to be mended."""

from uuid import UUID

from ninja import Router

from backend.api.v1.access import ApiRequest
from backend.api.v1.finding_shapes import DeepLook, OpenCause, SiteFindings, checklist_of, told_fields
from backend.api.v1.sites import READ, owned_site
from backend.runs.diagnoses import OpenFindings, open_findings
from backend.runs.queries import newest_deep_runs
from workers.measurement.document import milliseconds

router = Router(tags=["Findings"])


@router.get("/sites/{uuid:site_id}/findings", auth=READ, response=SiteFindings)
def list_findings(request: ApiRequest, site_id: UUID) -> SiteFindings:
    """What the newest deep probe of each monitor found in each region, by today's rules."""
    return _shape(open_findings(newest_deep_runs(owned_site(request, site_id))))


def _shape(found: OpenFindings) -> SiteFindings:
    newest = found.newest
    return SiteFindings(
        findings=[
            OpenCause(
                **told_fields(one.finding),
                run_id=one.deep.run.run_id,
                monitor_id=one.deep.monitor.public_id,
                region=one.deep.region.code,
                seen_at=one.deep.run.scheduled_for,
            )
            for one in found.findings
        ],
        runs=[
            DeepLook(
                run_id=look.deep.run.run_id,
                monitor_id=look.deep.monitor.public_id,
                region=look.deep.region.code,
                scheduled_for=look.deep.run.scheduled_for,
            )
            for look in found.looks
        ],
        saving_ms=milliseconds(found.saving_us),
        checklist=checklist_of(newest.diagnosis) if newest else [],
    )
