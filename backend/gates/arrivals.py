"""Where runs of two addresses arrived: servers lead on, a preview to a sign-in, or both to one and the same place.

What answered is what was measured. A place that is compared with itself says nothing of a release.
"""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from backend.gates.models import BaselineMode, Gate, GateRun, RunState, Side
from backend.gates.rounds import Subject
from backend.runs.models import Run
from backend.runs.queries import measurements_of
from backend.runs.queries.requested import SLACK
from backend.sites.models import Monitor
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement


def one_place(monitors: Mapping[int, Monitor], arrived: Mapping[Subject, str]) -> str:
    """A sentence about a monitor of which both addresses led to the same; empty where none is so."""
    for pk, monitor in monitors.items():
        before, after = (arrived.get((pk, side)) for side in Side)
        if before is not None and before == after:
            return f"Both addresses of the {monitor.kind} led to {_shown(after)}: there is nothing to compare."
    return ""


def led_on(gate: Gate, monitors: Mapping[int, Monitor], arrived: Mapping[Subject, str]) -> Iterator[str]:
    """A sentence for each address that led to another host."""
    for (pk, side), url in arrived.items():
        asked = gate.url_of(monitors[pk], side)
        if urlsplit(url).hostname != urlsplit(asked).hostname:
            yield f"{_shown(asked)} led to {_shown(url)}, and that is what the {monitors[pk].kind} measured."


def arrivals(gate: Gate, runs: Sequence[GateRun]) -> dict[Subject, str]:
    """The URL that answered the newest run of each subject, in the first region that is left: others may be led
    elsewhere. Empty where no addresses are compared. Two statements."""
    if gate.baseline_mode != BaselineMode.URL:
        return {}
    here = next((code for code in gate.regions if code not in gate.given_up), None)
    made = [run for run in runs if run.region.code == here and run.state == RunState.MEASURED]
    last = {(run.monitor_id, run.side): run for run in made}
    newest = {run.ended_run_id: subject for subject, run in last.items() if run.ended_run_id is not None}
    ended = list(Run.objects.filter(run_id__in=newest, scheduled_for__gte=gate.created_at - SLACK))
    urls = {newest[run_id]: _arrived(seen) for run_id, seen in measurements_of(ended).items()}
    return {subject: url for subject, url in urls.items() if url is not None}


def _arrived(measured: Measurement) -> str | None:
    """Where the last answer came from; None where nobody kept it."""
    if isinstance(measured, PageMeasurement):
        return next((row.url for row in measured.waterfall.requests if row.number == measured.document), None)
    return measured.hops[-1].url if isinstance(measured, ProbeMeasurement) and measured.hops else None


def _shown(url: str) -> str:
    """Without its query, which may hold what opens doors."""
    return url.partition("#")[0].partition("?")[0]
