"""What is read about runs. Every question starts from the organisation and takes a fixed number of statements."""

from backend.runs.queries.asked import Asked, asked_of, asked_of_pending
from backend.runs.queries.disturbed import RecentLoads, recent_loads
from backend.runs.queries.documents import measurements_of
from backend.runs.queries.findings import DeepRun, FoundCause, findings_of_runs, newest_deep_runs, worst_findings
from backend.runs.queries.gone_findings import GoneCause, gone_causes
from backend.runs.queries.history import RunDetail, RunLine, recent_runs, result_of, run_detail
from backend.runs.queries.hosts import HostCosts, host_costs
from backend.runs.queries.latest import LatestRun, latest_runs
from backend.runs.queries.listing import ListedRun, RunFilter, listed_runs, pending_run
from backend.runs.queries.newest import newest_measurements
from backend.runs.queries.overview import LastRun, MonitorOverview, NewestRun, SiteOverview, site_overview
from backend.runs.queries.progress import RunProgress, RunState, progress, site_of_pending, state_of
from backend.runs.queries.requested import requested_runs
from backend.runs.queries.rollups import is_long, long_series, series_of
from backend.runs.queries.series import RegionSeries, SeriesPoint, Wanted, phase_series
from backend.runs.queries.uploads import UploadDetail, upload, upload_detail, uploads, uploads_beside

__all__ = [
    "Asked",
    "DeepRun",
    "FoundCause",
    "GoneCause",
    "HostCosts",
    "LastRun",
    "LatestRun",
    "ListedRun",
    "MonitorOverview",
    "NewestRun",
    "RecentLoads",
    "RegionSeries",
    "RunDetail",
    "RunFilter",
    "RunLine",
    "RunProgress",
    "RunState",
    "SeriesPoint",
    "SiteOverview",
    "UploadDetail",
    "Wanted",
    "asked_of",
    "asked_of_pending",
    "findings_of_runs",
    "gone_causes",
    "host_costs",
    "is_long",
    "latest_runs",
    "listed_runs",
    "long_series",
    "measurements_of",
    "newest_deep_runs",
    "newest_measurements",
    "pending_run",
    "phase_series",
    "progress",
    "recent_loads",
    "recent_runs",
    "requested_runs",
    "result_of",
    "run_detail",
    "series_of",
    "site_of_pending",
    "site_overview",
    "state_of",
    "upload",
    "upload_detail",
    "uploads",
    "uploads_beside",
    "worst_findings",
]
